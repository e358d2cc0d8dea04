package import Applications
package import Domain
import Encodings
package import Factors
package import Logging
package import Messaging
import Providers
package import Secrets
package import Store

/// Asks users for a second factor at the end of a login dialog.
///
/// The service has a page for this, so clients need no such page of their own.
///
/// A class, since a struct would be copied into the frame of each async function that waits for a provider.
package final class DialogFactors: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let codes: LoginCodes
    let pendings: PendingLogins
    let checks: FactorChecks
    let enrolment: FactorEnrolment
    let secondFactor: SecondFactor
    let ownFactors: OwnFactors
    let log: LoginLog
    let clock: WallClock

    package init(
        store: Store,
        masterKeys: MasterKeys,
        codes: LoginCodes,
        pendings: PendingLogins,
        checks: FactorChecks,
        enrolment: FactorEnrolment,
        secondFactor: SecondFactor,
        ownFactors: OwnFactors,
        log: LoginLog,
        clock: WallClock
    ) {
        self.store = store
        self.masterKeys = masterKeys
        self.codes = codes
        self.pendings = pendings
        self.checks = checks
        self.enrolment = enrolment
        self.secondFactor = secondFactor
        self.ownFactors = ownFactors
        self.log = log
        self.clock = clock
    }

    /// Returns the failure that reports that a login needs a second factor; nil if the login needs none.
    ///
    /// The failure contains the pending login. This method is for logins that end with a redirect.
    func demand(
        of login: VerifiedLogin,
        by client: LoginClient,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Failure? {
        let began = ContinuousClock.now
        let identity = login.result.verified.identity
        guard let demand = try await store.factorDemand(of: identity, in: loaded.application) else { return nil }
        return try await pendings.putOff(
            demand,
            .provider(login, joining: nil),
            by: client,
            previousSession: nil,
            since: began,
            in: loaded
        )
    }

    /// Returns the first question that a user answers to finish a pending login.
    ///
    /// - Throws: The failure of the login, if no answer of the user can help.
    func question(
        after failure: Failure,
        of state: DialogState,
        by client: LoginClient,
        in loaded: LoadedApplication
    ) async throws(Failure) -> FactorQuestion {
        guard let text = failure.details["pending"]?.string else { throw failure }
        let pending = try pendings.opened(text, by: client.keyLabel, in: loaded.application)
        let pause = DialogPause(
            plan: state.plan,
            browser: state.browser,
            pending: text,
            endsAt: pending.endsAt
        )
        return try await question(of: Paused(pause: pause, pending: pending), in: loaded)
    }

    /// Handles the user's answer to a question: asks the next question, or ends the login.
    ///
    /// - Parameters:
    ///   - answer: The user's answer.
    ///   - login: The encrypted pending login that came with the question.
    ///   - provider: The provider of the dialog.
    ///   - browser: The cookie of the browser, if any.
    ///   - client: The client of the login, with its API key.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    ///   - logger: Gets the outcome of the login.
    /// - Returns: Where the browser goes, or the next question.
    /// - Throws: `login_state_invalid` if the login cannot be decrypted, has expired or began in another browser, or if
    ///   the operator no longer allows the address or origin at which the login ends.
    package func take(
        _ answer: FactorQuestionAnswer,
        of login: String,
        at provider: ProviderName,
        from browser: String?,
        client: LoginClient,
        source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> DialogOutcome {
        let started = ContinuousClock.now
        let paused = try opened(login, at: provider, from: browser, client: client, in: loaded)
        do throws(Failure) {
            return try await take(answer, of: paused, source: source, in: loaded, logger: logger)
        } catch {
            do throws(Failure) {
                guard error.reason.leavesAnotherFactor else { throw error }
                return .question(try await question(of: paused, after: answer, problem: error, in: loaded))
            } catch {
                guard case .redirect(let url, _, _) = paused.pause.plan.end else {
                    return paused.pause.plan.end.failed(error.logged)
                }
                log.tell(.failure(error), of: .code(nil), by: provider, in: loaded, since: started, logger)
                return .redirect(to: url, .failure(error.logged))
            }
        }
    }

    /// A decrypted login that waits for its second factor.
    private struct Paused {
        var pause: DialogPause
        let pending: PendingLogin
    }

    private func opened(
        _ login: String,
        at provider: ProviderName,
        from browser: String?,
        client: LoginClient,
        in loaded: LoadedApplication
    ) throws(Failure) -> Paused {
        let application = loaded.application
        guard let encrypted = Base64URL.decode(login.utf8),
            let pause = DialogPause(encrypted: encrypted, under: masterKeys, for: application.id, now: clock.seconds),
            pause.plan.isListed(by: application, at: try loaded.dialogs(of: provider)),
            pause.plan.end.isOf(browser, keptBy: pause.browser),
            let pending = try? pendings.opened(pause.pending, by: client.keyLabel, in: application)
        else {
            throw Failure(
                .loginStateInvalid,
                "This login began in another browser, has ended, or took too long. Go back to the app and start again."
            )
        }
        return Paused(pause: pause, pending: pending)
    }

    private func take(
        _ answer: FactorQuestionAnswer,
        of paused: Paused,
        source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> DialogOutcome {
        let (pause, pending) = (paused.pause, paused.pending)
        switch answer {
        case .choose, .chooseKind:
            return .question(try await question(of: paused, after: answer, in: loaded))
        case .send(let id):
            let (challenge, _) = try await secondFactor.start(
                pause.pending,
                factor: id,
                by: pending.keyLabel,
                from: source,
                in: loaded
            )
            return .question(try await question(of: paused, after: answer, challenge, in: loaded))
        case .show(let id, let response):
            return try await show(id, response, of: paused, source: source, in: loaded, logger: logger)
        case .enrol(let wish):
            let begun = try await ownFactors.begin(
                wish,
                by: .pending(pause.pending),
                keyLabel: pending.keyLabel,
                from: source,
                in: loaded
            )
            return .question(try question(.confirm(begun), of: paused, in: loaded))
        case .confirm(let draft, let response):
            return try await confirm(draft, response, of: paused, source: source, in: loaded, logger: logger)
        case .goOn:
            guard let factor = pause.factor else { throw .pendingInvalid }
            return try await end(paused, with: factor, in: loaded)
        }
    }

    private func show(
        _ id: ObjectID?,
        _ response: FactorResponse,
        of paused: Paused,
        source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> DialogOutcome {
        let (pause, pending) = (paused.pause, paused.pending)
        guard let user = pending.user, !pending.enrols else { throw .pendingInvalid }
        guard case .popup(let origin) = pause.plan.end else {
            let checked = try await checks.check(
                response,
                by: id,
                of: user,
                for: pending.occasion,
                use: .login,
                from: source,
                in: loaded
            )
            let proof = FactorProof(user: user, evidence: .shown(checked.shown), guess: checked.guess)
            return try await end(paused, with: pending.verified(by: proof), in: loaded)
        }
        let answer = FactorAnswer(
            pending: pause.pending,
            factor: id,
            response: response,
            trustsDevice: false,
            idempotencyKey: nil,
            keyLabel: pending.keyLabel,
            source: source
        )
        guard
            case .signedIn(let finished) = try await secondFactor.finish(
                answer,
                session: nil,
                in: loaded,
                logger: logger
            )
        else { throw .pendingInvalid }
        return .popup(origin: origin, .success(finished.signedIn))
    }

    private func confirm(
        _ draft: String,
        _ response: FactorResponse,
        of paused: Paused,
        source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> DialogOutcome {
        let (pause, pending) = (paused.pause, paused.pending)
        guard case .popup(let origin) = pause.plan.end else {
            let owner = try await ownFactors.owner(by: pause.pending, keyLabel: pending.keyLabel, in: loaded).0
            let factor = try await enrolment.confirm(draft, by: response, for: owner, from: source, in: loaded)
            let codes = ownFactors.recoveryCodes(of: owner.id, in: loaded)
            let proof = FactorProof(
                user: pending.isUserThere ? pending.user : nil,
                evidence: .enrolled(factor),
                guess: nil,
                recoveryCodes: codes?.factor
            )
            guard let codes else { return try await end(paused, with: pending.verified(by: proof), in: loaded) }
            var paused = paused
            paused.pause.factor = pending.verified(by: proof)
            return .question(try question(.keep(codes.shown, done: nil), of: paused, in: loaded))
        }
        let enrolled = try await ownFactors.confirm(
            draft,
            by: response,
            claim: .pending(pause.pending),
            idempotencyKey: nil,
            keyLabel: pending.keyLabel,
            from: source,
            in: loaded,
            logger: logger
        )
        guard case .signedIn(let finished) = enrolled else { throw .pendingInvalid }
        guard !finished.recoveryCodes.isEmpty else { return .popup(origin: origin, .success(finished.signedIn)) }
        let step = FactorQuestion.Step.keep(finished.recoveryCodes, done: finished.signedIn)
        return .question(try question(step, of: paused, in: loaded))
    }

    /// Ends a login with a redirect that takes a login code to the client.
    ///
    /// The second factor is used up only when the client exchanges the login code.
    private func end(
        _ paused: Paused,
        with factor: VerifiedFactor,
        in loaded: LoadedApplication
    ) async throws(Failure) -> DialogOutcome {
        guard case .redirect(let url, let codeChallenge, _) = paused.pause.plan.end,
            case .login(.provider(let login, _)) = paused.pending.purpose
        else { throw .pendingInvalid }
        let verified = VerifiedLogin(
            result: login.result,
            mapping: login.mapping,
            codeChallenge: codeChallenge,
            factor: factor,
            invitation: login.invitation
        )
        return .redirect(to: url, .success(try await codes.loginCode(for: verified, of: loaded.application)))
    }

    // MARK: Questions

    /// Returns the next question about the second factor, after a user's answer.
    private func question(
        of paused: Paused,
        after answer: FactorQuestionAnswer? = nil,
        _ challenge: FactorChallenge? = nil,
        problem: Failure? = nil,
        in loaded: LoadedApplication
    ) async throws(Failure) -> FactorQuestion {
        let (pending, application) = (paused.pending, loaded.application)
        guard !pending.enrols else {
            if case .confirm(let draft, _) = answer {
                let owner = try await ownFactors.owner(by: paused.pause.pending, keyLabel: pending.keyLabel, in: loaded)
                    .0
                let begun = try enrolment.begun(draft, for: owner, in: loaded)
                return try question(.confirm(begun), of: paused, problem: problem, in: loaded)
            }
            let policy = application.settings.secondFactor
            let kinds = policy.factors.filter { $0.standsAlone && checks.offers($0) }
            return try question(.enrol(kinds), of: paused, problem: problem, in: loaded)
        }
        guard let user = pending.user else { throw .pendingInvalid }
        let stored = checks.usable(try await store.factors(of: user, in: application), in: application)
        let factors = stored.map { pendings.hints.shown($0, of: application.id) }
        let chosen = factors.first { $0.id == answer?.factor } ?? factors.first { $0.kind.standsAlone } ?? factors.first
        guard let chosen else {
            throw Failure(
                .factorNotOffered,
                "No second factor of this account can be used here. Contact the operator of the app."
            )
        }
        let made = challenge ?? checks.challenge(chosen, among: stored, for: pending.occasion, in: application)
        let step = FactorQuestion.Step.show(chosen, made, others: factors.filter { $0.id != chosen.id })
        return try question(step, of: paused, problem: problem, in: loaded)
    }

    private func question(
        _ step: FactorQuestion.Step,
        of paused: Paused,
        problem: Failure? = nil,
        in loaded: LoadedApplication
    ) throws(Failure) -> FactorQuestion {
        let end: FactorQuestion.End =
            switch paused.pause.plan.end {
            case .redirect(let url, _, _): .redirect(to: url)
            case .popup(let origin): .popup(origin: origin)
            }
        let encrypted = paused.pause.encrypted(under: masterKeys, for: loaded.application.id)
        return FactorQuestion(
            login: Secret(Base64URL.encode(encrypted)),
            step: step,
            problem: problem,
            end: end,
            browserSeconds: paused.pause.plan.end.belongsToBrowser ? FactorEnrolment.seconds : nil
        )
    }
}

extension FactorQuestionAnswer {
    fileprivate var factor: ObjectID? {
        switch self {
        case .choose(let id), .send(let id): id
        case .show(let id, _): id
        case .chooseKind, .enrol, .confirm, .goOn: nil
        }
    }
}

extension PendingLogin {
    fileprivate func verified(by proof: FactorProof) -> VerifiedFactor {
        VerifiedFactor(
            proof: proof,
            freshID: isUserThere ? nil : user,
            pendingHash: hash,
            begunAt: begunAt
        )
    }
}
