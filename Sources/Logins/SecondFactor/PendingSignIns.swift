package import Applications
package import Factors
import Providers
package import Secrets
package import Store
package import Vocabulary

/// Logins that wait for a second factor: where they are put off, and where they come back.
///
/// A class, since what waits for a provider would have it in the frame of each function that waits.
package final class PendingSignIns: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let checks: FactorChecks
    let hints: FactorHints
    let clock: WallClock
    let random: RandomSource

    package init(
        store: Store,
        masterKeys: MasterKeys,
        checks: FactorChecks,
        hints: FactorHints,
        clock: WallClock,
        random: RandomSource
    ) {
        self.store = store
        self.masterKeys = masterKeys
        self.checks = checks
        self.hints = hints
        self.clock = clock
        self.random = random
    }

    /// What a login that a second factor stands in the way of is answered with: the pending sign-in, and which factors
    /// there are, so far as somebody may know who has shown one factor only.
    ///
    /// - Parameters:
    ///   - failure: What the write of the login says.
    ///   - firstFactor: What was shown.
    ///   - client: Who logs in.
    ///   - previousToken: The session that the client had.
    ///   - began: When the write began; whatever has changed since then changed after the first step.
    ///   - loaded: The application.
    /// - Returns: The failure with what it takes to go on; every other as it is.
    /// - Throws: `store_unavailable` and its like, while the factors are read.
    package func putOff(
        _ failure: Failure,
        _ firstFactor: FirstFactor,
        by client: LoginClient,
        previousToken: SessionToken?,
        since began: ContinuousClock.Instant,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Failure {
        guard failure.isPutOff else { return failure }
        let application = loaded.application
        let holder = try await store.factorHolder(firstFactor.owner, in: application)
        let guest = firstFactor.guest?.id
        let enrols = failure.reason == .secondFactorEnrolmentRequired
        let seconds = enrols ? PendingSignIn.enrolmentSeconds : PendingSignIn.seconds
        let pending = PendingSignIn(
            occasion: FactorOccasion(random),
            purpose: .signIn(firstFactor),
            user: holder.user ?? guest ?? random.objectID(),
            isUserThere: holder.user != nil || guest != nil,
            enrols: enrols,
            keyLabel: client.keyLabel,
            previousToken: previousToken,
            begunAt: holder.now.earlier(by: .now - began),
            endsAt: clock.seconds + seconds
        )
        return failure.adding(details(of: pending, holder.factors, in: application))
    }

    /// Begins to ask for a factor with a password that a link sets.
    package func begun(
        forLink tokenHash: [UInt8],
        of user: ObjectID,
        by keyLabel: String?,
        in application: Application
    ) -> PendingLink {
        let pending = PendingSignIn(
            occasion: FactorOccasion(random),
            purpose: .link(tokenHash),
            user: user,
            isUserThere: true,
            enrols: false,
            keyLabel: keyLabel,
            previousToken: nil,
            begunAt: StoreMoment(seconds: clock.seconds),
            endsAt: clock.seconds + PendingSignIn.seconds
        )
        return PendingLink(pending: pending, text: sealed(pending, of: application.id))
    }

    /// What was begun for a link, from the client that began it.
    ///
    /// - Throws: `pending_sign_in_invalid`.
    package func opened(
        _ text: String,
        ofLink tokenHash: [UInt8],
        by keyLabel: String?,
        in application: Application
    ) throws(Failure) -> PendingLink {
        let pending = try opened(text, by: keyLabel, in: application)
        guard case .link(let hash) = pending.purpose, hash.isEqualInConstantTime(to: tokenHash) else {
            throw .pendingInvalid
        }
        return PendingLink(pending: pending, text: Secret(text))
    }

    /// The members of `errorData` by which a client goes on that sets a password by a link.
    package func details(
        of pending: PendingLink,
        _ factors: [StoredFactor],
        in application: Application
    ) -> JSONObject {
        details(of: pending.pending, factors, in: application)
    }

    /// The members of `errorData` by which a client goes on.
    func details(
        of pending: PendingSignIn,
        _ factors: [StoredFactor],
        in application: Application
    ) -> JSONObject {
        let policy = application.settings.secondFactor
        let shown: [JSONValue] =
            pending.enrols
            ? policy.factors.filter { $0.standsAlone && checks.offers($0) }
                .map { .object(["kind": .string($0.rawValue)]) }
            : checks.usable(factors, in: application).map { factor in
                let hint = hints.shown(factor, of: application.id)
                var object: JSONObject = [
                    "id": .string(hint.id.description), "kind": .string(hint.kind.rawValue),
                ]
                if let hint = hint.hint { object.append("hint", .string(hint)) }
                return .object(object)
            }
        return [
            "pending": .string(sealed(pending, of: application.id).reveal()), "factors": .array(shown),
            "expires": .integer(pending.endsAt * 1000),
        ]
    }

    func sealed(_ pending: PendingSignIn, of application: ApplicationID) -> Secret {
        Secret(Base64URL.encode(pending.sealed(under: masterKeys, for: application)))
    }

    /// What was put off, from the client that began it.
    ///
    /// - Throws: `pending_sign_in_invalid`, for every reason alike.
    func opened(
        _ text: String,
        by keyLabel: String?,
        in application: Application
    ) throws(Failure) -> PendingSignIn {
        guard let sealed = Base64URL.decode(text.utf8),
            let pending = PendingSignIn(sealed: sealed, under: masterKeys, for: application.id, now: clock.seconds),
            pending.keyLabel == keyLabel
        else { throw .pendingInvalid }
        return pending
    }
}

/// A password that a link is to set, and that waits for a second factor.
package struct PendingLink: Sendable {
    let pending: PendingSignIn
    /// The same, sealed.
    package let text: Secret

    package var occasion: FactorOccasion { pending.occasion }
}

extension FirstFactor {
    fileprivate var owner: FactorOwner {
        switch self {
        case .provider(let login, _): .identity(login.result.person.identity)
        case .password(let password): .user(password.objectID)
        }
    }

    fileprivate var guest: GuestClaim? {
        guard case .provider(_, let guest) = self else { return nil }
        return guest
    }
}

extension Failure {
    /// Whether it is that a second factor stands between a login and its end.
    package var isPutOff: Bool { reason == .secondFactorRequired || reason == .secondFactorEnrolmentRequired }

    static let pendingInvalid = Failure(
        .pendingSignInInvalid,
        "This was not begun here, has ended already, or took too long. Begin it anew."
    )
}
