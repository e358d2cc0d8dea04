package import Applications
package import Domain
import Encodings
package import Logging
import Logins
package import Messaging
import Passwords
import Store

/// Changes a user's record, at the request of that user.
///
/// See ``OtherRecords`` for changes of another user's record.
package struct AccountUpdate: Sendable {
    let store: Store
    let others: OtherRecords
    let directory: ApplicationDirectory
    let sessions: Sessions
    let verifier: PasswordVerifier
    let reauthentication: Reauthentication
    let notices: Notices
    let confirmation: EmailConfirmation
    let registrations: Registrations
    let events: EventLog
    let limits: Limits

    /// Changes a user.
    ///
    /// A client changes the user of its session, or another user if the application allows it; a server changes any
    /// user.
    ///
    /// A client may send the whole object: properties that the client may not write are ignored. A `password` that
    /// equals the present one is no change, since client SDKs keep sending the password of the registration.
    ///
    /// The e-mail address (the target of mailed links), the login name and the password are protected. Their change
    /// requires `currentPassword` or a recent authentication of the session's user, unless the application accepts any
    /// session. If the e-mail address or the login name changes, the service sends a mail to the former e-mail address,
    /// with a link that undoes the change.
    ///
    /// A new login name counts as a registration against the rate limit, since the response tells whether the name is
    /// taken.
    ///
    /// - Parameters:
    ///   - id: The user id in the path.
    ///   - record: The record from the client.
    ///   - token: The session.
    ///   - server: The server that makes the request; nil for a client.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Returns: The user after the change, and the names of the members of the record that were ignored.
    /// - Throws: `session_invalid`; `not_own_record` for every id that may not be changed, whether it exists or not
    ///   (T-117); `reauthentication_required`, `login_taken_by_other`, `email_invalid`, `login_missing`,
    ///   `password_not_allowed`, `property_undeclared_in_update`, `value_not_convertible`, `property_missing`,
    ///   `constraint_violation` and similar errors; nothing is written then.
    package func update(
        _ id: ObjectID?,
        with record: UserRecord,
        token: SessionKey?,
        server: ServerCaller?,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> WrittenUser {
        let login = record.properties.present(loaded.application.settings.identityProperty.text)?.string
        return try await events.logging("user update", of: loaded, logger, login: login, user: \.user.objectID) {
            () throws(Failure) in
            if let server {
                return try await others.update(id, with: record, by: server.actor, in: loaded, logger: logger)
            }
            let user = try await sessions.user(of: token, in: loaded)
            guard let token, let id, id == user.objectID else {
                return try await others.update(id, with: record, by: user, in: loaded)
            }
            let client = try ClientRecord(record, for: user, of: loaded)
            let login = try await loginChange(of: user, by: client, session: token, from: source, in: loaded)
            let announcement = try await notices.announcement(
                of: client,
                to: user,
                changesLogin: login != nil,
                in: loaded
            )
            let changed = try await directory.withCurrent(loaded, until: .now + limits.login) {
                (loaded) throws(Failure) in
                let client = try ClientRecord(record, for: user, of: loaded)
                let changesAddress = try client.newEmail(of: user) != nil
                try await registrations.register(client.newDynamicNames, of: loaded.application)
                return try await store.update(
                    UserUpdate(id: id, given: client.given, login: login, announcement: announcement),
                    by: .session(
                        token.hash,
                        factorWithin: login != nil || changesAddress ? Sessions.reauthenticationSeconds : nil
                    ),
                    of: loaded.application
                )
            }
            if login?.password != nil {
                await notices.notify(.passwordChanged(name: user.name), about: user, in: loaded, logger: logger)
            }
            if login != nil, changed.email != user.email, loaded.application.settings.registration.confirmEmail {
                await confirmation.sendConfirmation(to: changed, causedBy: source, in: loaded, logger: logger)
            }
            return WrittenUser(user: changed, viewer: .owner, ignored: client.ignored)
        }
    }

    /// Returns the change that a record makes to the login name and the password; nil for no change.
    private func loginChange(
        of user: User,
        by record: ClientRecord,
        session: SessionKey,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> UserUpdate.LoginChange? {
        let application = loaded.application
        let identity = application.settings.identityProperty
        let email = try record.newEmail(of: user)
        let login = try record.newLogin(of: user, in: application)
        guard email != nil || login != nil || record.password != nil else { return nil }
        if user.status == .guest {
            guard record.password == nil else {
                throw Failure(.guestInvalid, "A guest gets a password by registering with the guest's objectId.")
            }
            return nil
        }
        var stored = try await store.password(of: user.objectID, in: loaded.application)
        var password = record.password
        var isReauthenticated = false
        if let sent = password,
            let matched = try await verifier.match(sent, stored, from: source, in: loaded.application)
        {
            (stored, password, isReauthenticated) = (matched, nil, true)
        }
        guard password != nil || email != nil || login != nil else { return nil }
        if let current = record.currentPassword, !isReauthenticated {
            let matched = try await verifier.match(
                current,
                stored,
                orOf: FormerUser(user, in: application),
                from: source,
                in: application
            )
            guard let matched else { throw Failure.loginInvalid }
            stored = matched
        } else if !isReauthenticated {
            try await reauthentication.require(of: session, in: loaded)
        }
        guard password != nil || stored != nil else { return nil }
        let chosen = login.map(\.value) ?? (stored?.login ?? user.text(of: identity)).flatMap { application.login($0) }
        guard let chosen else {
            let what = identity == .email ? "an e-mail address" : "a login name"
            throw Failure(.loginMissing, "An account with a password needs \(what). Send it as \"\(identity)\".")
        }
        if stored?.login.hasSameBytes(as: chosen.key) != true {
            _ = try await registrations.count(from: source, of: loaded.application)
        }
        var new: StoredPassword?
        if let password {
            new = try await verifier.newPassword(
                password,
                login: chosen,
                of: user.objectID,
                names: record.names,
                in: loaded,
                deadline: .now + limits.login
            )
        }
        return UserUpdate.LoginChange(login: chosen.key, password: new, formerHash: stored?.hash)
    }
}

extension Notices {
    /// Returns the mail to the user's former e-mail address that reports a change and contains a link to undo it.
    ///
    /// The mail reports a new e-mail address, or else a new login name. Nil if the record changes neither.
    ///
    /// - Throws: `email_invalid`, `value_not_convertible`, `store_unavailable` and similar errors.
    func announcement(
        of record: ClientRecord,
        to user: User,
        changesLogin: Bool,
        in loaded: LoadedApplication
    ) async throws(Failure) -> Announcement? {
        if try record.newEmail(of: user) != nil {
            return try await announcement(to: user, in: loaded) { link, days in
                .emailChanged(link: link, days: days, name: user.name)
            }
        }
        guard changesLogin, try record.newLogin(of: user, in: loaded.application) != nil else { return nil }
        return try await announcement(to: user, in: loaded) { link, days in
            .loginChanged(link: link, days: days, name: user.name)
        }
    }
}

extension ClientRecord {
    /// Returns the new e-mail address if the record changes it; an empty value if the record removes it.
    ///
    /// - Throws: `email_invalid`.
    func newEmail(of user: User) throws(Failure) -> GivenProperties.Given<EmailAddress>? {
        guard let given = given.given(.email) else { return nil }
        guard case .value(.text(let text)) = given else {
            return user.email == nil ? nil : GivenProperties.Given<EmailAddress>.none
        }
        return user.email?.hasSameBytes(as: text) == true ? nil : .value(try EmailAddress(client: text))
    }

    /// Returns the new login name if the record changes it; an empty value if the record removes it.
    ///
    /// - Throws: `email_invalid`, `value_not_convertible`.
    func newLogin(
        of user: User,
        in application: Application
    ) throws(Failure) -> GivenProperties.Given<Login>? {
        let property = application.settings.identityProperty
        guard let given = given.given(property) else { return nil }
        let former = user.text(of: property)
        guard case .value(.text(let text)) = given else {
            return former == nil ? nil : GivenProperties.Given<Login>.none
        }
        return former?.hasSameBytes(as: text) == true ? nil : .value(try Login(client: text, of: property))
    }
}
