// OpenID — the provider kind for OpenID Connect: any issuer by its discovery document.
//
// Owns: the provider kind `oidc` and its provider in an application (`OpenIDKind`, `OpenIDProvider`), presets, which are
// documents about known issuers (`Preset`), the discovery document and its cache, the requests to an issuer, and the
// profile that the claims of an ID token make.
//
// Must not know: what a login does with the verified user (mappings, the database), or one issuer by name: what differs
// between issuers is in the documents. What is true of every signed token is in `SignedTokens`.
//
// Nothing that an issuer writes reaches a message, except the names of errors of OAuth (RFC 6749 §5.2).
import Providers
