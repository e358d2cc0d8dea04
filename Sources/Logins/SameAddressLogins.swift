package import Applications
package import Domain
import Encodings
package import Factors
package import Logging
package import Messaging
import Providers
import Secrets
package import Store

/// A client's request that finishes a login with the e-mail address of an account, already parsed.
package struct SameAddressAnswer: Sendable {
    /// What becomes of the login.
    package enum Choice: Sendable {
        /// The identity is linked to the user of this session, who must have the address.
        case session(SessionToken)
        /// The identity is linked to the account to which this code was mailed.
        ///
        /// If the account's address was not confirmed, the account keeps its identities only with `keepsIdentities`.
        case code(String, keepsIdentities: Bool)
        /// The login creates a user of its own.
        case separate
    }

    /// The encrypted pending login.
    package let pending: String
    package let choice: Choice
    package let idempotencyKey: IdempotencyKey?
    package let keyLabel: String?
    package let source: RequestSource

    package init(
        pending: String,
        choice: Choice,
        idempotencyKey: IdempotencyKey?,
        keyLabel: String?,
        source: RequestSource
    ) {
        self.pending = pending
        self.choice = choice
        self.idempotencyKey = idempotencyKey
        self.keyLabel = keyLabel
        self.source = source
    }
}

/// Finishes first logins by a provider that were put off because an account has the same e-mail address
/// (`account_exists`).
///
/// The address opens nothing (decision D6). The identity is linked to the account only with a session of the account,
/// or with a code that was mailed to it.
///
/// A class, since a struct would be copied into the frame of each async function that waits for a provider.
package final class SameAddressLogins: Sendable {
    let store: Store
    let pendings: PendingLogins
    let checks: FactorChecks
    let completion: LoginCompletion
    let linking: Linking
    let sessions: Sessions
    let log: LoginLog
    let random: RandomSource

    package init(
        store: Store,
        pendings: PendingLogins,
        checks: FactorChecks,
        completion: LoginCompletion,
        linking: Linking,
        sessions: Sessions,
        log: LoginLog,
        random: RandomSource
    ) {
        self.store = store
        self.pendings = pendings
        self.checks = checks
        self.completion = completion
        self.linking = linking
        self.sessions = sessions
        self.log = log
        self.random = random
    }

    /// Mails a code to the account that has the address of a login.
    ///
    /// - Parameters:
    ///   - pending: The encrypted pending login.
    ///   - keyLabel: The label of the request's API key.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    /// - Returns: The masked address, and the expiry of the pending login and of the code in milliseconds since 1970
    ///   UTC.
    /// - Throws: `pending_login_invalid`, also if the account is gone or has another address by now;
    ///   `factor_not_offered` if only a provider gave the account its address; `too_many_attempts` beyond the limits of
    ///   mails; `mail_off`.
    package func mailCode(
        for pending: String,
        by keyLabel: String?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> (sentTo: String?, expires: Int64) {
        let opened = try open(pending, by: keyLabel, in: loaded)
        let account = try await store.storedUser(opened.account, of: loaded.application)?.user
        guard let account, account.hasEmail(opened.email), account.status != .disabled else { throw .pendingInvalid }
        guard try await store.hasOwnAddress(account.objectID, in: loaded.application) else {
            throw Failure(
                .factorNotOffered,
                """
                No code can be mailed to this account, since nobody has confirmed its address. \
                Log in to the account with one of its login methods.
                """
            )
        }
        let sentTo = try await checks.mailCode(
            to: account,
            connecting: loaded.title(of: opened.login.result.verified.identity.provider),
            for: opened.pending.occasion,
            seconds: PendingLogin.sameAddressSeconds,
            from: source,
            in: loaded
        )
        return (sentTo, opened.pending.endsAt * 1000)
    }

    /// Finishes a login that has the e-mail address of an account.
    ///
    /// - Returns: The user. With a session of the account, the session stays the same; else it is a new one.
    /// - Throws: `pending_login_invalid`, `idempotency_key_reused`; the errors of a login; for a session those of
    ///   ``Linking``; for a code `login_invalid`, `too_many_attempts`, `second_factor_required`, `account_disabled`,
    ///   `identity_taken`, `conflict`.
    package func finish(
        _ answer: SameAddressAnswer,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LoginResult {
        let opened = try open(answer.pending, by: answer.keyLabel, in: loaded)
        do throws(Failure) {
            switch answer.choice {
            case .session(let token):
                let step = step(of: opened, by: answer.idempotencyKey, keyLabel: answer.keyLabel, joining: nil)
                let linked = try await link(opened, toUserOf: token.key, by: step, in: loaded, logger: logger)
                return LoginResult(
                    user: linked.user,
                    token: token,
                    created: false,
                    missingPermissions: linked.missingPermissions,
                    omissions: linked.omissions
                )
            case .code(let code, let keepsIdentities):
                let mailbox = LinkTarget.Mailbox(
                    user: opened.account,
                    email: opened.email,
                    keepsIdentities: keepsIdentities
                )
                return try await complete(opened, by: answer, joining: .mailbox(mailbox), in: loaded, logger: logger) {
                    () throws(Failure) in
                    try await checks.checkCode(
                        code,
                        mailedTo: opened.account,
                        for: opened.pending.occasion,
                        from: answer.source,
                        in: loaded
                    )
                }
            case .separate:
                let guest = opened.guest.map(JoinedUser.guest)
                return try await complete(opened, by: answer, joining: guest, in: loaded, logger: logger)
            }
        } catch {
            throw error.ofPendingLogin
        }
    }

    /// Links the identity of a pending login to the user of a session: the user must have the address of the login.
    ///
    /// - Parameters:
    ///   - pending: The encrypted pending login.
    ///   - session: The session.
    ///   - keyLabel: The label of the request's API key.
    ///   - loaded: The application.
    ///   - logger: Gets the outcome.
    /// - Returns: The user.
    /// - Throws: `pending_login_invalid`; the errors of ``Linking``.
    package func link(
        _ pending: String,
        toUserOf session: SessionKey,
        by keyLabel: String?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LinkedUser {
        let opened = try open(pending, by: keyLabel, in: loaded)
        let step = step(of: opened, by: nil, keyLabel: keyLabel, joining: nil)
        do throws(Failure) {
            return try await link(opened, toUserOf: session, by: step, in: loaded, logger: logger)
        } catch {
            throw error.ofPendingLogin
        }
    }

    private func complete(
        _ opened: Opened,
        by answer: SameAddressAnswer,
        joining: JoinedUser?,
        in loaded: LoadedApplication,
        logger: Logger,
        ifAllowedBy check: () async throws(Failure) -> Void = {}
    ) async throws(Failure) -> LoginResult {
        let provider = opened.login.result.verified.identity.provider
        return try await log.telling(of: .code(nil), by: provider, in: loaded, logger) { () throws(Failure) in
            try await check()
            return try await completion.complete(
                opened.login,
                of: opened.pending,
                by: step(of: opened, by: answer.idempotencyKey, keyLabel: answer.keyLabel, joining: joining),
                in: loaded,
                logger: logger
            )
        }
    }

    private func link(
        _ opened: Opened,
        toUserOf session: SessionKey,
        by step: LoginCompletion.Step,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LinkedUser {
        let user = try await sessions.user(of: session, in: loaded)
        guard user.hasEmail(opened.email) else {
            throw Failure(
                .pendingLoginInvalid,
                "The user of this session has another e-mail address than this login. Log in to the other account."
            )
        }
        return try await linking.link(
            AuthenticatedLogin(opened.login.result, mapping: opened.login.mapping, once: step.once),
            in: completion.attempt(of: opened.login, opened.pending, by: step, in: loaded),
            to: user,
            session: session,
            logger: logger
        )
    }

    private func step(
        of opened: Opened,
        by idempotencyKey: IdempotencyKey?,
        keyLabel: String?,
        joining: JoinedUser?
    ) -> LoginCompletion.Step {
        let owner = idempotencyKey?.owner ?? random.bytes(16)
        return LoginCompletion.Step(
            once: .pendingLogin(opened.pending.hash, begunAt: opened.pending.begunAt, owner: owner),
            idempotencyKey: idempotencyKey,
            keyLabel: keyLabel,
            factor: nil,
            joining: joining
        )
    }

    /// A decrypted pending login that has the address of an account.
    private struct Opened {
        let pending: PendingLogin
        let login: VerifiedLogin
        let guest: GuestClaim?
        let email: String
        let account: ObjectID
    }

    private func open(
        _ text: String,
        by keyLabel: String?,
        in loaded: LoadedApplication
    ) throws(Failure) -> Opened {
        let pending = try pendings.opened(text, by: keyLabel, in: loaded.application)
        guard case .sameAddress(let login, let guest, let email) = pending.purpose, let account = pending.user else {
            throw .pendingInvalid
        }
        return Opened(pending: pending, login: login, guest: guest, email: email, account: account)
    }
}

extension Failure {
    /// The failure of a request that finishes a pending login.
    ///
    /// The used value is the pending login. Some errors speak of a credential instead.
    fileprivate var ofPendingLogin: Failure {
        switch reason {
        case .credentialReplayed: .pendingInvalid
        case .credentialRevoked:
            Failure(
                .credentialRevoked,
                "Since this login began, the provider has revoked the access, or the user was erased. Log in again."
            )
        default: self
        }
    }
}

extension User {
    /// Returns whether the user has an e-mail address, in upper or lower case.
    fileprivate func hasEmail(_ address: String) -> Bool {
        email?.lowercased().hasSameBytes(as: address.lowercased()) ?? false
    }
}
