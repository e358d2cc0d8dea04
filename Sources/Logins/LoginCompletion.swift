package import Applications
import Domain
package import Limiting
import Logging
package import Messaging
import Providers
import Store

/// Completes logins by a provider that were put off after the provider had verified them.
///
/// A class, since a struct would be copied into the frame of each async function that waits for a provider.
package final class LoginCompletion: Sendable {
    let authenticator: Authenticator
    let writer: LoginWriter
    let notices: Notices
    let revoker: PermissionRevoker
    let admission: Admission
    let limits: Limits

    package init(
        authenticator: Authenticator,
        writer: LoginWriter,
        notices: Notices,
        revoker: PermissionRevoker,
        admission: Admission,
        limits: Limits
    ) {
        self.authenticator = authenticator
        self.writer = writer
        self.notices = notices
        self.revoker = revoker
        self.admission = admission
        self.limits = limits
    }

    /// The step of the user by which a login that was put off is complete.
    struct Step {
        /// The pending login as a single-use value.
        let once: SingleUse
        let idempotencyKey: IdempotencyKey?
        let keyLabel: String?
        /// The second factor, if the login waited for one.
        let factor: FactorProof?
        /// The existing user to whom the identity is linked, if it is new.
        let joining: JoinedUser?
    }

    /// Writes the identity, the user and the session of a login that was put off.
    ///
    /// If the login links the identity to an account because of a mailed code, a mail tells the user. If the account
    /// loses identities by that, their providers are asked to withdraw the permissions of their apps.
    ///
    /// - Throws: The errors of a login.
    func complete(
        _ verified: VerifiedLogin,
        of pending: PendingLogin,
        by step: Step,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LoginResult {
        // The operator may have removed the app since the login began.
        let identity = verified.result.verified.identity
        try loaded.provider(identity.provider).requireApp(of: identity)
        // If the login links its identity to an account, a factor that was enrolled for a new user does not count.
        let dialogFactor = step.joining == nil ? verified.factor : nil
        let login = AuthenticatedLogin(
            verified.result,
            mapping: verified.mapping,
            once: step.once,
            factor: step.factor ?? dialogFactor?.proof,
            freshID: pending.isUserThere ? dialogFactor?.freshID : pending.user,
            invitation: verified.invitation,
            joining: step.joining,
            hasBeenAsked: true
        )
        let attempt = attempt(of: verified, pending, by: step, in: loaded)
        let result = try await admission.admit(loaded.application.id) { () throws(Failure) in
            try await authenticator.withAuthentication(login, in: attempt) {
                (login, plan, attempt) throws(Failure) in
                try await writer.complete(login, by: plan, in: attempt)
            }
        }
        if case .mailbox = step.joining { await tell(of: result, by: verified, in: loaded, logger: logger) }
        return result
    }

    /// Returns the attempt that completes a login which was put off.
    func attempt(
        of verified: VerifiedLogin,
        _ pending: PendingLogin,
        by step: Step,
        in loaded: LoadedApplication
    ) -> LoginAttempt {
        LoginAttempt(
            request: LoginRequest(
                provider: verified.result.verified.identity.provider,
                credential: CredentialFields(),
                mapping: verified.mapping,
                appID: nil,
                previousSession: pending.previousSession,
                client: LoginClient(keyLabel: step.keyLabel, trustedDevice: nil),
                idempotencyKey: step.idempotencyKey
            ),
            loaded: loaded,
            end: .now + limits.login,
            limits: limits
        )
    }

    private func tell(
        of result: LoginResult,
        by verified: VerifiedLogin,
        in loaded: LoadedApplication,
        logger: Logger
    ) async {
        let user = result.user
        let provider = verified.result.verified.identity.provider
        if result.linked {
            logger.notice(
                "account opened by a mailed code",
                metadata: [
                    "application": "\(loaded.application.id)", "user": "\(user.objectID)", "provider": "\(provider)",
                ]
            )
            let mail = Mail.identityLinked(provider: loaded.title(of: provider), name: user.name)
            await notices.notify(mail, about: user, in: loaded, logger: logger)
        }
        _ = await revoker.revokePermissions(
            by: result.lost,
            formerlyOf: user.objectID,
            in: loaded,
            actor: ChangeAuthor(name: "user:\(user.objectID)", source: "account code")
        )
    }
}
