import Applications
package import Logging
package import Providers
package import Store
package import Vocabulary

// Facebook has been seen to forget the `code_challenge` of a dialog, and then to refuse the verifier that comes with
// its code; and to hold codes to their challenge. Under `auto` the former is recognised, and dialogs are opened without
// a challenge for a while. Whoever takes the challenge out of the address in their own browser brings the same about:
// `on` never does without.
//
// It is the provider's app that has forgotten: what is known of it counts for each of an application's providers of
// that kind that has that app.

/// Whether dialogs are opened with a challenge.
package struct DialogChallenges: Sendable {
    let store: Store

    package init(
        store: Store
    ) {
        self.store = store
    }

    /// Seconds for which an app's dialogs are opened without a challenge after a provider has forgotten one.
    static let lostChallengeSeconds: Int64 = 3600

    /// Whether an app's dialogs are opened with a challenge.
    ///
    /// When the database cannot be asked they are: the worst of it is a login that has to begin again.
    func opensWithChallenge(
        _ app: ProviderApp,
        of provider: any DialogOffering,
        in application: Application
    ) async -> Bool {
        switch provider.dialogChallenge {
        case .on: return true
        case .off: return false
        case .auto:
            let hash = provider.lostChallengeHash(of: app.id)
            let until = try? await store.lostChallenge(of: hash, in: application.place)
            return until == nil
        }
    }

    /// Takes in that a provider has forgotten the challenge of one of our dialogs.
    package func noteLostChallenge(
        of app: ProviderAppID,
        at provider: any DialogOffering,
        in application: Application,
        logger: Logger
    ) async {
        let metadata: Logger.Metadata = ["application": "\(application.id)", "app": "\(app)"]
        guard provider.dialogChallenge == .auto else {
            logger.warning(
                "\(provider.title) has forgotten the code_challenge of a login dialog; pkce of the provider says to send it all the same",
                metadata: metadata
            )
            return
        }
        do throws(Failure) {
            try await store.noteLostChallenge(
                of: provider.lostChallengeHash(of: app),
                seconds: Self.lostChallengeSeconds,
                in: application
            )
            logger.warning(
                "\(provider.title) has forgotten the code_challenge of a login dialog; for an hour dialogs of this app are opened without",
                metadata: metadata
            )
        } catch {
            logger.warning(
                "\(provider.title) has forgotten the code_challenge of a login dialog, which could not be noted",
                metadata: metadata.merging(["cause": "\(error.cause ?? error.message)"]) { _, new in new }
            )
        }
    }
}
