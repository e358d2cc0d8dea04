// Passwords — the policy for passwords, and their hashes.
//
// It owns Argon2id (libargon2) with its parameters, the text forms of other systems' hashes and their checks, the
// threads and the queue that bound the number of concurrent hashes, the one form in which a password is hashed (NFC),
// and the policy: length, and refused common passwords.
//
// It must not know users, SQL or HTTP: its input is a password, its output a text or a verdict.
