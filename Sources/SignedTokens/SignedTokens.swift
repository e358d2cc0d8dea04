// SignedTokens — what is true of every signed token, whoever signed it.
//
// Owns: the taking apart of a compact JWS, decision D3 (which signature, issuer, audience, times and nonce count), the
// keys of an issuer with their age and the one fetch that serves everybody who waits for it, and the nonces that we
// give out ourselves.
//
// Must not know: any provider, how keys are fetched, what claims mean beyond these, or the database: that a token or a
// nonce counts once is said here by a digest, and held by whoever writes the login.
