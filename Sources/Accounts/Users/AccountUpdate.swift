package import Applications
package import Logging
package import Logins
import Mailing
package import Notifications
import Passwords
package import Store
package import Vocabulary

/// What users change of their own record.
package struct AccountUpdate: Sendable {
    let store: Store
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

    /// Changes the session's own user.
    ///
    /// The whole object may come back: what a client may not write is passed over. The e-mail address, to which links
    /// are mailed and by which a password logs in, and the password change only when the session's person has just
    /// shown who they are, or sends `currentPassword` along. A password that is the account's already changes nothing:
    /// client SDKs go on sending the one that they registered with. An address that comes to log in counts as a
    /// registration: whether it is taken is told as there. The former one is told of it by a mail, with a link that
    /// brings it back.
    ///
    /// - Parameters:
    ///   - id: Whose record the path names.
    ///   - record: The user as the client writes it.
    ///   - token: The session.
    ///   - source: Where the request comes from.
    ///   - loaded: The application.
    ///   - logger: Of the request.
    /// - Returns: The user as it is afterwards, and what was not taken of the record.
    /// - Throws: `session_invalid`; `not_own_record` for every other user's id, whether it exists or not (T-117);
    ///   `reauthentication_required`, `login_taken_by_other`, `email_invalid`, `login_missing`, `password_not_allowed`,
    ///   `property_undeclared_in_update`, `value_not_convertible`, `property_missing`, `constraint_violation` and their
    ///   like; nothing is written then.
    package func update(
        _ id: ObjectID?,
        with record: UserRecord,
        token: SessionToken?,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> WrittenUser {
        let login = record.properties.present("email")?.string
        return try await events.logging("user update", of: loaded, logger, login: login, user: \.user.objectID) {
            () throws(Failure) in
            let user = try await sessions.user(of: token, in: loaded)
            guard let token, let id, id == user.objectID else {
                throw Failure(
                    .notOwnRecord,
                    "This is not the record of this session's user, and no other can be changed."
                )
            }
            let client = try ClientRecord(record, for: user, of: loaded)
            let login = try await loginChange(of: user, by: client, session: token, from: source, in: loaded)
            var announcement: Announcement?
            if try client.newEmail(of: user) != nil {
                announcement = try await notices.announcement(to: user, in: loaded) { link, days in
                    .emailChanged(link: link, days: days, name: user.name)
                }
            }
            let changed = try await directory.withCurrent(loaded, until: .now + limits.login) {
                [announcement] (loaded) throws(Failure) in
                let client = try ClientRecord(record, for: user, of: loaded)
                try await registrations.register(client.newDynamicNames, of: loaded.application)
                return try await store.update(
                    UserUpdate(id: id, given: client.given, login: login, announcement: announcement),
                    bySession: token.hash,
                    of: loaded.application
                )
            }
            if login?.password != nil {
                await notices.notify(.passwordChanged(name: user.name), about: user, in: loaded, logger: logger)
            }
            if login != nil, changed.email != user.email, loaded.application.settings.registration.confirmEmail {
                await confirmation.sendConfirmation(to: changed, causedBy: source, in: loaded, logger: logger)
            }
            return WrittenUser(user: changed, ignored: client.ignored)
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
        let email = try record.newEmail(of: user)
        guard email != nil || record.password != nil else { return nil }
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
        guard password != nil || email != nil else { return nil }
        if let current = record.currentPassword, !isReauthenticated {
            guard let matched = try await verifier.match(current, stored, from: source, in: loaded.application) else {
                throw Failure.loginInvalid
            }
            stored = matched
        } else if !isReauthenticated {
            try await reauthentication.require(of: session, in: loaded)
        }
        guard password != nil || stored != nil else { return nil }
        let address = email.map(\.value) ?? (stored?.login ?? user.email).flatMap { EmailAddress($0) }
        guard let address else {
            throw Failure(
                .loginMissing,
                "An account with a password needs an e-mail address to log in by. Send it as \"email\"."
            )
        }
        if stored?.login.hasSameBytes(as: address.login) != true {
            try await registrations.count(from: source, of: loaded.application)
        }
        var new: StoredPassword?
        if let password {
            new = try await verifier.newPassword(
                password,
                email: address,
                of: user.objectID,
                names: record.names,
                in: loaded,
                deadline: .now + limits.login
            )
        }
        return UserUpdate.LoginChange(login: address.login, password: new, formerHash: stored?.hash)
    }
}

extension ClientRecord {
    /// The e-mail address if it becomes another; with nothing in it when it is taken away.
    ///
    /// - Throws: `email_invalid`.
    fileprivate func newEmail(of user: User) throws(Failure) -> GivenProperties.Given<EmailAddress>? {
        guard let given = given.given(.email) else { return nil }
        guard case .value(.text(let text)) = given else {
            return user.email == nil ? nil : GivenProperties.Given<EmailAddress>.none
        }
        return user.email?.hasSameBytes(as: text) == true ? nil : .value(try EmailAddress(client: text))
    }
}
