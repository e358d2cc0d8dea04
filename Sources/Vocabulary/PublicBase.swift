/// By which of its two base paths a request came to its application (docs/api.md#base-url).
package enum PublicBase: Sendable {
    /// `/{applicationId}/{apiKey}`, with the key that was accepted.
    case key(String)
    /// `/api` on a host name of the application's, in lower case.
    case host(String)
}
