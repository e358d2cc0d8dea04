package import Applications
package import Domain
package import Providers
package import Secrets
package import Store

/// The provider's response to a request to withdraw the permissions that a user granted to an app.
package struct PermissionRevocation: Sendable {
    package let provider: ProviderName
    /// The provider's display name.
    package let title: String
    package let app: ProviderAppID
    package let removal: PermissionRemoval

    /// A warning for an operator if the provider did not withdraw the permissions; nil otherwise.
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

/// Asks providers to withdraw the permissions that a user granted to the operator's apps.
///
/// The service does so after the transaction that deletes the user's data or unlinks an identity. That change remains,
/// whatever the provider responds. The audit log records the result. If the provider does not withdraw the permissions,
/// only the user can remove the app, at the provider.
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

    /// The total timeout of the requests that withdraw permissions, for all tokens of a user.
    ///
    /// A client waits for these requests, and the service cannot repair their failure.
    private static let timeout = Duration.seconds(5)

    /// Asks the providers to withdraw the permissions that a user granted to the operator's apps.
    ///
    /// - Parameters:
    ///   - tokens: The provider tokens, which the service no longer keeps. They authenticate the requests.
    ///   - user: The former owner of the tokens.
    ///   - loaded: The application. Its app secrets authenticate the requests, too.
    ///   - actor: The actor for the audit log.
    /// - Returns: The result for each token; empty if no token was kept.
    package func revokePermissions(
        by tokens: [KeptIdentity],
        formerlyOf user: ObjectID,
        in loaded: LoadedApplication,
        actor: ChangeAuthor
    ) async -> [PermissionRevocation] {
        guard !tokens.isEmpty else { return [] }
        let deadline = ContinuousClock.now + Self.timeout
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
        // The revocation has already happened, so a failure to write the audit log must not make it fail.
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
