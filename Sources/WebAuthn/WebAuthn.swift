// WebAuthn — the two ceremonies of passkeys, as a relying party judges them (W3C Web Authentication, level 3).
//
// Owns: the options of both ceremonies in JSON, the steps of a registration and of an assertion, authenticator data,
// CBOR and COSE as far as they are needed for these, the three signature algorithms, and the bounds of all of it.
// docs/protocols/webauthn.md says what is checked, and what is not.
//
// Must not know: HTTP, the database, applications, sessions, or who a user is beyond the bytes of a handle; where
// challenges come from and whether they count once; attestation, of which nothing is believed.
