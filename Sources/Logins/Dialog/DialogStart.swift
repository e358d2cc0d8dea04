package import Applications
package import Domain
import Encodings
import Providers
import Secrets

/// A login dialog that a browser is about to open.
package struct StartedDialog: Sendable {
    package let address: String
    /// The cookie for the browser.
    ///
    /// Without this cookie, the browser cannot end the login.
    package let browser: Secret
    /// The lifetime of the cookie in seconds.
    package static let seconds = DialogState.seconds
}

extension LoginDialog {
    /// Begins a login dialog in a browser.
    ///
    /// The browser has opened a URL of this service that contains the ticket, which is the client's request.
    ///
    /// If the browser already has a cookie from another dialog, the new dialog uses the same cookie. So the browser can
    /// end both dialogs.
    ///
    /// - Parameters:
    ///   - ticket: The ticket as received.
    ///   - provider: The provider of the dialog.
    ///   - browser: The cookie of the browser, if any.
    ///   - loaded: The application.
    /// - Returns: The address of the provider's dialog, and the cookie for the browser.
    /// - Throws: `login_state_invalid`, `provider_not_configured` and similar errors.
    package func startDialog(
        _ ticket: String,
        of provider: ProviderName,
        in browser: String?,
        for loaded: LoadedApplication
    ) async throws(Failure) -> StartedDialog {
        let application = loaded.application
        let dialogs = try loaded.dialogs(of: provider)
        guard let encrypted = Base64URL.decode(ticket.utf8),
            let ticket = DialogTicket(
                encrypted: encrypted,
                under: masterKeys,
                for: application.id,
                now: clock.seconds
            ),
            ticket.plan.isListed(by: application, at: dialogs)
        else {
            throw Failure(
                .loginStateInvalid,
                "This address does not start a login, or is older than ten minutes. Go back to the app and start again."
            )
        }
        let kept = browser.flatMap(OneTimeToken.init(received:)) ?? OneTimeToken(random)
        return StartedDialog(
            address: try await dialogAddress(for: ticket, of: provider, in: kept, of: loaded),
            browser: kept.secret
        )
    }

    /// Returns the address of the provider's dialog.
    ///
    /// The address contains a new state, which is bound to the browser's cookie.
    ///
    /// If the client sent a challenge, the browser needs no cookie, and `browser` is nil.
    func dialogAddress(
        for ticket: DialogTicket,
        of provider: ProviderName,
        in browser: OneTimeToken?,
        of loaded: LoadedApplication
    ) async throws(Failure) -> String {
        let application = loaded.application
        let provider = try loaded.provider(provider, as: (any DialogOffering).self)
        let app = try provider.app(named: ticket.plan.appID)
        // Each dialog has a verifier of its own. So an attacker cannot inject the code of another dialog, whose
        // challenge differs.
        let verifier =
            await challenges.opensWithChallenge(app, of: provider, in: application) ? OneTimeToken(random) : nil
        let state = DialogState(
            plan: ticket.plan,
            codeVerifier: verifier?.secret,
            browser: browser?.hash,
            endsAt: clock.seconds + DialogState.seconds
        )
        return try await provider.address(
            of: Dialog(
                app: app,
                redirectURI: ticket.plan.redirectURI,
                state: Secret(Base64URL.encode(state.encrypted(under: masterKeys, for: application.id))),
                wishes: ticket.wishes,
                codeChallenge: verifier.map { Base64URL.encode($0.hash) }
            ),
            until: .now + limits.login
        )
    }
}
