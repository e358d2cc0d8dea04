// WebAuthn — the two ceremonies of passkeys on the side of the relying party (W3C Web Authentication, level 3).
//
// Owns: the options of both ceremonies in JSON, the steps of a registration and of an assertion, authenticator data,
// CBOR and COSE as far as the ceremonies need them, the three signature algorithms, and all size limits.
// docs/protocols/webauthn.md lists what is checked, and what is not.
//
// Must not know: HTTP, the database, applications, sessions, or a user beyond the bytes of a user handle; the source of
// challenges and their single use; attestation, which is not trusted.
