package import Applications
import Providers
import Secrets
package import Vocabulary

/// A login dialog that a browser is about to open.
package struct StartedDialog: Sendable {
    /// The address of the provider's dialog.
    package let address: String
    /// What the browser keeps meanwhile: without it, it cannot end this login.
    package let browser: Secret
    /// Seconds for which it is needed.
    package let seconds = DialogState.seconds
}

extension LoginDialog {
    /// Begins the dialog of a ticket in a browser.
    ///
    /// A browser that has begun other dialogs keeps what it has, so that each of them can end.
    ///
    /// - Parameters:
    ///   - ticket: The ticket as it came.
    ///   - provider: Whose dialog it is.
    ///   - browser: What the browser keeps of ours, if anything.
    ///   - loaded: The application.
    /// - Returns: Where the browser goes, and what it keeps.
    /// - Throws: `login_state_invalid`, `provider_not_configured` and their like.
    package func startDialog(
        _ ticket: String,
        of provider: ProviderName,
        in browser: String?,
        for loaded: LoadedApplication
    ) async throws(Failure) -> StartedDialog {
        let application = loaded.application
        let dialogs = try loaded.dialogs(of: provider)
        guard let sealed = Base64URL.decode(ticket.utf8),
            let ticket = DialogTicket(
                sealed: sealed,
                under: masterKeys,
                for: application.id,
                now: clock.seconds
            ),
            ticket.plan.isListed(by: application, at: dialogs)
        else {
            throw Failure(
                .loginStateInvalid,
                "This address does not begin a login, or is older than ten minutes. Go back to the app and begin it again."
            )
        }
        let kept = browser.flatMap(OneTimeToken.init(received:)) ?? OneTimeToken(random)
        return StartedDialog(
            address: try await dialogAddress(for: ticket, of: provider, in: kept, of: loaded),
            browser: kept.secret
        )
    }

    /// The address of the provider's dialog, with a state of its own for what the browser keeps; nil where the client's
    /// challenge guards the end.
    func dialogAddress(
        for ticket: DialogTicket,
        of provider: ProviderName,
        in browser: OneTimeToken?,
        of loaded: LoadedApplication
    ) async throws(Failure) -> String {
        let application = loaded.application
        let provider = try loaded.provider(provider, as: (any DialogOffering).self)
        let app = try provider.app(named: ticket.plan.appID)
        // Of this browser's dialog alone: a code of another's, brought here, has another challenge.
        let verifier =
            await challenges.opensWithChallenge(app, of: provider, in: application) ? OneTimeToken(random) : nil
        let state = DialogState(
            plan: ticket.plan,
            codeVerifier: verifier?.secret,
            browser: browser?.hash,
            endsAt: clock.seconds + DialogState.seconds
        )
        return provider.address(
            of: Dialog(
                app: app,
                redirectURI: ticket.plan.redirectURI,
                state: Secret(Base64URL.encode(state.sealed(under: masterKeys, for: application.id))),
                wishes: ticket.wishes,
                codeChallenge: verifier.map { Base64URL.encode($0.hash) }
            )
        )
    }
}
