// Passwords — what a password may be, and what is kept of it.
//
// It owns Argon2id (libargon2) with its parameters, the text forms of hashes that other systems made and their checks,
// the threads and the queue that bound how many hashes are computed at once, the one form in which a password is hashed
// (NFC), and the policy: length, and the common ones that are refused.
//
// It must not know of users, SQL or HTTP: a password comes in, a text or a verdict goes out.
