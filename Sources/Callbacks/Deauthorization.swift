package import Applications
import KeptTokens
package import Logging
import Providers
package import Store
package import Vocabulary

/// Providers that say that a person has removed the app.
package struct Deauthorizations: Sendable {
    let store: Store

    package init(
        store: Store
    ) {
        self.store = store
    }

    /// Takes the news that a person has removed the app at a provider.
    ///
    /// The identity is marked at each instance that has the app, its kept token forgotten, and the sessions that rest
    /// on it end if the instance wants that. News of nobody we know are taken alike, and so are those that a later
    /// login has made void.
    ///
    /// - Throws: `malformed_request` when it is not the provider's, and then nothing has changed; `store_unavailable`
    ///   and its like: the provider calls again, and an instance that was dealt with is passed over then.
    package func deauthorize(
        _ form: FormFields,
        by provider: ProviderName,
        of loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        let caller = try loaded.caller(provider)
        let removal = try loaded.verified(caller) { (caller) throws(Failure) in try caller.removal(in: form) }
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
