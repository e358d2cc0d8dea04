internal import Upstream
package import Vocabulary

/// Somebody whom Twitter vouched for, towards our own consumer key.
package struct TwitterUser: Sendable {
    /// `id_str`.
    package let subject: Subject
    /// The user object as Twitter wrote it.
    package let profile: JSONObject
}

extension TwitterClient {
    /// Asks whose access token this is (docs/protocols/twitter.md §1).
    ///
    /// A question that failed for a passing reason is asked once more, signed anew, inside the deadline.
    ///
    /// - Parameters:
    ///   - accessToken: As the client sent it.
    ///   - accessTokenSecret: As the client sent it.
    ///   - consumerKey: The app to ask as; a token of another app is refused.
    ///   - consumerSecret: Its secret.
    ///   - application: Whose login it is.
    ///   - deadline: When the answer is worth nothing any more.
    /// - Returns: The person; `email` is there when the app may read it and the person has one that is verified.
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

    /// Reads the user, whose id is there twice, since JavaScript cannot hold the number: both must agree.
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
