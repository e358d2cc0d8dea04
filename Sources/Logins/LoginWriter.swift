package import Applications
import Crypto
package import Domain
import Encodings
import FoundationEssentials
package import Limiting
import Mapping
import Providers
package import Secrets
package import Store

/// Writes authenticated logins to the database.
///
/// One SQL statement writes the identity, the user and the session.
package struct LoginWriter: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let random: RandomSource
    let banKey: BanKey
    let pendings: PendingLogins
    let admission: Admission
    let claims: ClaimOffers

    package init(
        store: Store,
        masterKeys: MasterKeys,
        random: RandomSource,
        banKey: BanKey,
        pendings: PendingLogins,
        admission: Admission,
        claims: ClaimOffers
    ) {
        self.store = store
        self.masterKeys = masterKeys
        self.random = random
        self.banKey = banKey
        self.pendings = pendings
        self.admission = admission
        self.claims = claims
    }

    /// Maps the profile of an authenticated user and writes the identity, the user and the session.
    ///
    /// - Throws: The errors of the write. If the login needs a second factor, or if the application asks about an
    ///   account with the same address, nothing is written: then `second_factor_required`,
    ///   `second_factor_enrolment_required` or `account_exists` has the pending login.
    func complete(
        _ login: AuthenticatedLogin,
        by plan: LoginPlan,
        in attempt: LoginAttempt
    ) async throws(Failure) -> StatementOutcome<LoginResult> {
        let session = sessionToken(for: login, in: attempt)
        let joining = login.joining ?? attempt.request.guest.map(JoinedUser.guest)
        let stage = LoginStage.mapping.begin()
        let mapped = try plan.mapping.apply(to: login.result.profile, grantedScopes: login.result.verified.scopes)
        stage.end()
        let began = ContinuousClock.now
        let refreshToken = attempt.request.client.usesRefreshTokens ? RefreshToken(by: random) : nil
        let opened = WrittenSession(key: session.key, refreshToken: refreshToken)
        let written: StatementOutcome<WrittenLogin>
        do throws(Failure) {
            written = try await writeUnlessRefused(
                mapped,
                of: login,
                opened,
                joining: joining,
                by: plan,
                in: attempt
            )
        } catch {
            if error.reason == .credentialReplayed { try await refuseOtherRequest(login, in: attempt) }
            throw try await putOff(error, login, joining: joining, since: began, in: attempt)
        }
        var isConfirmed = false
        if case .done(let written) = written {
            isConfirmed = await confirmAddress(of: written.user, by: login, in: attempt)
        }
        return written.map { written in
            var (user, facts) = (written.user, written.session)
            if isConfirmed { user.emailVerified = true }
            facts?.account.user = user
            // A user who has just answered is not asked again by mail.
            if written.created, !login.hasBeenAsked || attempt.loaded.application.settings.sameAddress == .separate {
                claims.offer(to: user, of: attempt.request.provider, in: attempt.loaded)
            }
            return LoginResult(
                user: user,
                token: session,
                created: written.created,
                linked: written.linked,
                lost: written.lost,
                missingPermissions: mapped.missingPermissions,
                omissions: mapped.omissions,
                verified: login.result.verified,
                refreshed: RefreshedSession(refreshToken, facts)
            )
        }
    }

    /// The session of a login: a new one, or the one that links an identity.
    struct WrittenSession {
        let key: SessionKey
        /// The first refresh token of a new session; nil if the client uses no refresh tokens.
        var refreshToken: RefreshToken?
    }

    /// Writes an authenticated login to the database, unless a rule about unknown identities refuses it.
    ///
    /// - Throws: `login_unknown`, `account_exists`; the errors of the write.
    private func writeUnlessRefused(
        _ mapped: MappedProfile,
        of login: AuthenticatedLogin,
        _ session: WrittenSession,
        joining: JoinedUser?,
        by plan: LoginPlan,
        in attempt: LoginAttempt
    ) async throws(Failure) -> StatementOutcome<WrittenLogin> {
        let refusesUnknown = attempt.request.ifUnknown == .refused
        let email = addressToAskAbout(in: mapped, of: login, by: plan, in: attempt)
        // Most logins are of known identities, so they are written without a question before. A single-use credential
        // would be used up by that, and a new dynamic name would be registered.
        if refusesUnknown || email != nil, login.once == nil, joining == nil, plan.mapping.newDynamicNames.isEmpty,
            attempt.invitation(with: login) == nil
        {
            do throws(Failure) {
                return try await write(
                    mapped,
                    of: login,
                    session,
                    linking: nil,
                    refusesUnknown: true,
                    by: plan,
                    in: attempt
                )
            } catch {
                guard error.reason == .loginUnknown, !refusesUnknown else { throw error }
            }
        } else if refusesUnknown {
            try await requireKnown(login, in: attempt)
        }
        if let email { try await askAboutAccount(withAddress: email, login, in: attempt) }
        return try await write(
            mapped,
            of: login,
            session,
            linking: joining?.target,
            // An identity that was erased since the check stays unknown.
            refusesUnknown: refusesUnknown && joining == nil,
            by: plan,
            in: attempt
        )
    }

    /// Returns the e-mail address of the login, if the application asks about an account with the address.
    private func addressToAskAbout(
        in mapped: MappedProfile,
        of login: AuthenticatedLogin,
        by plan: LoginPlan,
        in attempt: LoginAttempt
    ) -> String? {
        // Only an address that the provider calls the user's counts. A client's mapping could read any text.
        let asks = attempt.loaded.application.settings.sameAddress == .ask || attempt.request.ifUnknown == .asking
        guard asks, !login.hasBeenAsked, let email = plan.email(of: mapped),
            let given = login.result.profile.fields["email"]?.string.flatMap({ EmailAddress($0) }),
            EmailAddress(email)?.login.hasSameBytes(as: given.login) == true
        else { return nil }
        return email
    }

    /// Refuses a login of an unknown identity.
    ///
    /// - Throws: `login_unknown`.
    private func requireKnown(_ login: AuthenticatedLogin, in attempt: LoginAttempt) async throws(Failure) {
        guard try await store.isKnown(login.result.verified.identity, in: attempt.loaded.application) else {
            throw .loginUnknown
        }
    }

    /// Marks the user's e-mail address as confirmed if the provider owns the address and confirms it (decision D6).
    ///
    /// The login is written already. If this fails, the next login of the user confirms the address.
    ///
    /// - Returns: Whether the address is confirmed now.
    private func confirmAddress(
        of user: User,
        by login: AuthenticatedLogin,
        in attempt: LoginAttempt
    ) async -> Bool {
        guard let address = login.result.confirmedAddress, !user.emailVerified,
            user.email?.lowercased().hasSameBytes(as: address.lowercased()) == true
        else { return false }
        let identity = login.result.verified.identity
        let isConfirmed = try? await store.confirmAddress(
            address,
            of: user.objectID,
            by: identity,
            in: attempt.loaded.application,
            actor: .provider(identity.provider, by: "login")
        )
        return isConfirmed == true
    }

    /// Writes an authenticated login to the database.
    ///
    /// If the identity is being linked to a user, writes the login for this user. Otherwise, writes it for the user to
    /// whom the identity belongs.
    ///
    /// - Parameters:
    ///   - mapped: The mapped profile.
    ///   - login: The login.
    ///   - session: The session of the login.
    ///   - linking: The user to whom the identity is being linked.
    ///   - refusesUnknown: Whether an unknown identity is refused with `login_unknown`.
    ///   - plan: The plan of the login.
    ///   - attempt: The attempt.
    /// - Returns: The user after the login.
    /// - Throws: The errors of ``Store``'s logins.
    func write(
        _ mapped: MappedProfile,
        of login: AuthenticatedLogin,
        _ session: WrittenSession,
        linking: LinkTarget?,
        refusesUnknown: Bool = false,
        by plan: LoginPlan,
        in attempt: LoginAttempt
    ) async throws(Failure) -> StatementOutcome<WrittenLogin> {
        let application = attempt.loaded.application
        let invitation = application.invitationClaim(attempt.invitation(with: login))
        if !plan.mapping.newDynamicNames.isEmpty {
            // The registration of dynamic names is a statement of its own. So a login that will be refused or become
            // pending must end before it. A login that links to the session of a user never becomes pending.
            if case .mailbox(let mailbox) = linking {
                try await store.requireOpening(of: mailbox, showing: login.factor, in: application)
            }
            if login.factor == nil, linking?.isOfAccount != true {
                let device = attempt.request.client.deviceHash
                let identity = login.result.verified.identity
                if application.settings.newUsers != .open || invitation != nil,
                    try await !store.isKnown(identity, in: application)
                {
                    try await store.requireAdmission(by: invitation, or: identity, to: application)
                }
                if let demand = try await store.factorDemand(of: identity, deviceHash: device, in: application) {
                    throw demand
                }
            }
            try await store.registerDynamicNames(plan.mapping.newDynamicNames, of: application.id)
        }
        let write = LoginWrite(
            verified: login.result.verified,
            banHash: try await banKey.hasher(of: application.id)(login.result.verified.identity),
            freshID: login.freshID ?? random.objectID(),
            tokenHash: session.key.hash,
            previousTokenHash: attempt.request.previousSession?.hash,
            sessionSeconds: application.settings.sessionAbsoluteSeconds,
            values: plan.columnValues(of: mapped),
            cleared: mapped.cleared,
            dynamic: plan.dynamicValues(of: mapped),
            token: tokenToKeep(of: login.result, in: attempt.loaded),
            once: login.once,
            factor: login.factor,
            deviceHash: attempt.request.client.deviceHash,
            invitation: invitation,
            refreshToken: session.refreshToken?.stored
        )
        let statement = plan.statement(
            LoginStatement.Variant(
                login.factor.map { .finishing($0.kind) } ?? (login.once != nil ? .once : .repeated),
                opensRefreshFamily: session.refreshToken != nil,
                refusesUnknown: refusesUnknown
            )
        )
        let stage = LoginStage.write.begin()
        defer { stage.end() }
        return try await admission.write(of: application) { () throws(Failure) in
            guard let linking else { return try await store.login(write, by: statement, deadline: attempt.end) }
            return try await store.login(write, by: statement, linking: linking)
        }
    }

    /// Adds the pending login to the failure of a login that needs a second factor.
    ///
    /// If the failure has another reason, returns it unchanged.
    ///
    /// The refused login has usually used up its single-use credential. An exception is a login that joins an existing
    /// user, or one of an invited user: its transaction was rolled back, so the credential is unused again. Then this
    /// method uses up the credential.
    func putOff(
        _ failure: Failure,
        _ login: AuthenticatedLogin,
        joining: JoinedUser?,
        since began: ContinuousClock.Instant,
        in attempt: LoginAttempt
    ) async throws(Failure) -> Failure {
        guard failure.isPutOff else { return failure }
        let request = attempt.request
        let invitation = attempt.invitation(with: login)
        let application = attempt.loaded.application
        if joining != nil || application.invitationClaim(invitation) != nil, let once = login.once {
            guard try await store.use(once, of: application) else { throw .credentialReplayed }
        }
        return try await pendings.putOff(
            failure,
            .provider(login.verified(with: invitation), joining: joining),
            by: request.client,
            previousSession: request.previousSession,
            since: began,
            in: attempt.loaded
        )
    }

    /// Puts a first login off whose e-mail address an account has, if the application asks then.
    ///
    /// This uses up a single-use credential: the pending login takes its place.
    ///
    /// - Throws: `account_exists` with the pending login.
    private func askAboutAccount(
        withAddress email: String,
        _ login: AuthenticatedLogin,
        in attempt: LoginAttempt
    ) async throws(Failure) {
        let application = attempt.loaded.application
        let identity = login.result.verified.identity
        let found = try await store.account(
            withAddress: email,
            unlessKnown: identity,
            orBanned: try await banKey.hasher(of: application.id)(identity),
            in: application
        )
        guard let found else { return }
        // A client that cannot go on with the pending login sends the credential once more, to link it.
        if attempt.request.ifUnknown != .asking, let once = login.once,
            try await !store.use(once, of: application)
        {
            throw .credentialReplayed
        }
        throw try await pendings.accountExists(
            login.verified(with: attempt.invitation(with: login)),
            account: found.account,
            // A credential that was revoked before the question stays revoked.
            begunAt: login.once?.issuedAt.laterBySecond ?? found.now,
            guest: attempt.request.guest,
            by: attempt.request.client,
            previousSession: attempt.request.previousSession,
            in: attempt.loaded
        )
    }

    /// Throws a specific error if the credential was used up by a different request under the same `Idempotency-Key`.
    ///
    /// - Throws: `idempotency_key_reused`.
    private func refuseOtherRequest(_ login: AuthenticatedLogin, in attempt: LoginAttempt) async throws(Failure) {
        guard let key = attempt.request.idempotencyKey, let once = login.once,
            let owner = try await store.owner(of: .credential, hash: once.hash, in: attempt.loaded.application)
        else { return }
        try key.requireSameRequest(as: owner)
    }

    /// Returns the provider's token, encrypted for the database; nil if the service stores none.
    private func tokenToKeep(of result: AuthenticationResult, in loaded: LoadedApplication) -> EncryptedToken? {
        let identity = result.verified.identity
        guard loaded.tokenPolicy(of: identity.provider) != nil, let token = result.token else { return nil }
        return masterKeys.encrypt(token, with: identity, of: loaded.application.id)
    }
}

