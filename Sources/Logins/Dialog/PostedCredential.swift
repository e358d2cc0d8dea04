package import Applications
package import Domain
import Limiting
package import Logging
import Providers
import Store

extension LoginDialog {
    /// Logs a user in by an ID token that a provider's script has posted to this service (Google's One Tap).
    ///
    /// The login ends as one by a dialog: the browser goes to the first return URL with a login code. A user who needs
    /// a second factor must log in by the dialog.
    ///
    /// - Parameters:
    ///   - idToken: The ID token in the form.
    ///   - provider: The provider.
    ///   - client: The client of the login, with its API key.
    ///   - loaded: The application.
    ///   - logger: Gets the outcome of the login.
    /// - Returns: Where the browser goes, with success or failure.
    /// - Throws: `provider_not_configured` without a return URL; `overloaded`, `store_unavailable` and similar errors.
    package func takeCredential(
        _ idToken: String,
        of provider: ProviderName,
        client: LoginClient,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> DialogOutcome {
        let started = ContinuousClock.now
        let credential = CredentialFields(idToken: idToken)
        let request = LoginRequest(
            provider: provider,
            credential: credential,
            mapping: nil,
            appID: nil,
            previousSession: nil,
            client: client
        )
        let attempt = LoginAttempt(request: request, loaded: loaded, end: started + limits.login, limits: limits)
        let end = try DialogEnd(
            DialogRequest(),
            returnURLs: try loaded.dialogs(of: provider).returnURLs,
            allowedOrigins: []
        )
        do throws(Failure) {
            let code = try await admission.admit(loaded.application.id) { () throws(Failure) in
                try await loginCode(by: attempt)
            }
            guard case .redirect(let url, _, _) = end else { throw Failure(.internal, "The login has no return URL.") }
            return .redirect(to: url, .success(code))
        } catch {
            log.tell(.failure(error), of: .credential(credential), by: provider, in: loaded, since: started, logger)
            return end.failed(error.logged)
        }
    }

    private func loginCode(by attempt: LoginAttempt) async throws(Failure) -> Secret {
        let login = try await authenticator.authenticated(attempt)
        // The client exchanges the code later, so the single-use token must count as used now.
        if let once = login.once {
            guard try await store.use(once, of: attempt.loaded.application) else { throw .credentialReplayed }
        }
        let verified = VerifiedLogin(result: login.result, mapping: nil, codeChallenge: nil, invitation: nil)
        if let demand = try await factors.demand(of: verified, by: attempt.request.client, in: attempt.loaded) {
            throw demand
        }
        return try await codes.loginCode(for: verified, of: attempt.loaded.application)
    }
}
