package import Applications
package import Domain
package import Factors
package import Logging
package import Messaging
package import Store

/// The session or pending login that entitles a user to enrol a second factor.
package enum FactorHolderClaim: Sendable {
    case session(SessionKey?)
    /// A pending login that requires a new factor.
    case pending(String)
}

/// The result of a request that confirms a new factor.
package enum EnrolledFactor: Sendable {
    /// The factor that a user with a session has enrolled, with recovery codes if it is the first factor.
    case added(Factor, recoveryCodes: [Secret])
    /// The login that was pending and is now finished.
    case signedIn(FinishedLogin)
}

/// Lists, enrols and removes the second factors of a user, at the request of that user.
///
/// A class, since a struct would be copied into the frame of each async function that waits for a provider.
package final class OwnFactors: Sendable {
    let store: Store
    let sessions: Sessions
    let secondFactor: SecondFactor
    let pendings: PendingLogins
    let enrolment: FactorEnrolment
    let checks: FactorChecks
    let hints: FactorHints
    let notices: Notices
    let events: EventLog

    package init(
        store: Store,
        sessions: Sessions,
        secondFactor: SecondFactor,
        pendings: PendingLogins,
        enrolment: FactorEnrolment,
        checks: FactorChecks,
        hints: FactorHints,
        notices: Notices,
        events: EventLog
    ) {
        self.store = store
        self.sessions = sessions
        self.secondFactor = secondFactor
        self.pendings = pendings
        self.enrolment = enrolment
        self.checks = checks
        self.hints = hints
        self.notices = notices
        self.events = events
    }

    private static let rule = FactorProofRule(
        seconds: Sessions.reauthenticationSeconds,
        max: FactorEnrolment.max
    )

    /// Returns the factors of the user of a session, and the kinds of factors that the user can enrol.
    package func factors(
        of token: SessionKey?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (factors: [Factor], offered: [FactorKind]) {
        let user = try await sessions.user(of: token, in: loaded)
        let application = loaded.application
        let factors = try await store.factors(of: user.objectID, in: application)
        let policy = application.settings.secondFactor
        let offered = FactorKind.allCases.filter { policy.enrols($0) && checks.offers($0) }
        return (factors.map { hints.shown($0, of: application.id) }, offered)
    }

    /// Begins to enrol a factor.
    ///
    /// - Throws: `session_invalid`, `pending_login_invalid`; `reauthentication_required` and
    ///   `second_factor_reauthentication_required` if the session has no recent authentication or step-up;
    ///   `factor_not_offered`, `too_many_factors`, and the errors of sending a code.
    package func begin(
        _ wish: EnrolmentRequest,
        by claim: FactorHolderClaim,
        keyLabel: String?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> PendingEnrolment {
        let (owner, _) = try await owner(by: claim, keyLabel: keyLabel, in: loaded)
        if case .session(let token?) = claim {
            try await store.requireProofs(ofSession: token.hash, by: Self.rule, in: loaded.application)
        }
        return try await enrolment.begin(wish, for: owner, from: source, in: loaded)
    }

    /// Enrols a factor with the user's confirmation, such as a one-time code.
    ///
    /// If a login waits for the factor, the login is finished, too. A label replaces the label from the beginning of
    /// the enrolment.
    ///
    /// The service tells the user by a mail. If the user enrolled the factor in a session, the mail has a link that
    /// restores the former factors.
    package func confirm(
        _ id: String,
        by response: FactorResponse,
        label: String? = nil,
        claim: FactorHolderClaim,
        idempotencyKey: IdempotencyKey?,
        keyLabel: String?,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> EnrolledFactor {
        let (owner, pending) = try await owner(by: claim, keyLabel: keyLabel, in: loaded)
        switch claim {
        case .pending(let text):
            guard let pending, case .login(let firstFactor) = pending.purpose else { throw .pendingInvalid }
            let finished = try await secondFactor.telling(of: firstFactor, in: loaded, logger) {
                () throws(Failure) in
                let answer = FactorAnswer(
                    pending: text,
                    factor: nil,
                    response: response,
                    trustsDevice: false,
                    idempotencyKey: idempotencyKey,
                    keyLabel: keyLabel,
                    source: source
                )
                let once = pending.once(by: answer, secondFactor.random)
                _ = try await secondFactor.isRepetition(answer, once: once, in: loaded)
                let factor = try await enrolment.confirm(
                    id,
                    by: response,
                    label: label,
                    for: owner,
                    from: source,
                    in: loaded
                )
                let codes = recoveryCodes(of: owner.id, in: loaded)
                let proof = FactorProof(
                    user: pending.isUserThere ? pending.user : nil,
                    evidence: .enrolled(factor),
                    guess: nil,
                    recoveryCodes: codes?.factor
                )
                let signedIn = try await secondFactor.write(
                    firstFactor,
                    with: proof,
                    once: once,
                    of: pending,
                    by: answer,
                    in: loaded,
                    logger: logger
                )
                await tell(.added(factor.kind), signedIn.user, in: loaded, logger: logger)
                return FinishedLogin(signedIn: signedIn, trustedDevice: nil, recoveryCodes: codes?.shown ?? [])
            }
            return .signedIn(finished)
        case .session(let token):
            guard let user = owner.user, let token else { throw .sessionInvalid }
            let facts: Logger.Metadata = ["user": "\(user.objectID)"]
            let (factor, codes) = try await events.logging(
                "factor enrolled",
                of: loaded,
                logger,
                with: facts,
                user: { _ in user.objectID }
            ) { () throws(Failure) -> (NewFactor, [Secret]) in
                let factor = try await enrolment.confirm(
                    id,
                    by: response,
                    label: label,
                    for: owner,
                    from: source,
                    in: loaded
                )
                let codes = recoveryCodes(of: user.objectID, in: loaded)
                let hasCodes = try await store.addFactor(
                    factor,
                    with: codes?.factor,
                    toUserOf: token.hash,
                    by: Self.rule,
                    announcing: try await announcement(.added(factor.kind), to: user, in: loaded),
                    in: loaded.application
                )
                return (factor, hasCodes ? codes?.shown ?? [] : [])
            }
            let stored = try await store.factors(of: user.objectID, in: loaded.application)
            guard let added = stored.first(where: { $0.id == factor.id }) else { throw .noSuchFactor }
            return .added(hints.shown(added, of: loaded.application.id), recoveryCodes: codes)
        }
    }

    /// Creates ten new recovery codes for the user of a session.
    ///
    /// They replace the remaining codes.
    package func renewRecoveryCodes(
        of token: SessionKey?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> (factor: ObjectID, codes: [Secret]) {
        let (user, token) = try await sessions.session(of: token, in: loaded)
        guard loaded.application.settings.secondFactor.allows(.recoveryCode) else {
            throw Failure(.factorNotOffered, "This app does not offer recovery codes.")
        }
        let (shown, factor) = enrolment.recoveryCodes(of: user.objectID)
        try await events.logging(
            "recovery codes renewed",
            of: loaded,
            logger,
            with: ["user": "\(user.objectID)"],
            user: { _ in user.objectID }
        ) { () throws(Failure) in
            _ = try await store.addFactor(
                factor,
                with: nil,
                toUserOf: token.hash,
                by: Self.rule,
                announcing: try await announcement(.added(.recoveryCode), to: user, in: loaded),
                in: loaded.application
            )
        }
        return (factor.id, shown)
    }

    /// Removes a factor of the user of a session.
    ///
    /// The service tells the user by a mail.
    ///
    /// - Throws: The errors of `begin`; `not_found`, `last_factor`.
    package func remove(
        _ id: ObjectID,
        of token: SessionKey?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        let (user, token) = try await sessions.session(of: token, in: loaded)
        let factors = try await store.factors(of: user.objectID, in: loaded.application)
        guard let factor = factors.first(where: { $0.id == id }) else { throw .noSuchFactor }
        try await events.logging(
            "factor removed",
            of: loaded,
            logger,
            with: ["user": "\(user.objectID)"],
            user: { _ in user.objectID }
        ) { () throws(Failure) in
            try await store.removeFactor(
                id,
                fromUserOf: token.hash,
                by: Self.rule,
                announcing: try await announcement(.removed(factor.kind), to: user, in: loaded),
                in: loaded.application
            )
        }
    }

    private func owner(
        by claim: FactorHolderClaim,
        keyLabel: String?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (FactorOwnership, PendingLogin?) {
        let application = loaded.application
        switch claim {
        case .session(let token):
            let (user, token) = try await sessions.session(of: token, in: loaded)
            guard user.status != .guest else {
                throw Failure(.factorNotOffered, "A guest cannot enrol a second factor. Register or log in first.")
            }
            let owner = FactorOwnership(
                id: user.objectID,
                user: user,
                owner: token.hash,
                account: user.text(of: application.settings.identityProperty) ?? user.email ?? user.name,
                finishesLogin: false,
                factors: try await store.factors(of: user.objectID, in: application)
            )
            return (owner, nil)
        case .pending(let text):
            let (owner, pending) = try await owner(by: text, keyLabel: keyLabel, in: loaded)
            return (owner, pending)
        }
    }

    /// Decrypts a pending login, and returns it together with the user who must enrol a factor to finish it.
    ///
    /// - Throws: `pending_login_invalid`, also if the pending login does not require the user to enrol a factor.
    func owner(
        by text: String,
        keyLabel: String?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (FactorOwnership, PendingLogin) {
        let application = loaded.application
        let pending = try pendings.opened(text, by: keyLabel, in: application)
        guard pending.enrols, let id = pending.user else { throw .pendingInvalid }
        let owner = FactorOwnership(
            id: id,
            user: pending.isUserThere ? try await store.storedUser(id, of: application)?.user : nil,
            owner: pending.hash,
            account: pending.login,
            finishesLogin: true,
            factors: pending.isUserThere ? try await store.factors(of: id, in: application) : []
        )
        return (owner, pending)
    }

    /// Creates recovery codes for a user who enrols a factor; nil if the application does not allow recovery codes.
    func recoveryCodes(of user: ObjectID, in loaded: LoadedApplication) -> (shown: [Secret], factor: NewFactor)? {
        loaded.application.settings.secondFactor.allows(.recoveryCode) ? enrolment.recoveryCodes(of: user) : nil
    }

    private enum Change {
        case added(FactorKind)
        case removed(FactorKind)

        func mail(link: Secret?, days: Int, name: String?) -> Mail {
            switch self {
            case .added(let kind): .factorAdded(kind: kind, link: link, days: days, name: name)
            case .removed(let kind): .factorRemoved(kind: kind, link: link, days: days, name: name)
            }
        }
    }

    private func announcement(
        _ change: Change,
        to user: User,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Announcement? {
        try await notices.announcement(to: user, in: loaded) { link, days in
            change.mail(link: link, days: days, name: user.name)
        }
    }

    /// Tells a user by mail about the first factor that the user enrolled at the end of a login.
    func tellOfFirst(_ kind: FactorKind, _ user: User, in loaded: LoadedApplication, logger: Logger) async {
        await tell(.added(kind), user, in: loaded, logger: logger)
    }

    /// Tells a user by mail about a first factor that is already written.
    ///
    /// The mail has no link, since the user had no factor that a link could restore.
    private func tell(_ change: Change, _ user: User, in loaded: LoadedApplication, logger: Logger) async {
        let mail = change.mail(link: nil, days: 0, name: user.name)
        await notices.notify(mail, about: user, in: loaded, logger: logger)
    }
}
