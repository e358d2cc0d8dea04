package import Applications
package import KeptTokens
package import Limiting
package import Logging
import Mailing
package import Mapping
package import Notifications
import Providers
package import Store
package import Vocabulary

/// A user after an identity has been linked.
package struct LinkedUser: Sendable {
    package let user: User
    /// Permissions at the provider whose absence left mapped properties unfilled.
    package let missingPermissions: [String]
    /// What properties did not get of the profile, since it does not fit.
    package let omissions: [Omission]
}

/// Providers that a user links, and those that a user gives up.
package struct Linking: Sendable {
    let store: Store
    let sessions: Sessions
    let authenticator: Authenticator
    let writer: SignInWriter
    let notices: Notices
    let revoker: PermissionRevoker
    let admission: Admission
    let events: EventLog
    let limits: Limits

    package init(
        store: Store,
        sessions: Sessions,
        authenticator: Authenticator,
        writer: SignInWriter,
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

    /// Links the identity that a fresh credential stands for to the user of a session (decision D6): never by e-mail,
    /// and never one that is somebody else's.
    ///
    /// The mapping writes as at a login by that identity, except that what is written at the first login alone fills
    /// only what is empty. A new identity needs a session whose user was authenticated within five minutes, since a
    /// stolen one must not bring the thief's own; a credential of an identity that is the user's already authenticates
    /// them anew. A guest becomes a user by it, and where that takes a second factor it is put off as the login of the
    /// guest, which finishes it.
    ///
    /// - Throws: What a login throws; `session_invalid`, `identity_taken`, `reauthentication_required`.
    package func link(
        _ request: LoginRequest,
        toUserOf token: SessionToken?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LinkedUser {
        // Nobody makes the provider work, or uses a credential up, without a session that lives.
        let (before, token) = try await sessions.session(of: token, in: loaded)
        let facts: Logger.Metadata = ["provider": "\(request.provider)", "user": "\(before.objectID)"]
        let (linked, isNew) = try await events.logging(
            "link",
            of: loaded,
            logger,
            with: facts,
            omissions: { $0.linked.omissions },
            user: { $0.linked.user.objectID }
        ) {
            () async throws(Failure) -> (linked: LinkedUser, isNew: Bool) in
            try await admission.admit(loaded.application.id) { () throws(Failure) in
                let attempt = LoginAttempt(
                    request: request,
                    loaded: loaded,
                    end: .now + limits.login,
                    limits: limits
                )
                return try await authenticator.withAuthentication(of: attempt) {
                    (login, plan, attempt) throws(Failure) in
                    try await link(login, by: plan, to: before.objectID, session: token, in: attempt)
                }
            }
        }
        if isNew {
            let mail = Mail.identityLinked(provider: loaded.title(of: request.provider), name: before.name)
            await notices.notify(mail, about: before, in: loaded, logger: logger)
        }
        return linked
    }

    private func link(
        _ login: AuthenticatedLogin,
        by plan: LoginPlan,
        to user: ObjectID,
        session token: SessionToken,
        in attempt: LoginAttempt
    ) async throws(Failure) -> StatementOutcome<(linked: LinkedUser, isNew: Bool)> {
        let mapped = try plan.mapping.apply(to: login.result.profile, grantedScopes: login.result.person.scopes)
        let began = ContinuousClock.now
        let written: StatementOutcome<WrittenSignIn>
        do throws(Failure) {
            written = try await writer.write(
                mapped,
                of: login,
                session: token,
                linking: .session(tokenHash: token.hash, authenticatedWithin: Sessions.reauthenticationSeconds),
                by: plan,
                in: attempt
            )
        } catch {
            // Only guests are put off.
            let guest = GuestClaim(id: user, token: token)
            throw try await writer.putOff(error, login, guest: guest, since: began, in: attempt)
        }
        return written.map { written in
            let linked = LinkedUser(
                user: written.user,
                missingPermissions: mapped.missingPermissions,
                omissions: mapped.omissions
            )
            return (linked, written.linked)
        }
    }

    /// The login methods that the user of a session has.
    package func loginMethods(
        ofUserOf token: SessionToken?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [LoginMethod] {
        let (user, token) = try await sessions.session(of: token, in: loaded)
        return try await store.loginMethods(of: user.objectID, session: token.hash, in: loaded.application)
    }

    /// Takes a login method from the user of a session: an identity of a provider, or the password.
    ///
    /// The sessions that it opened end, but for the one that asks; our permissions at the provider are given up
    /// where a token is kept. A mail tells of it, with a link that brings it back.
    ///
    /// - Parameters:
    ///   - method: What is taken away.
    ///   - token: Whose it is.
    ///   - loaded: The application.
    ///   - logger: Gets one line.
    /// - Throws: `session_invalid`, `not_found`, `last_way_in`; `reauthentication_required` when the user was
    ///   authenticated more than five minutes ago; `malformed_request` when several identities are meant; `conflict`
    ///   when the account is being changed.
    package func unlink(
        _ method: LoginMethodSelection,
        fromUserOf token: SessionToken?,
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
            actor: Actor(name: "user:\(user.objectID)", source: "unlink")
        )
    }
}
