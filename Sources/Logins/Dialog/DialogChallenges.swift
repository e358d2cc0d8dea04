import Applications
package import Domain
package import Logging
package import Providers
package import Store

// Facebook sometimes forgets the `code_challenge` of a dialog. It then refuses the code because a verifier comes with
// it. At other times, Facebook requires the verifier that fits the challenge. The option `auto` recognizes a forgotten
// challenge, and then opens dialogs without a challenge for a while.
//
// A user can cause the same: it suffices to remove the challenge from the address in their own browser. With the option
// `on`, dialogs always have a challenge.
//
// Facebook forgets challenges app by app. Therefore, a forgotten challenge counts for all providers of one kind in an
// application that use the same app.

/// Decides whether a login dialog is opened with a PKCE challenge.
package struct DialogChallenges: Sendable {
    let store: Store

    package init(
        store: Store
    ) {
        self.store = store
    }

    /// The seconds for which an app's dialogs are opened without a PKCE challenge, after the provider has lost a
    /// challenge.
    ///
    /// The provider sometimes loses the challenge of a dialog. It then refuses the authorization code of that dialog.
    static let lostChallengeSeconds: Int64 = 3600

    /// Returns whether an app's login dialogs are opened with a PKCE challenge.
    ///
    /// Returns true if the database is unavailable. The worst consequence is that a user has to begin the login again.
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

    /// Records that a provider has lost the PKCE challenge of a login dialog, and so refused the dialog's authorization
    /// code.
    package func noteLostChallenge(
        of app: ProviderAppID,
        at provider: any DialogOffering,
        in application: Application,
        logger: Logger
    ) async {
        let metadata: Logger.Metadata = ["application": "\(application.id)", "app": "\(app)"]
        guard provider.dialogChallenge == .auto else {
            logger.warning(
                """
                \(provider.title) lost the PKCE challenge of a login dialog; the provider's option pkce keeps dialogs with a \
                challenge
                """,
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
                """
                \(provider.title) lost the PKCE challenge of a login dialog; dialogs of this app are opened without one for \
                an hour
                """,
                metadata: metadata
            )
        } catch {
            logger.warning(
                "\(provider.title) lost the PKCE challenge of a login dialog; the loss could not be recorded",
                metadata: metadata.merging(["cause": "\(error.cause ?? error.message)"]) { _, new in new }
            )
        }
    }
}
