package import Domain
internal import Providers

extension TwitterClient {
    /// Verifies a consumer key and its secret.
    ///
    /// The check gets an OAuth request token from Twitter, and does not use the token.
    ///
    /// See docs/protocols/twitter.md §4.
    ///
    /// - Parameters:
    ///   - consumerKey: The consumer key of the app.
    ///   - consumerSecret: The consumer secret.
    ///   - application: The application of the app.
    ///   - deadline: The moment by which the check must be done.
    /// - Throws: `provider_misconfigured` if Twitter refuses the key or the secret; `provider_rate_limited`,
    ///   `provider_unavailable`, `provider_timeout`, `provider_bad_reply`, `overloaded`.
    package func checkConsumer(
        consumerKey: String,
        consumerSecret: Secret,
        application: ApplicationID,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) {
        let consumer = try Consumer(key: consumerKey, secret: consumerSecret)
        try await ask(by: consumer, of: application, repeats: false, deadline: deadline) {
            () async throws(ProviderFault) in
            let reply = try await send(Self.ownRequestToken, by: consumer, token: nil, deadline: deadline)
            let text = try reply.text(about: .consumer, maxBytes: 4096)
            guard
                text.utf8.split(separator: UInt8(ascii: "&")).contains(where: { $0.starts(with: "oauth_token=".utf8) })
            else { throw reply.misshapen("a request token without oauth_token") }
        }
    }

    private static let ownRequestToken = TwitterRequest(
        call: .requestToken,
        method: .post,
        path: "/oauth/request_token",
        parameters: [OAuthParameter("oauth_callback", "oob")]
    )
}
