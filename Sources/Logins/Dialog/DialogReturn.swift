package import Applications
package import Domain
import Encodings
import Limiting
package import Logging
import Mapping
package import Providers
import Store

/// Where a browser goes after its return from a login dialog.
package enum DialogOutcome: Sendable {
    /// The browser goes to an address of the client, with a login code. The client exchanges the code for the user
    /// object.
    case redirect(to: String, Result<Secret, Failure>)
    /// The browser shows a page that passes the user object to the window that opened the page. That window has this
    /// origin.
    case popup(origin: String, Result<LoginResult, Failure>)
    /// The login goes on: a page of the service asks the user for a second factor.
    case question(FactorQuestion)
}

extension DialogOutcome {
    /// The outcome of the login; nil while the login goes on.
    ///
    /// If the client got a login code, the login goes on until the client exchanges the code. The exchange then reports
    /// the outcome.
    fileprivate var login: Result<LoginResult, Failure>? {
        switch self {
        case .popup(_, let result): result
        case .redirect(_, .failure(let failure)): .failure(failure)
        case .redirect(_, .success), .question: nil
        }
    }
}

extension LoginDialog {
    /// Ends a login when the browser returns from the provider's dialog.
    ///
    /// Decrypts the `state` of the response, uses it up, and verifies the authorization code in the response. Then logs
    /// the user in, or makes a login code for the client.
    ///
    /// - Parameters:
    ///   - answer: The provider's response, in the browser's request.
    ///   - provider: The provider of the dialog.
    ///   - browser: The cookie of the browser, if any.
    ///   - client: The client of the login, with its API key.
    ///   - loaded: The application.
    ///   - logger: Gets the outcome of the login.
    /// - Returns: Where the browser goes, with success or failure.
    /// - Throws: `login_state_invalid` if the `state` is unknown or belongs to another browser. `overloaded`,
    ///   `store_unavailable` or a similar error if the service could not look up the `state`: the browser can then open
    ///   the same address again.
    package func closeDialog(
        _ answer: DialogAnswer,
        of provider: ProviderName,
        from browser: String?,
        client: LoginClient,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> DialogOutcome {
        let started = ContinuousClock.now
        let subject = LoginLog.Subject.code(answer.code)
        do throws(Failure) {
            return try await admission.admit(
                loaded.application.id,
                orRefuse: "Too many logins are running. Open this address again in a moment."
            ) {
                () throws(Failure) in
                let dialogs = try loaded.dialogs(of: provider)
                let state = try await takeState(of: answer, at: dialogs, from: browser, in: loaded)
                let attempt = LoginAttempt(
                    request: LoginRequest(
                        provider: provider,
                        credential: CredentialFields(),
                        mapping: state.plan.mapping,
                        appID: state.plan.appID,
                        previousSession: nil,
                        client: client,
                        invitation: state.plan.invitation
                    ),
                    loaded: loaded,
                    end: started + limits.login,
                    limits: limits
                )
                let outcome = await end(state, by: answer, of: dialogs, in: attempt, logger: logger)
                if let result = outcome.login {
                    log.tell(result, of: subject, by: provider, in: loaded, since: started, logger)
                }
                return await asking(outcome, of: state, by: client, in: loaded)
            }
        } catch {
            log.tell(.failure(error), of: subject, by: provider, in: loaded, since: started, logger)
            throw error.logged
        }
    }

    private func end(
        _ state: DialogState,
        by answer: DialogAnswer,
        of provider: any DialogOffering,
        in attempt: LoginAttempt,
        logger: Logger
    ) async -> DialogOutcome {
        switch state.plan.end {
        case .popup(let origin):
            do throws(Failure) {
                let result = try await authenticate(answer, of: state, by: provider, in: attempt, logger: logger)
                let login = AuthenticatedLogin(result, mapping: state.plan.mapping)
                let signedIn = try await authenticator.withAuthentication(login, in: attempt) {
                    (login, plan, attempt) throws(Failure) in
                    try await writer.complete(login, by: plan, in: attempt)
                }
                return .popup(origin: origin, .success(signedIn))
            } catch {
                return .popup(origin: origin, .failure(error))
            }
        case .redirect(let url, let codeChallenge, _):
            do throws(Failure) {
                let result = try await authenticate(answer, of: state, by: provider, in: attempt, logger: logger)
                let verified = VerifiedLogin(
                    result: result,
                    mapping: state.plan.mapping,
                    codeChallenge: codeChallenge,
                    invitation: state.plan.invitation
                )
                let client = attempt.request.client
                if !state.plan.isForLinking,
                    let demand = try await factors.demand(of: verified, by: client, in: attempt.loaded)
                {
                    throw demand
                }
                let code = try await codes.loginCode(for: verified, of: attempt.loaded.application)
                return .redirect(to: url, .success(code))
            } catch {
                return .redirect(to: url, .failure(error))
            }
        }
    }

    /// Asks the user for a second factor, if the login has failed only because it needs the factor.
    ///
    /// Returns any other outcome unchanged.
    ///
    /// - Returns: The question for the user. If no factor can help, the failure of the login.
    private func asking(
        _ outcome: DialogOutcome,
        of state: DialogState,
        by client: LoginClient,
        in loaded: LoadedApplication
    ) async -> DialogOutcome {
        guard case .failure(let failure) = outcome.login, failure.isPutOff else { return outcome }
        do throws(Failure) {
            return .question(try await factors.question(after: failure, of: state, by: client, in: loaded))
        } catch {
            return state.plan.end.failed(error)
        }
    }

    /// Verifies the authorization code with which the browser returned from the provider's dialog.
    private func authenticate(
        _ answer: DialogAnswer,
        of state: DialogState,
        by provider: any DialogOffering,
        in attempt: LoginAttempt,
        logger: Logger
    ) async throws(Failure) -> AuthenticationResult {
        if let failure = provider.failure(in: answer) { throw failure }
        guard let code = answer.code else {
            throw Failure(
                .credentialMissing,
                "\(provider.title) returned no code. Start the login with \(provider.title) again."
            )
        }
        let (loaded, mapping) = (attempt.loaded, state.plan.mapping)
        // An operator may have removed necessary configuration since the login began.
        let current = try loaded.provider(provider.name, as: (any DialogOffering).self)
        let question = VerificationRequest(appID: state.plan.appID, deadline: attempt.providerDeadline) {
            () throws(Failure) in
            try loaded.plan(for: provider.name, clientMapping: mapping).mapping.fields
        }
        let finished: FinishedDialog
        let stage = LoginStage.provider.begin()
        defer { stage.end() }
        do throws(Failure) {
            finished = try await current.finish(
                DialogCode(
                    code: code,
                    redirectURI: state.plan.redirectURI,
                    codeVerifier: state.codeVerifier,
                    answer: answer
                ),
                question
            ) { (hash, seconds) throws(Failure) in
                try await store.use(.code, hash: hash, seconds: seconds, of: loaded.application)
            }
        } catch {
            throw try loaded.explained(error, provider: provider.name, clientMapping: mapping)
        }
        loaded.noteProfile(from: provider.name)
        switch finished {
        case .challengeLost(let app, let failure):
            await challenges.noteLostChallenge(of: app, at: current, in: loaded.application, logger: logger)
            throw failure
        case .authenticated(let result):
            // If the provider lists a scope as granted, the scope is not declined, even if the browser's request says
            // so.
            return result.declining(
                provider.declinedScopes(in: answer)?.filter { declined in
                    !result.verified.scopes.contains { $0.hasSameBytes(as: declined) }
                }
            )
        }
    }
}

extension LoadedApplication {
    /// Returns the provider with the given name, which must have a login dialog.
    ///
    /// This does not check whether the operator has disabled logins by the provider.
    ///
    /// - Throws: `not_found` for a provider without a dialog; `provider_not_configured`, `provider_misconfigured`.
    package func dialogs(of name: ProviderName) throws(Failure) -> any DialogOffering {
        guard let provider = configured(name) else {
            if let defect { throw .unusableConfiguration(cause: defect) }
            throw notSetUp(name)
        }
        guard let dialogs = provider as? any DialogOffering else { throw Self.missingCapability(provider.title) }
        return dialogs
    }
}
