import Applications
package import Domain
package import Logging
package import Providers
package import Store

// Facebook sometimes forgets the `code_challenge` of a dialog and then refuses the verifier that comes with its code;
// at other times Facebook holds codes to their challenge. The option `auto` recognizes a forgotten challenge and then
// opens dialogs without a challenge for a while. A user who removes the challenge from the address in their own browser
// has the same effect; with `on`, dialogs always have a challenge.
//
// The challenge is forgotten per app at the provider. So the finding counts for each of an application's providers of
// that kind with that app.

/// The decision whether dialogs are opened with a challenge.
package struct DialogChallenges: Sendable {
    let store: Store

    package init(
        store: Store
    ) {
        self.store = store
    }

    /// Seconds for which dialogs of an app are opened without a challenge after the provider has forgotten one.
    static let lostChallengeSeconds: Int64 = 3600

    /// Returns whether dialogs of an app are opened with a challenge.
    ///
    /// Returns true if the database is unavailable: at worst, a user has to begin the login again.
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

    /// Records that a provider has forgotten the challenge of a dialog.
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