extension AuthenticatedLogin {
    fileprivate func verified(with invitation: InvitationToken?) -> VerifiedLogin {
        VerifiedLogin(
            result: result,
            mapping: mapping,
            codeChallenge: nil,
            factor: dialogFactor,
            invitation: invitation
        )
    }
}

extension LoginAttempt {
    /// The invitation that the user presents in this request; otherwise, the one from an earlier step of the login.
    fileprivate func invitation(with login: AuthenticatedLogin) -> InvitationToken? {
        request.invitation ?? login.invitation
    }
}

// With a single-use credential, a client whose response is lost would have no session and no second attempt. So a
// client may send an `Idempotency-Key` with a login. The same request under the same key, within a minute, counts as
// the same login and gets the same session. A different request under that key is refused with a specific error. The
// database stores only hashes for this, since the session token can be derived again.

extension LoginWriter {
    /// Returns the token of the session that a login opens.
    ///
    /// If the request has an `Idempotency-Key` and the credential is single-use, the token is derived with the master
    /// key, so that a retry gets the same token. Otherwise, the token is random. Only a holder of the master key can
    /// tell a derived token from a random one.
    func sessionToken(for login: AuthenticatedLogin, in attempt: LoginAttempt) -> SessionToken {
        sessionToken(of: login.once, isRepeatable: attempt.request.idempotencyKey != nil, in: attempt.loaded)
    }

    /// Returns the token of a new session.
    ///
    /// If a single-use credential is given and the client may repeat the request, the token is derived with the master
    /// key. Otherwise, the token is random.
    func sessionToken(of once: SingleUse?, isRepeatable: Bool, in loaded: LoadedApplication) -> SessionToken {
        guard isRepeatable, let owner = once?.owner else { return random.sessionToken() }
        let key = masterKeys.current.derivedKey(for: "federation: sessions of repeated logins")
        let application = Array(loaded.application.id.text.utf8)
        return SessionToken(random: Array(HMAC<SHA256>.authenticationCode(for: owner + application, using: key)))
    }
}
