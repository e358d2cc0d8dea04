package import Applications
package import Domain
package import Encodings
package import Factors
import Providers
package import Secrets
package import Store

/// Makes, encrypts and decrypts pending logins, which wait for a second factor or another step of the user.
///
/// A class, since a struct would be copied into the frame of each async function that waits for a provider.
package final class PendingLogins: Sendable {
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

    /// Adds a pending login and the user's factors to the failure of a login that needs a second factor.
    ///
    /// The failure shows only those details of the factors that a client may know after the first factor.
    ///
    /// - Parameters:
    ///   - failure: The failure of the login's write.
    ///   - firstFactor: The first factor of the login.
    ///   - client: The client of the login.
    ///   - previousSession: The session that the client had before the login.
    ///   - began: The time at which the write of the login began. The pending login counts as begun at this time.
    ///   - loaded: The application.
    /// - Returns: The failure with the pending login; or the unchanged failure, if it has another reason.
    /// - Throws: `store_unavailable` and similar errors if the factors cannot be read.
    package func putOff(
        _ failure: Failure,
        _ firstFactor: FirstFactor,
        by client: LoginClient,
        previousSession: SessionKey?,
        since began: ContinuousClock.Instant,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Failure {
        guard failure.isPutOff else { return failure }
        let application = loaded.application
        let holder = try await store.factorHolder(firstFactor.owner, in: application)
        let joined = firstFactor.joined
        let enrols = failure.reason == .secondFactorEnrolmentRequired
        let seconds = enrols ? PendingLogin.enrolmentSeconds : PendingLogin.seconds
        let pending = PendingLogin(
            occasion: FactorOccasion(random),
            purpose: .login(firstFactor),
            user: holder.user ?? joined ?? random.objectID(),
            isUserThere: holder.user != nil || joined != nil,
            enrols: enrols,
            keyLabel: client.keyLabel,
            previousSession: previousSession,
            begunAt: holder.now.earlier(by: .now - began),
            endsAt: clock.seconds + seconds
        )
        return failure.adding(details(of: pending, holder.factors, in: application))
    }

    /// Returns the failure of a first login by a provider whose e-mail address an account has, with the pending login.
    ///
    /// - Parameters:
    ///   - login: The verified login.
    ///   - account: The account.
    ///   - moment: The time from which on a revocation by the provider ends the login.
    ///   - guest: The guest of the client, if there is one.
    ///   - client: The client of the login.
    ///   - previousSession: The session that the client had before the login.
    ///   - loaded: The application.
    /// - Returns: `account_exists`.
    /// - Throws: `store_unavailable` and similar errors.
    func accountExists(
        _ login: VerifiedLogin,
        account: User,
        begunAt moment: StoreMoment,
        guest: GuestClaim?,
        by client: LoginClient,
        previousSession: SessionKey?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Failure {
        let application = loaded.application
        let pending = PendingLogin(
            occasion: FactorOccasion(random),
            purpose: .sameAddress(login, guest: guest, email: account.email ?? ""),
            user: account.objectID,
            isUserThere: true,
            enrols: false,
            keyLabel: client.keyLabel,
            previousSession: previousSession,
            begunAt: moment,
            endsAt: clock.seconds + PendingLogin.sameAddressSeconds
        )
        var details: JSONObject = [
            "pending": .string(encrypted(pending, of: application.id).reveal()),
            "expires": .integer(pending.endsAt * 1000),
        ]
        if application.settings.allowAccountEnumeration {
            let methods = try await store.loginMethods(of: account.objectID, session: [], in: application)
            var names: [String] = []
            for method in methods where !method.isRevoked && !names.contains(method.provider) {
                names.append(method.provider)
            }
            details.append("loginMethods", .array(names.map(JSONValue.string)))
        }
        return Failure(
            .accountExists,
            """
            An account has the e-mail address of this login already. Log in to that account first, then add this \
            login to it.
            """,
            details: details,
            verified: login.result.verified
        )
    }

    /// Begins a password reset that must wait for a second factor.
    ///
    /// The user has opened a mailed link, but has not set the new password yet.
    package func begun(
        forLink tokenHash: [UInt8],
        of user: ObjectID,
        by keyLabel: String?,
        in application: Application
    ) -> PendingLink {
        let pending = PendingLogin(
            occasion: FactorOccasion(random),
            purpose: .link(tokenHash),
            user: user,
            isUserThere: true,
            enrols: false,
            keyLabel: keyLabel,
            previousSession: nil,
            begunAt: StoreMoment(seconds: clock.seconds),
            endsAt: clock.seconds + PendingLogin.seconds
        )
        return PendingLink(pending: pending, text: encrypted(pending, of: application.id))
    }

    /// Decrypts a password reset that waits for a second factor, after the user has opened a mailed link.
    ///
    /// Only the client that began the reset can continue it.
    ///
    /// - Throws: `pending_login_invalid`.
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

    /// Returns the members of `errorData` that a client needs to ask the user for a second factor, for a password reset
    /// by a mailed link.
    package func details(
        of pending: PendingLink,
        _ factors: [StoredFactor],
        in application: Application
    ) -> JSONObject {
        details(of: pending.pending, factors, in: application)
    }

    /// Returns the members of `errorData` for a pending login.
    ///
    /// With them, a client asks the user for a second factor, or lets the user enrol one.
    func details(
        of pending: PendingLogin,
        _ factors: [StoredFactor],
        in application: Application
    ) -> JSONObject {
        let policy = application.settings.secondFactor
        let shown: [JSONValue] =
            pending.enrols
            ? policy.factors.filter { $0.standsAlone && checks.offers($0) }
                .map { .object(["kind": .string($0.rawValue)]) }
            : checks.usable(factors, besidesMailbox: pending.mailbox, in: application).map { factor in
                let hint = hints.shown(factor, of: application.id)
                var object: JSONObject = [
                    "id": .string(hint.id.description), "kind": .string(hint.kind.rawValue),
                ]
                if let hint = hint.hint { object.append("hint", .string(hint)) }
                // The label stays untold: whoever has only the first factor learns nothing that the user wrote.
                object.append("created", .integer(factor.created))
                return .object(object)
            }
        return [
            "pending": .string(encrypted(pending, of: application.id).reveal()), "factors": .array(shown),
            "expires": .integer(pending.endsAt * 1000),
        ]
    }

    func encrypted(_ pending: PendingLogin, of application: ApplicationID) -> Secret {
        Secret(Base64URL.encode(pending.encrypted(under: masterKeys, for: application)))
    }

    /// Decrypts a pending login for the client that began it.
    ///
    /// - Throws: `pending_login_invalid`. The error is the same for every cause.
    func opened(
        _ text: String,
        by keyLabel: String?,
        in application: Application
    ) throws(Failure) -> PendingLogin {
        guard let encrypted = Base64URL.decode(text.utf8),
            let pending = PendingLogin(
                encrypted: encrypted,
                under: masterKeys,
                for: application.id,
                now: clock.seconds
            ),
            pending.keyLabel == keyLabel
        else { throw .pendingInvalid }
        return pending
    }
}

/// A password reset that waits for a second factor, after the user has opened a mailed link.
package struct PendingLink: Sendable {
    let pending: PendingLogin
    /// The encrypted password reset, which the client sends back together with the second factor.
    package let text: Secret

    package var occasion: FactorOccasion { pending.occasion }
}

extension FirstFactor {
    fileprivate var owner: FactorOwner {
        switch self {
        case .provider(_, joining: .mailbox(let mailbox)): .user(mailbox.user)
        case .provider(let login, _): .identity(login.result.verified.identity)
        case .password(let password), .mailedLink(let password): .user(password.objectID)
        }
    }

    fileprivate var joined: ObjectID? {
        guard case .provider(_, let joined) = self else { return nil }
        return joined?.user
    }
}

extension Failure {
    /// Whether the login failed only because the user must present or enrol a second factor.
    package var isPutOff: Bool { reason == .secondFactorRequired || reason == .secondFactorEnrolmentRequired }

    static let pendingInvalid = Failure(
        .pendingLoginInvalid,
        "This pending login is not valid here, has ended, or has expired. Start again."
    )
}
