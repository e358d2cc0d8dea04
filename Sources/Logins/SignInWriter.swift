package import Applications
import Crypto
package import Domain
import FoundationEssentials
package import Limiting
import Mapping
import Providers
package import Secrets
package import Store

/// The writer of authenticated logins: identity, user and session in one statement.
package struct SignInWriter: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let random: RandomSource
    let banKey: BanKey
    let pendings: PendingSignIns
    let admission: Admission

    package init(
        store: Store,
        masterKeys: MasterKeys,
        random: RandomSource,
        banKey: BanKey,
        pendings: PendingSignIns,
        admission: Admission
    ) {
        self.store = store
        self.masterKeys = masterKeys
        self.random = random
        self.banKey = banKey
        self.pendings = pendings
        self.admission = admission
    }

    /// Maps the profile of an authenticated user and writes identity, user and session.
    ///
    /// - Throws: The errors of the write; `second_factor_required` and `second_factor_enrolment_required` with the
    ///   pending login, after which nothing is written.
    func complete(
        _ login: AuthenticatedLogin,
        by plan: LoginPlan,
        in attempt: LoginAttempt
    ) async throws(Failure) -> StatementOutcome<SignedIn> {
        let session = sessionToken(for: login, in: attempt)
        let guest = attempt.request.guest
        let linking = guest.map { LinkTarget.guest($0.id, tokenHash: $0.token.hash) }
        let stage = LoginStage.mapping.begin()
        let mapped = try plan.mapping.apply(to: login.result.profile, grantedScopes: login.result.person.scopes)
        stage.end()
        let began = ContinuousClock.now
        let written: StatementOutcome<WrittenSignIn>
        do throws(Failure) {
            written = try await write(mapped, of: login, session: session, linking: linking, by: plan, in: attempt)
        } catch {
            if error.reason == .credentialReplayed { try await refuseOtherRequest(login, in: attempt) }
            throw try await putOff(error, login, guest: guest, since: began, in: attempt)
        }
        return written.map { written in
            SignedIn(
                user: written.user,
                token: session,
                created: written.created,
                missingPermissions: mapped.missingPermissions,
                omissions: mapped.omissions
            )
        }
    }

    /// Writes an authenticated login for the identity's user, or for the user to whom the identity is being linked.
    func write(
        _ mapped: MappedProfile,
        of login: AuthenticatedLogin,
        session: SessionToken,
        linking: LinkTarget?,
        by plan: LoginPlan,
        in attempt: LoginAttempt
    ) async throws(Failure) -> StatementOutcome<WrittenSignIn> {
        let application = attempt.loaded.application
        let invitation = application.invitationClaim(attempt.invitation(with: login))
        if !plan.mapping.newDynamicNames.isEmpty {
            // A refused or pending login writes nothing, but a statement of its own registers the dynamic names. Only
            // linking to the session of a user never becomes a pending login.
            if login.factor == nil, linking?.isOfSession != true {
                let device = attempt.request.client.deviceHash
                let identity = login.result.person.identity
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
        let write = SignInWrite(
            person: login.result.person,
            banHash: try await banKey.hasher(of: application.id)(login.result.person.identity),
            freshID: login.freshID ?? random.objectID(),
            tokenHash: session.hash,
            previousTokenHash: attempt.request.previousToken?.hash,
            sessionSeconds: application.settings.sessionAbsoluteSeconds,
            values: plan.columnValues(of: mapped),
            cleared: mapped.cleared,
            dynamic: plan.dynamicValues(of: mapped),
            token: tokenToKeep(of: login.result, in: attempt.loaded),
            once: login.once,
            factor: login.factor,
            deviceHash: attempt.request.client.deviceHash,
            invitation: invitation
        )
        let statement =
            login.factor.map { plan.finishingStatement(by: $0.kind) }
            ?? (login.once != nil ? plan.singleUseStatement : plan.statement)
        let stage = LoginStage.write.begin()
        defer { stage.end() }
        return try await admission.write(of: application) { () throws(Failure) in
            guard let linking else { return try await store.signIn(write, by: statement, deadline: attempt.end) }
            return try await store.signIn(write, by: statement, linking: linking)
        }
    }

    /// Returns the failure of a login that needs a second factor, with the pending login; any other failure unchanged.
    ///
    /// At that point, the login has used up a single-use credential. The transaction of a guest or of an invited user
    /// was rolled back, so this method uses up the credential for it.
    func putOff(
        _ failure: Failure,
        _ login: AuthenticatedLogin,
        guest: GuestClaim?,
        since began: ContinuousClock.Instant,
        in attempt: LoginAttempt
    ) async throws(Failure) -> Failure {
        guard failure.isPutOff else { return failure }
        let request = attempt.request
        let invitation = attempt.invitation(with: login)
        let application = attempt.loaded.application
        if guest != nil || application.invitationClaim(invitation) != nil, let once = login.once {
            guard try await store.use(once, of: application) else { throw .credentialReplayed }
        }
        let vouched = VouchedLogin(
            result: login.result,
            mapping: login.mapping,
            codeChallenge: nil,
            invitation: invitation
        )
        return try await pendings.putOff(
            failure,
            .provider(vouched, guest: guest),
            by: request.client,
            previousToken: request.previousToken,
            since: began,
            in: attempt.loaded
        )
    }

    /// Refuses a credential with a specific error if another request under the same `Idempotency-Key` has used it up.
    ///
    /// - Throws: `idempotency_key_reused`.
    private func refuseOtherRequest(_ login: AuthenticatedLogin, in attempt: LoginAttempt) async throws(Failure) {
        guard let key = attempt.request.idempotencyKey, let once = login.once,
            let owner = try await store.owner(of: .credential, hash: once.hash, in: attempt.loaded.application)
        else { return }
        try key.requireSameRequest(as: owner)
    }

    /// Returns the provider token, encrypted for the database; nil if the application keeps none.
    private func tokenToKeep(of result: AuthenticationResult, in loaded: LoadedApplication) -> SealedToken? {
        let identity = result.person.identity
        guard loaded.tokenPolicy(of: identity.provider) != nil, let token = result.token else { return nil }
        return masterKeys.seal(token, with: identity, of: loaded.application.id)
    }
}

extension LoginAttempt {
    /// Returns the invitation that a new user presents, in the request or in an earlier step of the login.
    fileprivate func invitation(with login: AuthenticatedLogin) -> InvitationToken? {
        request.invitation ?? login.invitation
    }
}

// With a single-use credential, a lost response would leave a client without its session. So a client may send an
// `Idempotency-Key` with a login. The same request under the same key, within a minute, is the same login and gets the
// same session; another request under the key is refused with a specific error. Only hashes are stored for that: the
// session token is derived, not stored.

extension SignInWriter {
    /// Returns the token of the session that a login opens.
    ///
    /// The token is random. For a repeatable login it is derived, and indistinguishable from a random token without the
    /// master key.
    func sessionToken(for login: AuthenticatedLogin, in attempt: LoginAttempt) -> SessionToken {
        sessionToken(of: login.once, isRepeatable: attempt.request.idempotencyKey != nil, in: attempt.loaded)
    }

    /// Returns the token of the session for a single-use credential, derived if the client may repeat the request.
    func sessionToken(of once: SingleUse?, isRepeatable: Bool, in loaded: LoadedApplication) -> SessionToken {
        guard isRepeatable, let owner = once?.owner else { return random.sessionToken() }
        let key = masterKeys.current.derivedKey(for: "federation: sessions of repeated logins")
        let application = Array(loaded.application.id.text.utf8)
        return SessionToken(random: Array(HMAC<SHA256>.authenticationCode(for: owner + application, using: key)))
    }
}
