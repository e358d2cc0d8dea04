import Postgres
package import Vocabulary

/// What became of our permissions at one app of a provider, as the audit log keeps it.
package struct RecordedRevocation: Sendable {
    let provider: ProviderName
    let app: ProviderAppID
    let outcome: String
    let reason: String?

    package init(provider: ProviderName, app: ProviderAppID, outcome: String, reason: String?) {
        self.provider = provider
        self.app = app
        self.outcome = outcome
        self.reason = reason
    }
}

extension Store {
    /// Writes entries `permissions.remove` of the audit log, about the permissions that were given up with a user's
    /// tokens.
    package func record(
        _ revocations: [RecordedRevocation],
        formerlyOf user: ObjectID,
        in application: Application,
        by actor: Actor
    ) async throws(Failure) {
        let entries = revocations.map { revocation in
            var outcome: JSONObject = [
                "provider": .string(revocation.provider.text), "appId": .string(revocation.app.text),
                "outcome": .string(revocation.outcome),
            ]
            if let reason = revocation.reason { outcome.append("reason", .string(reason)) }
            return AuditRecord(
                application: application.id,
                action: "permissions.remove",
                target: user.description,
                from: nil,
                to: .object(outcome)
            )
        }
        try await transaction { try await $0.record(entries, by: actor) }
    }
}
