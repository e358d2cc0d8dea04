// AuthorizationServers — the service as a client of OAuth 2.0 authorization servers (RFC 6749).
//
// Owns: the requests to a server, their timeouts, circuit breaker and failures (`AuthorizationServer`), how a client
// authenticates (`ClientCredentials`), tokens for a code or a refresh token (`TokenResponse`), the check for which
// client an access token was issued (`TokenClientCheck`), the revocation of tokens, the tokens that are kept
// (`KeptGrant`), the parameters of login dialogs, and what provider kinds for such servers share (`ServerKind`,
// `PresetDocument`, `SharedOptions`).
//
// Must not know: ID tokens and discovery documents (`OpenID`), one server by name, or what a login does with a verified
// user.
//
// Nothing that a server writes reaches a message for users. The check of an operator shows the server's own words, cut
// to 300 characters.
import Providers
