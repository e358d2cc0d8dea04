package import Applications
package import Domain
package import Logging
import Logins
import Providers
import Store

/// Handles the webhooks in which providers report changed permissions of users.
package struct PermissionWebhooks: Sendable {
    let store: Store

    /// Responds to the challenge by which a provider verifies the address of the webhook.
    ///
    /// - Parameters:
    ///   - question: The query as received.
    ///   - provider: The provider that calls.
    ///   - loaded: The application.
    /// - Returns: The body of the response.
    /// - Throws: `callback_refused`, `malformed_request`; `provider_misconfigured` if the token cannot be decrypted.
    package func confirmWebhook(
        _ question: FormFields,
        by provider: ProviderName,
        of loaded: LoadedApplication
    ) throws(Failure) -> String {
        let caller = try loaded.caller(provider)
        if !caller.hasWebhook, let defect = loaded.defect { throw .unusableConfiguration(cause: defect) }
        return try caller.confirmWebhook(question)
    }

    /// Returns the maximum size, in bytes, of the body of a provider's webhook.
    package func webhookLimit(of provider: ProviderName, in loaded: LoadedApplication) throws(Failure) -> Int {
        try loaded.caller(provider).webhookLimit
    }

    /// Handles a webhook: granted and revoked permissions of users, and removals of the app.
    ///
    /// The webhook contains several events. Each is written in a transaction of its own. If a write fails, the provider
    /// sends the whole webhook again, so the same event may come repeatedly, and in any order.
    ///
    /// - Parameters:
    ///   - body: The bytes as received.
    ///   - header: Returns the value of a header, given the header's name.
    ///   - provider: The provider that calls.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Throws: `malformed_request` if the webhook is not genuine; nothing has changed then. `store_unavailable` and
    ///   similar errors.
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

    /// Writes the changed permissions of an identity, and the removal of the app, to the database.
    ///
    /// - Returns: The number of changes that were new to the database. The removal of the app counts as one change.
    private func take(
        _ change: ReportedChange,
        about concerned: AffectedIdentity,
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
            let actor = ChangeAuthor.provider(provider, by: "webhook")
            let revoked = try await store.revoke(revocation, of: loaded.application, by: actor)
            news += revoked == nil ? 0 : 1
        }
        return news
    }
}
