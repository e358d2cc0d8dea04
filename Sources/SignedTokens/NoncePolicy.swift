/// What the `nonce` claim of an ID token is held to (T-27).
package enum NoncePolicy: String, Sendable, CaseIterable {
    /// The nonce of the request, as it is or as its SHA-256 in hex.
    case clientMade
    /// One that the service gave out and nobody has used.
    case serverIssued
    /// None; only for the tokens that iOS SDK 18.1 refreshes, which are bound to a key of the device (`cnf`). Others
    /// are held to `clientMade`.
    case off
}
