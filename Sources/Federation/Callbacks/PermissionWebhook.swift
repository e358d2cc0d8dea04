package import Vocabulary
package import Logging
import Store
import Verification

extension Federation {
    /// Answers Facebook's question whether the webhook's address is ours.
    ///
    /// - Parameters:
    ///   - mode: `hub.mode`, as it was found; so the others.
    ///   - challenge: `hub.challenge`.
    ///   - verifyToken: `hub.verify_token`.
    ///   - loaded: The application that was called.
    /// - Returns: The challenge.
    /// - Throws: `callback_refused`, `malformed_request`; `provider_misconfigured` when the token does not open.
    package func confirmWebhook(
        mode: String?,
        challenge: String?,
        verifyToken: String?,
        of loaded: LoadedApplication
    ) throws(Failure) -> String {
        let expected = loaded.application.facebook?.webhookVerifyToken
        if expected == nil, let defect = loaded.defect { throw LoadedApplication.unusable(cause: defect) }
        return try WebhookHandshake(mode: mode, challenge: challenge, verifyToken: verifyToken)
            .answer(expecting: expected)
    }

    /// Bytes of the largest body of a webhook.
    package static var webhookLimit: Int { PermissionEvent.limits.bytes }

    /// Takes the news of a webhook: which permissions people have granted or taken back, and that they have removed the app.
    ///
    /// Each event is a transaction of its own. They may come twice and in any order, so nothing is lost when Facebook sends all of
    /// them again because one could not be written.
    ///
    /// - Parameters:
    ///   - body: The bytes as received.
    ///   - signature: `X-Hub-Signature-256`.
    ///   - loaded: The application that was called.
    ///   - logger: Of the request.
    /// - Throws: `malformed_request` when it is not Facebook's, and then nothing has changed; `store_unavailable` and its like.
    package func receiveWebhook(
        _ body: [UInt8],
        signature: String?,
        of loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        let (app, events) = try loaded.verified { (apps, now) throws(Failure) in
            (try WebhookSignature.signer(signature, of: body, apps: apps), try PermissionEvent.read(body, now: now))
        }
        var news = 0
        for event in events { news += try await take(event, of: app, in: loaded) }
        logger.info(
            "webhook",
            metadata: ["application": "\(loaded.application.id)", "events": "\(events.count)", "news": "\(news)"]
        )
    }

    /// Writes an event down.
    ///
    /// - Returns: How much of it was news.
    private func take(
        _ event: PermissionEvent,
        of app: ProviderAppID,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Int {
        let identity = IdentityKey(provider: .facebook, app: app, subject: event.subject)
        let changes = event.changes.compactMap { change -> PermissionChange? in
            switch change {
            case .disconnected: nil
            case .granted(let permission): PermissionChange(permission, isGranted: true)
            case .revoked(let permission): PermissionChange(permission, isGranted: false)
            }
        }
        var news = 0
        if !changes.isEmpty {
            news += try await store.note(changes, at: event.time, for: identity, of: loaded.application)
        }
        if event.changes.contains(.disconnected) {
            let revocation = IdentityRevocation(
                of: identity,
                .access(until: event.time),
                by: "webhook",
                endsSessions: loaded.facebookOptions.endSessionsWhenRevoked
            )
            let revoked = try await store.revoke(revocation, of: loaded.application, by: .facebook(by: "webhook"))
            news += revoked == nil ? 0 : 1
        }
        return news
    }
}
