package import Domain
package import Encodings
internal import Providers

/// A user for whom Twitter has confirmed that an access token is valid with the app's consumer key.
package struct TwitterUser: Sendable {
    /// The user's id at Twitter, from the member `id_str`.
    package let subject: Subject
    /// The user object as Twitter sent it.
    package let profile: JSONObject
}

extension TwitterClient {
    /// Returns the user to whom an access token belongs (docs/protocols/twitter.md §1).
    ///
    /// If the request fails for a temporary reason, it is retried once before the deadline, with a new signature.
    ///
    /// - Parameters:
    ///   - accessToken: The access token as the client sent it.
    ///   - accessTokenSecret: The token's secret as the client sent it.
    ///   - consumerKey: The consumer key of the app. A token of another app is refused.
    ///   - consumerSecret: The consumer secret.
    ///   - application: The application of the login.
    ///   - deadline: The moment by which the requests must be done.
    /// - Returns: The user. The profile has `email` if the app may read it and the user has a confirmed one.
    /// - Throws: `credential_invalid`, `user_action_required`, `provider_misconfigured`, `provider_rate_limited`,
    ///   `provider_unavailable`, `provider_timeout`, `provider_bad_reply`, `overloaded`.
    package func verifyCredentials(
        accessToken: Secret,
        accessTokenSecret: Secret,
        consumerKey: String,
        consumerSecret: Secret,
        application: ApplicationID,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> TwitterUser {
        let consumer = try Consumer(key: consumerKey, secret: consumerSecret)
        let token = try AccessToken(accessToken, secret: accessTokenSecret)
        return try await ask(by: consumer, of: application, repeats: true, deadline: deadline) {
            () async throws(ProviderFault) in
            let reply = try await send(Self.credentials, by: consumer, token: token, deadline: deadline)
            return try Self.user(in: reply)
        }
    }

    private static let credentials = TwitterRequest(
        call: .verifyCredentials,
        method: .get,
        path: "/1.1/account/verify_credentials.json",
        parameters: [
            OAuthParameter("include_email", "true"), OAuthParameter("include_entities", "false"),
            OAuthParameter("skip_status", "true"),
        ]
    )

    /// Reads the user from Twitter's response.
    ///
    /// The number in `id` and the text in `id_str` must be the same id. Twitter sends both, since JavaScript cannot
    /// represent the number exactly.
    private static func user(in reply: TwitterReply) throws(ProviderFault) -> TwitterUser {
        let profile = try reply.object(about: .userToken)
        guard let text = profile["id_str"]?.string, let subject = Subject(decimal: text) else {
            throw reply.misshapen("a user without id_str")
        }
        guard let id = profile["id"]?.integer, String(id).hasSameBytes(as: text) else {
            throw reply.misshapen("a user whose id and id_str do not agree")
        }
        return TwitterUser(subject: subject, profile: profile)
    }
}
