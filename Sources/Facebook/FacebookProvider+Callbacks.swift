package import Domain
package import Encodings
package import Providers

// Facebook's callbacks. A callback concerns the app whose secret signed it.

extension FacebookProvider: RemovalReporting {
    package var endsSessionsWhenRevoked: Bool { settings.options.endSessionsWhenRevoked }
    package var eraseAfterDays: Int64 { settings.options.eraseAfterDays }

    package func removal(in form: FormFields) throws(Failure) -> ReportedRemoval {
        let request = try SignedRequest(callback: form, apps: apps, now: clock.seconds)
        return ReportedRemoval(
            identity: IdentityKey(provider: name, app: request.appID, subject: request.subject),
            issuedAt: request.issuedAt,
            hash: request.hash
        )
    }

    /// Returns the response to a data deletion callback, in the form that Facebook expects (docs/protocols/facebook.md
    /// §5.3).
    package func receipt(code: String, statusURL: String) -> JSONObject {
        ["url": .string(statusURL), "confirmation_code": .string(code)]
    }

    package func changes(
        in body: [UInt8],
        header: (_ name: String) -> String?,
        until _: ContinuousClock.Instant
    ) throws(Failure) -> [ReportedChange] {
        let app = try WebhookSignature.signer(of: body, header: header, apps: apps)
        return try PermissionEvent.read(body, now: clock.seconds).flatMap { event in
            let identity = IdentityKey(provider: name, app: app, subject: event.subject)
            let permissions: [(name: String, isGranted: Bool)] = event.changes.compactMap { change in
                switch change {
                case .disconnected: nil
                case .granted(let permission): (permission, true)
                case .revoked(let permission): (permission, false)
                }
            }
            return
                (permissions.isEmpty
                ? [] : [ReportedChange(identity: identity, time: event.time, .permissions(permissions))])
                + (event.changes.contains(.disconnected)
                    ? [ReportedChange(identity: identity, time: event.time, .removal)] : [])
        }
    }

    package func confirmWebhook(_ question: FormFields) throws(Failure) -> String {
        try WebhookHandshake(question).answer(expecting: settings.webhookVerifyToken)
    }

    package var webhookLimit: Int { PermissionEvent.limits.bytes }
    package var hasWebhook: Bool { settings.webhookVerifyToken != nil }
}
