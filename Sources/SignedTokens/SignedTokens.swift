// SignedTokens — the verification of signed tokens of any issuer.
//
// Owns: the parsing of a compact JWS; decision D3, which says what signature, issuer, audience, times and nonce are
// accepted; an issuer's key set with its age, and one fetch that all waiting logins share; and the nonces that the
// service issues.
//
// Must not know: any provider, how key sets are fetched, the meaning of other claims, or the database. A digest
// identifies a single-use token or nonce. The write of the login makes it single-use.
