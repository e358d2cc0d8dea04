/// The operator's policy on the `nonce` claim of ID tokens (T-27).
package enum NoncePolicy: String, Sendable, CaseIterable {
    /// The nonce must be the one in the request. The token may have the nonce itself or its SHA-256 in hex. If the
    /// request has no nonce, only a token that is bound to a key of the device (`cnf`) is refused.
    case clientMade
    /// The service must have issued the nonce, and the nonce must be unused.
    case serverIssued
    /// No nonce is required for tokens that are bound to a key of the device (`cnf`), such as those that iOS SDK 18.1
    /// refreshes.
    ///
    /// All other tokens are checked as with `clientMade`.
    case off
}
