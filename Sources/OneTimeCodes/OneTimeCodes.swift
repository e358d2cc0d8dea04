// OneTimeCodes — single-use codes by which users show that they have a thing: a device, a sheet of paper, a mailbox.
//
// It owns codes by counter and by time (HOTP, TOTP), with the address and the QR code that give an app its secret,
// recovery codes with their stored form, delivered codes, and the input forms of all of them.
//
// It must not know users' records, SQL, HTTP or the delivery of codes. It does not store used codes. Time, randomness
// and the last used step are arguments.
