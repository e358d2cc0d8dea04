// OpenID — the provider kind for OpenID Connect: any issuer by its discovery document.
//
// Owns: the provider kind `oidc` and its provider in an application (`OpenIDKind`, `OpenIDProvider`), presets, which
// are documents about known issuers (`OpenIDPreset`), the discovery document and its cache, the claims of ID tokens and
// of `userinfo`, and the events that an issuer sends (`SecurityEvent`). Issuers that differ in more than values have a
// folder of their own, such as `Apple`.
//
// Must not know: what a login does with the verified user (mappings, the database). What is true of every signed token
// is in `SignedTokens`, what is true of every authorization server in `AuthorizationServers`.
//
// Nothing that an issuer writes reaches a message for users.
import Providers
