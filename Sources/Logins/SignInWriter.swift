package import Applications
import Crypto
import FoundationEssentials
import KeptTokens
package import Limiting
import Mapping
import Providers
package import Secrets
package import Store
package import Vocabulary

/// Writes who has been authenticated: identity, user and session in one statement.
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

    /// Maps the profile of an authenticated person and writes identity, user and session.
    ///
    /// - Throws: What the write throws; `second_factor_required` and `second_factor_enrolment_required` with the
    ///   pending sign-in, nothing being written then.
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

    /// Writes an authenticated person: as themselves, or onto the user to whom the identity is linked.
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
            // A login that is refused or put off leaves nothing, and names are kept in a statement of their own. Only
            // what is linked to a user's own session is never put off.
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

    /// The failure of a login that a second factor stands in the way of, with what it takes to go on; every other one
    /// as it is.
    ///
    /// A credential that counts once has been used by then; of the login of a guest, or of somebody who was invited,
    /// whose transaction is undone, it is used here.
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

    /// Refuses a credential by name that another request under the same `Idempotency-Key` has used up.
    ///
    /// - Throws: `idempotency_key_reused`.
    private func refuseOtherRequest(_ login: AuthenticatedLogin, in attempt: LoginAttempt) async throws(Failure) {
        guard let key = attempt.request.idempotencyKey, let once = login.once,
            let owner = try await store.owner(of: .credential, hash: once.hash, in: attempt.loaded.application)
        else { return }
        try key.requireSameRequest(as: owner)
    }

    /// The provider token as it is kept; nil where the application keeps none.
    private func tokenToKeep(of result: AuthenticationResult, in loaded: LoadedApplication) -> SealedToken? {
        let identity = result.person.identity
        guard loaded.tokenPolicy(of: identity.provider) != nil, let token = result.token else { return nil }
        return masterKeys.seal(token, with: identity, of: loaded.application.id)
    }
}

extension LoginAttempt {
    /// The invitation that a new person presents, in the request or in an earlier step of the login.
    fileprivate func invitation(with login: AuthenticatedLogin) -> InvitationToken? {
        request.invitation ?? login.invitation
    }
}

// A credential that counts once would leave a client without its session when the reply is lost. So the client may give
// a login a key of its own (`Idempotency-Key`): the same request under the same key, within a minute, is the same
// login, and is answered with the same session; another request under it is refused by name. Nothing is kept for that
// but hashes: the session's token is derived, not stored.

extension SignInWriter {
    /// The token of the session that a login opens: a random one, and for a login that may come again one that nobody
    /// without the master key can tell from it.
    func sessionToken(for login: AuthenticatedLogin, in attempt: LoginAttempt) -> SessionToken {
        sessionToken(of: login.once, isRepeatable: attempt.request.idempotencyKey != nil, in: attempt.loaded)
    }

    /// The same for what counts once, and may come again under a key of the client's.
    func sessionToken(of once: SingleUse?, isRepeatable: Bool, in loaded: LoadedApplication) -> SessionToken {
        guard isRepeatable, let owner = once?.owner else { return random.sessionToken() }
        let key = masterKeys.current.derivedKey(for: "federation: sessions of repeated logins")
        let application = Array(loaded.application.id.text.utf8)
        return SessionToken(random: Array(HMAC<SHA256>.authenticationCode(for: owner + application, using: key)))
    }
}
