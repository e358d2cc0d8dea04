import FoundationEssentials
import Graph
import Vocabulary
import Store

/// What became of our permissions at one Facebook app.
package struct PermissionRevocation: Sendable {
    let app: ProviderAppID
    let removal: PermissionRemoval

    /// What an operator should know; nil when all is well.
    package var warning: String? {
        let advice = "The person can remove the app at Facebook, under \"Apps and websites\" of the settings."
        switch removal {
        case .removed: return nil
        case .tokenIsDead(let failure):
            return """
                Facebook does not take the kept token of the app \(app) any more (\(failure.reason.rawValue)), so that our permissions \
                could not be given up; most likely they have ended with it. \(advice)
                """
        case .failed(let failure):
            return "Our permissions at the app \(app) could not be given up (\(failure.reason.rawValue)). \(advice)"
        }
    }
}

/// Gives up our permissions at Facebook when a person's data have gone here.
///
/// It comes after the transaction and can undo nothing: whatever Facebook answers, the person is gone. What became of it is in the
/// audit log, beside the erasure: only the person can mend a failure, at Facebook under "Apps and websites".
struct PermissionRevoker: Sendable {
    let graph: GraphClient
    let store: Store
    let masterKeys: MasterKeys

    /// For all tokens together: nobody waits longer for what cannot be mended.
    private static let patience = Duration.seconds(5)

    /// Gives up the permissions behind tokens that were kept.
    ///
    /// - Parameters:
    ///   - tokens: As they were stored.
    ///   - user: Whose they were.
    ///   - loaded: The application, whose app secrets prove who asks.
    ///   - actor: On whose behalf, for the audit log.
    /// - Returns: What became of each; none where no token was kept.
    func revokePermissions(
        by tokens: [KeptIdentity],
        formerlyOf user: ObjectID,
        in loaded: LoadedApplication,
        actor: Actor
    ) async -> [PermissionRevocation] {
        let tokens = tokens.filter { $0.key.provider == .facebook }
        guard !tokens.isEmpty else { return [] }
        let deadline = ContinuousClock.now + Self.patience
        var revocations: [PermissionRevocation] = []
        for token in tokens {
            revocations.append(
                PermissionRevocation(app: token.app, removal: await remove(by: token, in: loaded, deadline: deadline))
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
        let application = loaded.application.id
        guard let settings = loaded.application.facebook, let app = settings.apps.first(where: { $0.id == kept.app })
        else {
            return .failed(
                Failure(
                    .providerMisconfigured,
                    "The app's secret cannot be used.",
                    cause: "no secret of app \(kept.app)"
                )
            )
        }
        do throws(Failure) {
            return await graph.removePermissions(
                by: try masterKeys.open(kept, of: application),
                of: kept.subject,
                app: app,
                settings: settings,
                application: application,
                deadline: deadline,
                now: Int64(Date().timeIntervalSince1970)
            )
        } catch {
            return .failed(error)
        }
    }
}

extension PermissionRevocation {
    fileprivate var recorded: RecordedRevocation {
        switch removal {
        case .removed: RecordedRevocation(provider: .facebook, app: app, outcome: "removed", reason: nil)
        case .tokenIsDead(let failure):
            RecordedRevocation(
                provider: .facebook,
                app: app,
                outcome: "tokenIsDead",
                reason: failure.reason.rawValue
            )
        case .failed(let failure):
            RecordedRevocation(provider: .facebook, app: app, outcome: "failed", reason: failure.reason.rawValue)
        }
    }
}
