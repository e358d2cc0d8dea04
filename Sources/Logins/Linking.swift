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
    /// Permissions at the provider that the user did not grant, so that mapped properties stayed unfilled.
    package let missingPermissions: [String]
    /// Parts of the profile that do not fit their properties and were left out.
    package let omissions: [Omission]
}

/// The use case that links and unlinks login methods of users.
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

    /// Links the identity of a fresh credential to the user of a session (decision D6).
    ///
    /// Linking never goes by e-mail address, and never takes an identity of another user.
    ///
    /// The mapping writes as at a login by that identity, except that rules for the first login alone fill only empty
    /// properties. A new identity needs a session whose user was authenticated within five minutes, since a thief with
    /// a stolen session must not link an identity of their own. A credential of an identity that the user already has
    /// authenticates the user anew. Linking makes a guest a user. If that requires a second factor, the request becomes
    /// a pending login of the guest, which finishes the linking.
    ///
    /// - Throws: The errors of a login; `session_invalid`, `identity_taken`, `reauthentication_required`.
    package func link(
        _ request: LoginRequest,
        toUserOf token: SessionToken?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LinkedUser {
        // Only a live session may cause requests to the provider or use up a credential.
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
            // Only the logins of guests become pending.
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

    /// Returns the login methods of the user of a session.
    package func loginMethods(
        ofUserOf token: SessionToken?,
        in loaded: LoadedApplication
    ) async throws(Failure) -> [LoginMethod] {
        let (user, token) = try await sessions.session(of: token, in: loaded)
        return try await store.loginMethods(of: user.objectID, session: token.hash, in: loaded.application)
    }

    /// Unlinks a login method, an identity or the password, from the user of a session.
    ///
    /// Ends the sessions that the login method opened, except the session of the request. If a token is kept, revokes
    /// our permissions at the provider. A mail tells the user, with a link that restores the login method.
    ///
    /// - Parameters:
    ///   - method: The login method to unlink.
    ///   - token: The session of the user.
    ///   - loaded: The application.
    ///   - logger: Gets one line.
    /// - Throws: `session_invalid`, `not_found`, `last_way_in`; `reauthentication_required` if the user was
    ///   authenticated more than five minutes ago; `malformed_request` if several identities match; `conflict` if the
    ///   account is changing at the same time.
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
