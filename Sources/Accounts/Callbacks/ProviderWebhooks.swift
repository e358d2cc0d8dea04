package import Applications
package import Domain
package import Logging
import Logins
import Providers
import Store

/// Handles the webhooks in which providers report changed permissions of users.
package struct ProviderWebhooks: Sendable {
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
        let caller = try loaded.caller(provider, as: (any RemovalReporting).self)
        if !caller.hasWebhook, let defect = loaded.defect { throw .unusableConfiguration(cause: defect) }
        return try caller.confirmWebhook(question)
    }

    /// Returns the maximum size, in bytes, of the body of a provider's webhook.
    package func webhookLimit(of provider: ProviderName, in loaded: LoadedApplication) throws(Failure) -> Int {
        try loaded.caller(provider, as: (any EventReporting).self).webhookLimit
    }

    /// Handles a webhook: granted and revoked permissions of users, removals of the app, and logouts.
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
        let caller = try loaded.caller(provider, as: (any EventReporting).self)
        let deadline = ContinuousClock.now + Self.timeout
        let changes = try await loaded.verified(caller) { () async throws(Failure) in
            try await caller.changes(in: body, header: header, until: deadline)
        }
        var news = 0
        for change in changes {
            for identity in try await identities(of: change, in: loaded) {
                for concerned in loaded.concerned(by: identity, calling: caller) {
                    news += try await take(change, about: concerned, by: provider, in: loaded)
                }
            }
        }
        logger.info(
            "webhook",
            metadata: ["application": "\(loaded.application.id)", "events": "\(changes.count)", "news": "\(news)"]
        )
    }

    /// Returns the identities that a change names: its own identity, or those of a session at the provider.
    private func identities(
        of change: ReportedChange,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [IdentityKey] {
        guard case .logout(let session?) = change.kind else { return [change.identity].compactMap(\.self) }
        let found = try await store.endProviderSession(session, at: change.time, of: loaded.application)
        return change.identity.map { [$0] } ?? found
    }

    /// The time limit of the requests by which a webhook is verified, such as for the provider's keys.
    private static let timeout = Duration.seconds(5)

    /// Writes a change to the database.
    ///
    /// - Returns: The number of changes that were new to the database.
    private func take(
        _ change: ReportedChange,
        about concerned: AffectedIdentity<any EventReporting>,
        by provider: ProviderName,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Int {
        let actor = ChangeAuthor.provider(provider, by: "webhook")
        switch change.kind {
        case .permissions(let permissions):
            let changes = permissions.map { PermissionChange($0.name, isGranted: $0.isGranted) }
            return try await store.note(changes, at: change.time, for: concerned.identity, of: loaded.application)
        case .removal:
            let revocation = IdentityRevocation(
                of: concerned.identity,
                .access(until: change.time),
                by: "webhook",
                endsSessions: concerned.instance.endsSessionsWhenRevoked
            )
            return try await store.revoke(revocation, of: loaded.application, by: actor) == nil ? 0 : 1
        case .logout(let session):
            return try await store.endSessions(
                openedBy: concerned.identity,
                during: session,
                until: change.time,
                of: loaded.application,
                by: actor
            )
        }
    }
}
