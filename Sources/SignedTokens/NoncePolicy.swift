/// The requirement on the `nonce` claim of an ID token (T-27).
package enum NoncePolicy: String, Sendable, CaseIterable {
    /// The nonce of the request, as it is or as its SHA-256 in hex.
    case clientMade
    /// A nonce that the service issued and that has not been used.
    case serverIssued
    /// No nonce for the tokens that iOS SDK 18.1 refreshes, which are bound to a key of the device (`cnf`).
    ///
    /// All other tokens are checked as with `clientMade`.
    case off
}
