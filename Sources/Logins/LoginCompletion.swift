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
    /// If the login links the identity to an account whose mailbox the client can read, a mail tells the user. If the
    /// account loses identities then, their providers are asked to withdraw our permissions.
    ///
    /// - Throws: The errors of a login.
    func complete(
        _ verified: VerifiedLogin,
        of pending: PendingLogin,
        by step: Step,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LoginResult {
        var (guest, mailbox): (GuestClaim?, LinkTarget.Mailbox?) = (nil, nil)
        switch step.joining {
        case .guest(let claim): guest = claim
        case .mailbox(let read): mailbox = read
        case nil: break
        }
        let login = AuthenticatedLogin(
            verified.result,
            mapping: verified.mapping,
            once: step.once,
            factor: step.factor,
            freshID: pending.isUserThere ? nil : pending.user,
            invitation: verified.invitation,
            mailbox: mailbox,
            hasBeenAsked: true
        )
        let attempt = attempt(of: verified, pending, by: step, guest: guest, in: loaded)
        let result = try await admission.admit(loaded.application.id) { () throws(Failure) in
            try await authenticator.withAuthentication(login, in: attempt) {
                (login, plan, attempt) throws(Failure) in
                try await writer.complete(login, by: plan, in: attempt)
            }
        }
        if mailbox != nil { await tell(of: result, by: verified, in: loaded, logger: logger) }
        return result
    }

    func attempt(
        of verified: VerifiedLogin,
        _ pending: PendingLogin,
        by step: Step,
        guest: GuestClaim? = nil,
        in loaded: LoadedApplication
    ) -> LoginAttempt {
        LoginAttempt(
            request: LoginRequest(
                provider: verified.result.verified.identity.provider,
                credential: CredentialFields(),
                mapping: verified.mapping,
                appID: nil,
                previousToken: pending.previousToken,
                client: LoginClient(keyLabel: step.keyLabel, trustedDevice: nil),
                idempotencyKey: step.idempotencyKey,
                guest: guest
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
        if result.linked {
            let provider = loaded.title(of: verified.result.verified.identity.provider)
            let mail = Mail.identityLinked(provider: provider, name: user.name)
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
