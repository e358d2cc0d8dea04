package import Applications
package import Domain
import Encodings
import Providers
import Secrets

/// A login dialog that a browser is about to open.
package struct StartedDialog: Sendable {
    package let address: String
    /// The cookie for the browser; without this cookie, the browser cannot end this login.
    package let browser: Secret
    /// The lifetime of the cookie in seconds.
    package let seconds = DialogState.seconds
}

extension LoginDialog {
    /// Begins the dialog of a ticket in a browser.
    ///
    /// A browser that has begun other dialogs keeps its cookie, so that each of these dialogs can end.
    ///
    /// - Parameters:
    ///   - ticket: The ticket as received.
    ///   - provider: The provider of the dialog.
    ///   - browser: The cookie of the browser, if any.
    ///   - loaded: The application.
    /// - Returns: The address for the browser, and its cookie.
    /// - Throws: `login_state_invalid`, `provider_not_configured` and similar errors.
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

    /// Returns the address of the provider's dialog, with a new state that is bound to the browser's cookie.
    ///
    /// The cookie is nil if the client's own challenge guards the end.
    func dialogAddress(
        for ticket: DialogTicket,
        of provider: ProviderName,
        in browser: OneTimeToken?,
        of loaded: LoadedApplication
    ) async throws(Failure) -> String {
        let application = loaded.application
        let provider = try loaded.provider(provider, as: (any DialogOffering).self)
        let app = try provider.app(named: ticket.plan.appID)
        // The verifier belongs to this browser's dialog alone: an injected code of another dialog has another
        // challenge.
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
