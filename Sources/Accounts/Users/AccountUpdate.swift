package import Applications
package import Logging
package import Logins
import Mailing
package import Notifications
import Passwords
package import Store
package import Vocabulary

/// What users change of their own record; of other records, ``OtherRecords``.
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

    package init(
        store: Store,
        others: OtherRecords,
        directory: ApplicationDirectory,
        sessions: Sessions,
        verifier: PasswordVerifier,
        reauthentication: Reauthentication,
        notices: Notices,
        confirmation: EmailConfirmation,
        registrations: Registrations,
        events: EventLog,
        limits: Limits
    ) {
        self.store = store
        self.others = others
        self.directory = directory
        self.sessions = sessions
        self.verifier = verifier
        self.reauthentication = reauthentication
        self.notices = notices
        self.confirmation = confirmation
        self.registrations = registrations
        self.events = events
        self.limits = limits
    }

    /// Changes the session's own user, or another one where the application lets it; a server changes any.
    ///
    /// The whole object may come back: what a client may not write is passed over. The e-mail address, to which links
    /// are mailed, what a password logs in by, if that is another property, and the password change only when the
    /// session's person has just shown who they are, or sends `currentPassword` along, unless the application takes any
    /// session. A password that is the account's already changes nothing: client SDKs go on sending the one that they
    /// registered with. What comes to log in counts as a registration: whether it is taken is told as there. The former
    /// address is told of it by a mail, with a link that brings it back.
    ///
    /// - Parameters:
    ///   - id: Whose record the path names.
    ///   - record: The user as the client writes it.
    ///   - token: The session.
    ///   - server: The server that calls; nil for everybody else.
    ///   - source: Where the request comes from.
    ///   - loaded: The application.
    ///   - logger: Of the request.
    /// - Returns: The user as it is afterwards, and what was not taken of the record.
    /// - Throws: `session_invalid`; `not_own_record` for every id that may not be changed, whether it exists or not
    ///   (T-117);
    ///   `reauthentication_required`, `login_taken_by_other`, `email_invalid`, `login_missing`, `password_not_allowed`,
    ///   `property_undeclared_in_update`, `value_not_convertible`, `property_missing`, `constraint_violation` and their
    ///   like; nothing is written then.
    package func update(
        _ id: ObjectID?,
        with record: UserRecord,
        token: SessionToken?,
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

    /// What the record does to the login by a password; nil when nothing.
    private func loginChange(
        of user: User,
        by record: ClientRecord,
        session: SessionToken,
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
            guard let matched = try await verifier.match(current, stored, from: source, in: loaded.application) else {
                throw Failure.loginInvalid
            }
            stored = matched
        } else if !isReauthenticated {
            try await reauthentication.require(of: session, in: loaded)
        }
        guard password != nil || stored != nil else { return nil }
        let chosen = login.map(\.value) ?? (stored?.login ?? user.text(of: identity)).flatMap { application.login($0) }
        guard let chosen else {
            let what = identity == .email ? "an e-mail address to log in by" : "something to log in by"
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
    /// What the address from before a change is told of it: that the address becomes another, or else what the user
    /// logs in by; nil of any other change.
    ///
    /// - Throws: `email_invalid`, `value_not_convertible`, `store_unavailable` and its like.
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
    /// The e-mail address if it becomes another; with nothing in it when it is taken away.
    ///
    /// - Throws: `email_invalid`.
    func newEmail(of user: User) throws(Failure) -> GivenProperties.Given<EmailAddress>? {
        guard let given = given.given(.email) else { return nil }
        guard case .value(.text(let text)) = given else {
            return user.email == nil ? nil : GivenProperties.Given<EmailAddress>.none
        }
        return user.email?.hasSameBytes(as: text) == true ? nil : .value(try EmailAddress(client: text))
    }

    /// The login if it becomes another; with nothing in it when it is taken away.
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
