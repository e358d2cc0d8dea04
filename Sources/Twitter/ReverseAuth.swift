package import Domain
import Encodings
internal import Providers

extension TwitterClient {
    /// Fetches the parameters with which an iOS client asks Twitter for an access token of the account on its device.
    ///
    /// Twitter calls this reverse auth (docs/protocols/twitter.md §4). The request is not retried, since each request
    /// creates a request token at Twitter.
    ///
    /// - Parameters:
    ///   - consumerKey: The consumer key of the app.
    ///   - consumerSecret: The consumer secret.
    ///   - application: The application of the app.
    ///   - deadline: The moment by which the request must be done.
    /// - Returns: The text that the client sends to Twitter as `x_reverse_auth_parameters`. It begins with `OAuth `.
    /// - Throws: `provider_misconfigured`, `provider_rate_limited`, `provider_unavailable`, `provider_timeout`,
    ///   `provider_bad_reply`, `overloaded`.
    package func reverseAuthParameters(
        consumerKey: String,
        consumerSecret: Secret,
        application: ApplicationID,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> String {
        let consumer = try Consumer(key: consumerKey, secret: consumerSecret)
        return try await ask(by: consumer, of: application, about: .requestToken, repeats: false, deadline: deadline) {
            () async throws(ProviderFault) in
            let reply = try await send(Self.requestToken, by: consumer, token: nil, deadline: deadline)
            let text = try reply.text(about: .consumer, maxBytes: 4096)
            guard text.utf8.starts(with: "OAuth ".utf8),
                text.contains("oauth_consumer_key=\"\(PercentEncoding.encode(consumer.key))\"")
            else {
                throw reply.misshapen("parameters of reverse auth that are not for our consumer key")
            }
            return text
        }
    }

    private static let requestToken = TwitterRequest(
        call: .requestToken,
        method: .post,
        path: "/oauth/request_token",
        parameters: [OAuthParameter("x_auth_mode", "reverse_auth")]
    )
}
