package import Applications
package import Providers
package import Secrets
package import Store
package import Vocabulary

/// What became of our permissions at one app of a provider.
package struct PermissionRevocation: Sendable {
    package let provider: ProviderName
    /// The provider's name for people.
    package let title: String
    package let app: ProviderAppID
    package let removal: PermissionRemoval

    /// What an operator should know; nil when all is well.
    package var warning: String? {
        let advice = "The person can remove the app at \(title), under \"Apps and websites\" of the settings."
        switch removal {
        case .removed: return nil
        case .tokenIsDead(let failure):
            return """
                \(title) does not take the kept token of the app \(app) any more (\(failure.reason.rawValue)), so that our permissions \
                could not be given up; most likely they have ended with it. \(advice)
                """
        case .failed(let failure):
            return "Our permissions at the app \(app) could not be given up (\(failure.reason.rawValue)). \(advice)"
        }
    }
}

/// Revokes our permissions at a provider when a person's data have gone here.
///
/// It comes after the transaction and can undo nothing: whatever the provider answers, the person is gone. What became
/// of it is in the audit log, beside the erasure: only the person can mend a failure, at the provider.
package struct PermissionRevoker: Sendable {
    let store: Store
    let masterKeys: MasterKeys

    package init(
        store: Store,
        masterKeys: MasterKeys
    ) {
        self.store = store
        self.masterKeys = masterKeys
    }

    /// For all tokens together: nobody waits longer for what cannot be mended.
    private static let patience = Duration.seconds(5)

    /// Gives up the permissions behind tokens that were kept.
    ///
    /// - Parameters:
    ///   - tokens: As they were stored.
    ///   - user: Whose they were.
    ///   - loaded: The application, whose app secrets authenticate who asks.
    ///   - actor: On whose behalf, for the audit log.
    /// - Returns: What became of each; none where no token was kept.
    package func revokePermissions(
        by tokens: [KeptIdentity],
        formerlyOf user: ObjectID,
        in loaded: LoadedApplication,
        actor: Actor
    ) async -> [PermissionRevocation] {
        guard !tokens.isEmpty else { return [] }
        let deadline = ContinuousClock.now + Self.patience
        var revocations: [PermissionRevocation] = []
        for token in tokens {
            revocations.append(
                PermissionRevocation(
                    provider: token.key.provider,
                    title: loaded.title(of: token.key.provider),
                    app: token.app,
                    removal: await remove(by: token, in: loaded, deadline: deadline)
                )
            )
        }
        // The log of what has happened must not make it fail.
        try? await store.record(revocations.map(\.recorded), formerlyOf: user, in: loaded.application, by: actor)
        return revocations
    }

    private func remove(
        by kept: KeptIdentity,
        in loaded: LoadedApplication,
        deadline: ContinuousClock.Instant
    ) async -> PermissionRemoval {
        guard let provider = loaded.configured(kept.key.provider) as? any PermissionRevoking else {
            return .failed(
                Failure(
                    .providerMisconfigured,
                    "The provider's settings cannot be used.",
                    cause: "\(kept.key.provider) is not configured, or nothing can be revoked there"
                )
            )
        }
        do throws(Failure) {
            return await provider.revokePermissions(
                by: try masterKeys.open(kept, of: loaded.application.id),
                of: kept.key,
                deadline: deadline
            )
        } catch {
            return .failed(error)
        }
    }
}

extension PermissionRevocation {
    fileprivate var recorded: RecordedRevocation {
        switch removal {
        case .removed: RecordedRevocation(provider: provider, app: app, outcome: "removed", reason: nil)
        case .tokenIsDead(let failure):
            RecordedRevocation(
                provider: provider,
                app: app,
                outcome: "tokenIsDead",
                reason: failure.reason.rawValue
            )
        case .failed(let failure):
            RecordedRevocation(provider: provider, app: app, outcome: "failed", reason: failure.reason.rawValue)
        }
    }
}
