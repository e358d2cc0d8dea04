// OneTimeCodes — texts that show, once each, that somebody has a thing: a device, a sheet of paper, a mailbox.
//
// It owns codes by counter and by time (HOTP, TOTP) with the address and the picture by which an app learns their
// secret, recovery codes with the form in which they are stored, codes that are delivered, and the spellings in which
// people type all of them.
//
// It must not know of users' records, SQL, HTTP or who delivers a code, nor remember what was used: time, randomness
// and the last step come in as arguments.
