import Graph
package import Vocabulary
package import Logging
import Store

/// Where a browser goes that came back from Facebook's dialog.
package enum DialogOutcome: Sendable {
    /// To an address of the client's, with a code that it exchanges for the user object.
    case redirect(to: String, Result<Secret, Failure>)
    /// Nowhere: the page hands the user object to the page of this origin that opened it.
    case popup(origin: String, Result<SignedIn, Failure>)
}

extension Federation {
    /// Ends a login through the server: takes its state, proves the code, and signs in or gives a login code.
    ///
    /// - Parameters:
    ///   - answer: What the dialog says.
    ///   - browser: What the browser keeps that brings it, if anything.
    ///   - loaded: Whose dialog it was.
    ///   - logger: Where it is said how the login went.
    /// - Returns: Where the browser goes, with success or failure.
    /// - Throws: `login_state_invalid` when nobody knows where it should go, or it is another browser; `overloaded`, `store_unavailable` and their like when
    ///   the state could not be looked for, so that the same address can be opened again.
    package func closeDialog(
        _ answer: DialogAnswer,
        from browser: String?,
        of loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> DialogOutcome {
        let started = ContinuousClock.now
        let facts: Logger.Metadata =
            answer.code.map { ["credential": "\(pseudonyms.pseudonym(of: $0.reveal(), in: loaded.application.id))"] }
            ?? [:]
        do throws(Failure) {
            guard concurrency.enter() else {
                throw Failure(
                    .overloaded,
                    "Too many logins are under way. Open this address again in a moment.",
                    retryAfter: 1
                )
            }
            defer { concurrency.leave() }
            let state = try await takeState(of: answer, from: browser, in: loaded.application)
            let attempt = LoginAttempt(
                request: LoginRequest(
                    provider: .facebook,
                    credential: CredentialFields(),
                    mapping: state.plan.mapping,
                    appID: state.plan.appID,
                    previousToken: nil
                ),
                loaded: loaded,
                end: started + limits.login,
                limits: limits
            )
            let outcome = await end(state, by: answer, in: attempt, logger: logger)
            log(outcome, of: loaded, started: started, logger: logger, with: facts)
            return outcome
        } catch {
            log(.failure(error), by: .facebook, of: loaded, started: started, logger: logger, with: facts)
            throw error.logged
        }
    }

    private func end(
        _ state: DialogState,
        by answer: DialogAnswer,
        in attempt: LoginAttempt,
        logger: Logger
    ) async -> DialogOutcome {
        switch state.plan.end {
        case .popup(let origin):
            do throws(Failure) {
                let proof = try await prove(answer, of: state, in: attempt, logger: logger)
                let signedIn = try await withProof(proof, mapping: state.plan.mapping, in: attempt) {
                    (proof, plan, attempt) throws(Failure) in
                    try await complete(proof, by: plan, in: attempt)
                }
                return .popup(origin: origin, .success(signedIn))
            } catch {
                return .popup(origin: origin, .failure(error))
            }
        case .redirect(let url, let codeChallenge):
            do throws(Failure) {
                let proof = try await prove(answer, of: state, in: attempt, logger: logger)
                let vouched = VouchedLogin(proof: proof, mapping: state.plan.mapping, codeChallenge: codeChallenge)
                let code = try await loginCode(for: vouched, of: attempt.loaded.application)
                return .redirect(to: url, .success(code))
            } catch {
                return .redirect(to: url, .failure(error))
            }
        }
    }

    /// Proves the code of the answer.
    private func prove(
        _ answer: DialogAnswer,
        of state: DialogState,
        in attempt: LoginAttempt,
        logger: Logger
    ) async throws(Failure) -> Proof {
        if let failure = answer.failure { throw failure }
        guard let code = answer.code else {
            throw Failure(
                .credentialMissing,
                "Facebook sent the browser back without a code. Start the login with Facebook over."
            )
        }
        let plan = try attempt.loaded.plan(for: .facebook, clientMapping: state.plan.mapping)
        let authorization = try AuthorizationCode(
            code,
            redirectURI: state.plan.redirectURI,
            codeVerifier: state.codeVerifier
        )
        var proof = try await prove(authorization, in: attempt, mapping: plan.mapping) { app in
            await noteLostChallenge(of: app, in: attempt.loaded.application, logger: logger)
        }
        // What Facebook itself lists as granted is not declined, whatever the browser says.
        proof.person.declinedScopes = answer.declinedScopes?.filter { declined in
            !proof.person.scopes.contains { $0.hasSameBytes(as: declined) }
        }
        return proof
    }

    private func log(
        _ outcome: DialogOutcome,
        of loaded: LoadedApplication,
        started: ContinuousClock.Instant,
        logger: Logger,
        with facts: Logger.Metadata
    ) {
        switch outcome {
        case .popup(_, let result):
            log(result, by: .facebook, of: loaded, started: started, logger: logger, with: facts)
        case .redirect(_, .failure(let failure)):
            log(.failure(failure), by: .facebook, of: loaded, started: started, logger: logger, with: facts)
        // The exchange of the login code is the login, and says so in a line of its own.
        case .redirect(_, .success): break
        }
    }
}
