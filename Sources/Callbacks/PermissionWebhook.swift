package import Applications
import KeptTokens
package import Logging
import Providers
package import Store
package import Vocabulary

/// Providers that report changes of permissions.
package struct PermissionWebhooks: Sendable {
    let store: Store

    package init(
        store: Store
    ) {
        self.store = store
    }

    /// Answers a provider's question whether the webhook's address is ours.
    ///
    /// - Parameters:
    ///   - question: The query as received.
    ///   - provider: Who asks.
    ///   - loaded: The application that was called.
    /// - Returns: The answer.
    /// - Throws: `callback_refused`, `malformed_request`; `provider_misconfigured` when the token does not open.
    package func confirmWebhook(
        _ question: FormFields,
        by provider: ProviderName,
        of loaded: LoadedApplication
    ) throws(Failure) -> String {
        let caller = try loaded.caller(provider)
        if !caller.hasWebhook, let defect = loaded.defect { throw .unusableConfiguration(cause: defect) }
        return try caller.confirmWebhook(question)
    }

    /// Bytes of the largest body of a provider's webhook.
    package func webhookLimit(of provider: ProviderName, in loaded: LoadedApplication) throws(Failure) -> Int {
        try loaded.caller(provider).webhookLimit
    }

    /// Takes the news of a webhook: which permissions people have granted or taken back, and that they have removed the
    /// app.
    ///
    /// Each event is a transaction of its own. They may come twice and in any order, so nothing is lost when the
    /// provider sends all of them again because one could not be written.
    ///
    /// - Parameters:
    ///   - body: The bytes as received.
    ///   - header: The value of the header field of that name.
    ///   - provider: Who calls.
    ///   - loaded: The application that was called.
    ///   - logger: Of the request.
    /// - Throws: `malformed_request` when it is not the provider's, and then nothing has changed; `store_unavailable`
    ///   and its like.
    package func receiveWebhook(
        _ body: [UInt8],
        header: (_ name: String) -> String?,
        by provider: ProviderName,
        of loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        let caller = try loaded.caller(provider)
        let changes = try loaded.verified(caller) { (caller) throws(Failure) in
            try caller.changes(in: body, header: header)
        }
        var news = 0
        for change in changes {
            for concerned in loaded.concerned(by: change.identity, calling: caller) {
                news += try await take(change, about: concerned, by: provider, in: loaded)
            }
        }
        logger.info(
            "webhook",
            metadata: ["application": "\(loaded.application.id)", "events": "\(changes.count)", "news": "\(news)"]
        )
    }

    /// Writes a change down.
    ///
    /// - Returns: How much of it was news.
    private func take(
        _ change: ReportedChange,
        about concerned: Concerned,
        by provider: ProviderName,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Int {
        let changes = change.permissions.map { PermissionChange($0.name, isGranted: $0.isGranted) }
        var news = 0
        if !changes.isEmpty {
            news += try await store.note(changes, at: change.time, for: concerned.identity, of: loaded.application)
        }
        if change.isRemoval {
            let revocation = IdentityRevocation(
                of: concerned.identity,
                .access(until: change.time),
                by: "webhook",
                endsSessions: concerned.instance.endsSessionsWhenRevoked
            )
            let actor = Actor.provider(provider, by: "webhook")
            let revoked = try await store.revoke(revocation, of: loaded.application, by: actor)
            news += revoked == nil ? 0 : 1
        }
        return news
    }
}
