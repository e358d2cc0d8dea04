// SignedTokens — the verification of signed tokens of any issuer.
//
// Owns: the parsing of a compact JWS, decision D3 (which signature, issuer, audience, times and nonce are accepted), an
// issuer's key set with its age and one shared fetch for all waiting logins, and the nonces that the service issues.
//
// Must not know: any provider, how key sets are fetched, the meaning of other claims, or the database. A digest tells
// which token or nonce is single-use; the login's write enforces it.
