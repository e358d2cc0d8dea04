// OAuth2 — the provider kind for OAuth 2.0 servers without ID tokens, such as GitHub.
//
// Owns: the provider kind `oauth2` and its provider in an application (`OAuth2Kind`, `OAuth2Provider`), and the
// presets, which are documents about known servers (`OAuth2Preset`).
//
// Must not know: what a login does with the verified user (mappings, the database), or one server by name: what differs
// between servers is in the documents. What is true of every authorization server is in `AuthorizationServers`.
import Providers
