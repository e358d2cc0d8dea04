package import Applications
package import Domain
package import Logging
import Logins
import Providers
import Store

/// Handles the callbacks that providers send after a user has removed the app.
package struct Deauthorizations: Sendable {
    let store: Store

    /// Handles a callback that reports that a user has removed the app at the provider.
    ///
    /// An application may have several providers with the same app. At each of them, marks the user's identity as
    /// revoked, and deletes its kept token. Ends the sessions of the identity if the provider's options say so. If the
    /// user is unknown, or has logged in again since, the method changes nothing and throws no error.
    ///
    /// - Throws: `malformed_request` if the callback is not genuine; nothing has changed then. `store_unavailable` and
    ///   similar errors; the provider then retries, and identities that are already revoked stay unchanged.
    package func deauthorize(
        _ form: FormFields,
        by provider: ProviderName,
        of loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        let caller = try loaded.caller(provider, as: (any RemovalReporting).self)
        let removal = try await loaded.verified(caller) { () throws(Failure) in try caller.removal(in: form) }
        for concerned in loaded.concerned(by: removal.identity, calling: caller) {
            let revocation = IdentityRevocation(
                of: concerned.identity,
                .access(until: removal.issuedAt),
                by: "deauthorize",
                endsSessions: concerned.instance.endsSessionsWhenRevoked
            )
            let revoked = try await store.revoke(
                revocation,
                of: loaded.application,
                by: .provider(provider, by: "deauthorize")
            )
            var metadata: Logger.Metadata = [
                "application": "\(loaded.application.id)", "provider": "\(concerned.identity.provider)",
                "outcome": revoked == nil ? "unchanged" : "revoked",
            ]
            if let revoked { metadata["user"] = "\(revoked.user)" }
            logger.info("deauthorize", metadata: metadata)
        }
    }
}
