package import Vocabulary
package import Logging
import Store
import Verification

extension Federation {
    /// Takes the news that a person has removed the app at Facebook: a `signed_request`.
    ///
    /// The identity is marked, its kept token forgotten, and the sessions that rest on it end if the application wants that. News
    /// of nobody we know are taken alike, and so are those that a later login has made void.
    ///
    /// - Throws: `malformed_request` when it is not Facebook's, `store_unavailable` and its like; nothing has changed then.
    package func deauthorize(
        _ signedRequest: String,
        of loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        let request = try loaded.verified { (apps, now) throws(Failure) in
            try SignedRequest(callback: signedRequest, apps: apps, now: now)
        }
        let revocation = IdentityRevocation(
            of: IdentityKey(provider: .facebook, app: request.appID, subject: request.subject),
            .access(until: request.issuedAt),
            by: "deauthorize",
            endsSessions: loaded.facebookOptions.endSessionsWhenRevoked
        )
        let revoked = try await store.revoke(revocation, of: loaded.application, by: .facebook(by: "deauthorize"))
        var metadata: Logger.Metadata = [
            "application": "\(loaded.application.id)", "outcome": revoked == nil ? "unchanged" : "revoked",
        ]
        if let revoked { metadata["user"] = "\(revoked.user)" }
        logger.info("deauthorize", metadata: metadata)
    }
}
