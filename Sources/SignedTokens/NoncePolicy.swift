/// The operator's policy on the `nonce` claim of ID tokens (T-27).
package enum NoncePolicy: String, Sendable, CaseIterable {
    /// The claim must be the nonce in the request, or the SHA-256 of that nonce in hex.
    ///
    /// If the request has no nonce, the token is accepted, unless it is bound to a key of the device (`cnf`).
    case clientMade
    /// The service must have issued the nonce, and the nonce must be unused.
    case serverIssued
    /// The nonce of a token that is bound to a key of the device (`cnf`) is not checked.
    ///
    /// An example is a token that Facebook's SDK 18.1 for iOS has refreshed. All other tokens are checked as with
    /// `clientMade`.
    case off
}
