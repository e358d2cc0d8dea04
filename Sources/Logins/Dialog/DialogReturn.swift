package import Applications
import Limiting
package import Logging
import Mapping
package import Providers
import Store
package import Vocabulary

/// Where a browser goes that came back from a login dialog.
package enum DialogOutcome: Sendable {
    /// To an address of the client's, with a code that it exchanges for the user object.
    case redirect(to: String, Result<Secret, Failure>)
    /// Nowhere: the page hands the user object to the page of this origin that opened it.
    case popup(origin: String, Result<SignedIn, Failure>)
    /// Nowhere yet: the person is asked for a second factor.
    case question(FactorQuestion)
}

extension DialogOutcome {
    /// How the login went; nil where it has not ended: the exchange of the login code is the login, and is told by
    /// itself.
    fileprivate var login: Result<SignedIn, Failure>? {
        switch self {
        case .popup(_, let result): result
        case .redirect(_, .failure(let failure)): .failure(failure)
        case .redirect(_, .success), .question: nil
        }
    }
}

extension LoginDialog {
    /// Ends a login through the server: takes its state, has the code verified, and signs in or gives a login code.
    ///
    /// - Parameters:
    ///   - answer: What the dialog says.
    ///   - provider: Whose dialog it was.
    ///   - browser: What the browser keeps that brings it, if anything.
    ///   - client: By which API key it comes.
    ///   - loaded: The application.
    ///   - logger: Where it is said how the login went.
    /// - Returns: Where the browser goes, with success or failure.
    /// - Throws: `login_state_invalid` when nobody knows where it should go, or it is another browser; `overloaded`,
    ///   `store_unavailable` and their like when the state could not be looked for, so that the same address can be
    ///   opened again.
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
                orRefuse: "Too many logins are under way. Open this address again in a moment."
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
                        previousToken: nil,
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
        case .redirect(let url, let codeChallenge):
            do throws(Failure) {
                let result = try await authenticate(answer, of: state, by: provider, in: attempt, logger: logger)
                let vouched = VouchedLogin(
                    result: result,
                    mapping: state.plan.mapping,
                    codeChallenge: codeChallenge,
                    invitation: state.plan.invitation
                )
                let client = attempt.request.client
                if !state.plan.isForLinking,
                    let demand = try await factors.demand(of: vouched, by: client, in: attempt.loaded)
                {
                    throw demand
                }
                let code = try await codes.loginCode(for: vouched, of: attempt.loaded.application)
                return .redirect(to: url, .success(code))
            } catch {
                return .redirect(to: url, .failure(error))
            }
        }
    }

    /// The question for a second factor in place of the end of a login that was put off for it.
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

    /// Whom the code of the answer stands for.
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
                """
                \(provider.title) sent the browser back without a code. Start the login with \(provider.title) over.
                """
            )
        }
        let (loaded, mapping) = (attempt.loaded, state.plan.mapping)
        // An operator may have taken away what the login needs since it began.
        let current = try loaded.provider(provider.name, as: (any DialogOffering).self)
        let question = ProviderQuestion(appID: state.plan.appID, deadline: attempt.providerDeadline) {
            () throws(Failure) in
            try loaded.plan(for: provider.name, clientMapping: mapping).mapping.graphFields
        }
        let finished: FinishedDialog
        let stage = LoginStage.provider.begin()
        defer { stage.end() }
        do throws(Failure) {
            finished = try await current.finish(
                DialogCode(code: code, redirectURI: state.plan.redirectURI, codeVerifier: state.codeVerifier),
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
            // What the provider itself lists as granted is not declined, whatever the browser says.
            return result.declining(
                provider.declinedScopes(in: answer)?.filter { declined in
                    !result.person.scopes.contains { $0.hasSameBytes(as: declined) }
                }
            )
        }
    }
}

extension LoadedApplication {
    /// The provider whose dialog a browser opens or comes back from, whether people can log in by it now or not.
    ///
    /// - Throws: `not_found` for a provider without a dialog; `provider_not_configured`, `provider_misconfigured`.
    package func dialogs(of name: ProviderName) throws(Failure) -> any DialogOffering {
        guard let provider = configured(name) else {
            if let defect { throw .unusableConfiguration(cause: defect) }
            throw notSetUp(name)
        }
        guard let dialogs = provider as? any DialogOffering else { throw Self.lacksCapability(provider.title) }
        return dialogs
    }
}
