package import Applications
package import Domain
package import Limiting
package import Logging
package import Mapping
package import Messaging
import Providers
package import Store

/// A user after an identity has been linked.
package struct LinkedUser: Sendable {
    package let user: User
    /// Whether the identity is new to the account.
    ///
    /// If it is not, the request has only authenticated the user again.
    package let isNew: Bool
    /// The permissions that the mapping needs and the user did not grant at the provider.
    ///
    /// Properties that need these permissions stayed unfilled.
    package let missingPermissions: [String]
    /// The parts of the provider's profile that were not written, since they do not fit the user's properties.
    package let omissions: [Omission]
    /// The user as the provider described them.
    package let verified: VerifiedIdentity
}

/// The use case that links and unlinks login methods of users.
package struct Linking: Sendable {
    let store: Store
    let sessions: Sessions
    let authenticator: Authenticator
    let writer: LoginWriter
    let notices: Notices
    let revoker: PermissionRevoker
    let admission: Admission
    let events: EventLog
    let limits: Limits

    package init(
        store: Store,
        sessions: Sessions,
        authenticator: Authenticator,
        writer: LoginWriter,
        notices: Notices,
        revoker: PermissionRevoker,
        admission: Admission,
        events: EventLog,
        limits: Limits
    ) {
        self.store = store
        self.sessions = sessions
        self.authenticator = authenticator
        self.writer = writer
        self.notices = notices
        self.revoker = revoker
        self.admission = admission
        self.events = events
        self.limits = limits
    }

    /// Links an identity to the user of a session.
    ///
    /// The request contains a provider's credential, which shows that the user has the identity.
    ///
    /// An identity that already belongs to another user is refused. The e-mail address of an identity never decides to
    /// which user the identity is linked (decision D6).
    ///
    /// The mapping writes the same properties as a login by that identity. The only difference: mapping rules that
    /// apply only to the first login fill only empty properties.
    ///
    /// A new identity needs a session whose user was authenticated within the last five minutes. Otherwise, a thief
    /// with a stolen session could link an identity of their own. If the user already has the identity, its credential
    /// authenticates the user anew.
    ///
    /// Linking makes a guest a user with an identity. If the application then requires a second factor, the request
    /// becomes a pending login of the guest. When the guest has presented or enrolled the second factor, the login and
    /// the linking are complete.
    ///
    /// - Throws: The errors of a login; `session_invalid`, `identity_taken`, `reauthentication_required`.
    package func link(
        _ request: LoginRequest,
        toUserOf token: SessionKey?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LinkedUser {
        // Only a live session may cause requests to the provider or use up a credential.
        let (before, token) = try await sessions.session(of: token, in: loaded)
        let attempt = LoginAttempt(request: request, loaded: loaded, end: .now + limits.login, limits: limits)
        return try await logging(in: attempt, to: before, logger: logger) { () throws(Failure) in
            try await authenticator.withAuthentication(of: attempt) { (login, plan, attempt) throws(Failure) in
                try await link(login, by: plan, to: before.objectID, session: token, in: attempt)
            }
        }
    }

    /// Links an identity that the provider has verified already to the user of a session.
    ///
    /// - Throws: As `link(_:toUserOf:in:logger:)`.
    func link(
        _ login: AuthenticatedLogin,
        in attempt: LoginAttempt,
        to before: User,
        session token: SessionKey,
        logger: Logger
    ) async throws(Failure) -> LinkedUser {
        try await logging(in: attempt, to: before, logger: logger) { () throws(Failure) in
            try await authenticator.withAuthentication(login, in: attempt) { (login, plan, attempt) throws(Failure) in
                try await link(login, by: plan, to: before.objectID, session: token, in: attempt)
            }
        }
    }

    /// Calls `body`, which links an identity to a user; logs the outcome, and mails the user about a new identity.
    private func logging(
        in attempt: LoginAttempt,
        to before: User,
        logger: Logger,
        _ body: () async throws(Failure) -> LinkedUser
    ) async throws(Failure) -> LinkedUser {
        let (loaded, provider) = (attempt.loaded, attempt.request.provider)
        let facts: Logger.Metadata = ["provider": "\(provider)", "user": "\(before.objectID)"]
        let linked = try await events.logging(
            "link",
            of: loaded,
            logger,
            with: facts,
            omissions: \.omissions,
            user: \.user.objectID
        ) {
            () async throws(Failure) -> LinkedUser in
            try await admission.admit(loaded.application.id, body)
        }
        if linked.isNew {
            let mail = Mail.identityLinked(provider: loaded.title(of: provider), name: before.name)
            await notices.notify(mail, about: before, in: loaded, logger: logger)
        }
        return linked
    }

    private func link(
        _ login: AuthenticatedLogin,
        by plan: LoginPlan,
        to user: ObjectID,
        session token: SessionKey,
        in attempt: LoginAttempt
    ) async throws(Failure) -> StatementOutcome<LinkedUser> {
        let mapped = try plan.mapping.apply(to: login.result.profile, grantedScopes: login.result.verified.scopes)
        let began = ContinuousClock.now
        let written: StatementOutcome<WrittenLogin>
        do throws(Failure) {
            written = try await writer.write(
                mapped,
                of: login,
                LoginWriter.WrittenSession(key: token),
                linking: .session(tokenHash: token.hash, authenticatedWithin: Sessions.reauthenticationSeconds),
                by: plan,
                in: attempt
            )
        } catch {
            // Only the login of a guest becomes pending.
            let guest = JoinedUser.guest(GuestClaim(id: user, session: token))
            let failure = try await writer.putOff(error, login, joining: guest, since: began, in: attempt)
            throw failure.reason == .identityTaken ? failure.of(login.result.verified) : failure
        }
        return written.map { written in
            LinkedUser(
                user: written.user,
                isNew: written.linked,
                missingPermissions: mapped.missingPermissions,
                omissions: mapped.omissions,
                verified: login.result.verified
            )
        }
    }

    /// Returns the login methods that the user of a session has.
    package func loginMethods(
        ofUserOf token: SessionKey?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [LoginMethod] {
        let (user, token) = try await sessions.session(of: token, in: loaded)
        return try await store.loginMethods(of: user.objectID, session: token.hash, in: loaded.application)
    }

    /// Unlinks a login method, which is an identity or the password, from the user of a session.
    ///
    /// Ends the sessions that the login method opened, except the session of the request. If the service keeps a token
    /// of the identity, it also asks the provider to withdraw the permissions that the user granted to the app. The
    /// service tells the user by a mail, with a link that restores the login method.
    ///
    /// - Parameters:
    ///   - method: The login method to unlink.
    ///   - token: The session of the user.
    ///   - loaded: The application.
    ///   - logger: Gets one line.
    /// - Throws: `session_invalid`, `not_found`, `last_login_method`; `reauthentication_required` if the user was
    ///   authenticated more than five minutes ago; `malformed_request` if several identities match; `conflict` if
    ///   another request changes the account at the same time.
    package func unlink(
        _ method: LoginMethodSelection,
        fromUserOf token: SessionKey?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) {
        let (user, token) = try await sessions.session(of: token, in: loaded)
        let facts: Logger.Metadata = ["provider": "\(method.provider)", "user": "\(user.objectID)"]
        let lost = try await events.logging("unlink", of: loaded, logger, with: facts, user: { _ in user.objectID }) {
            () throws(Failure) in
            let provider = ProviderName(method.provider).flatMap { $0 == .password ? nil : loaded.title(of: $0) }
            let announcement = try await notices.announcement(to: user, in: loaded) { link, days in
                .loginMethodRemoved(provider: provider, link: link, days: days, name: user.name)
            }
            return try await store.removeLoginMethod(
                method,
                fromUserOf: token.hash,
                authenticatedWithin: Sessions.reauthenticationSeconds,
                announcing: announcement,
                in: loaded.application
            )
        }
        _ = await revoker.revokePermissions(
            by: lost,
            formerlyOf: user.objectID,
            in: loaded,
            actor: ChangeAuthor(name: "user:\(user.objectID)", source: "unlink")
        )
    }
}
