package import Applications
package import Domain
import Encodings
package import Logging
package import Logins
package import Messaging
import Passwords
import Secrets
import Store

/// Logs users in by a link that is mailed to them.
///
/// The reader of the mailbox logs in to the account whose login name is the address. Without such an account, the
/// reader becomes a new user. A link never opens an account that only has the address from a provider (decision D6).
///
/// The service does not store the link. The link's code is the encrypted address, and works once.
package struct MailedLogins: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let directory: ApplicationDirectory
    let sessions: Sessions
    let verifier: PasswordVerifier
    let reauthentication: Reauthentication
    let passwordLogins: PasswordLogins
    let registrations: Registrations
    let links: MailedLinks
    let notices: Notices
    let revoker: PermissionRevoker
    let log: LoginLog
    let limits: Limits
    let clock: WallClock
    let random: RandomSource

    /// A request with the code of a mailed link.
    package struct Request: Sendable {
        let code: String
        let email: String
        let client: LoginClient
        let source: RequestSource

        package init(code: String, email: String, client: LoginClient, source: RequestSource) {
            self.code = code
            self.email = email
            self.client = client
            self.source = source
        }
    }

    /// Mails a link to an address, in the background.
    ///
    /// The response does not show whether the address is that of a user. If the application accepts no new users, only
    /// existing users get the mail.
    ///
    /// - Parameters:
    ///   - email: The address.
    ///   - locale: The language of the mail.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    ///   - logger: Gets a line if the mail cannot be sent.
    ///   - path: Returns the path and the query of the link's URL for a code.
    /// - Throws: `mail_off`, `too_many_attempts`, `overloaded`; `registration_disabled` if the login name is not the
    ///   e-mail address.
    package func sendLink(
        to email: EmailAddress,
        locale: String?,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger,
        at path: (_ code: String) -> String
    ) async throws(Failure) {
        let application = loaded.application
        let code = try makeCode(for: email, in: application)
        try await links.mailLoginLink(
            Secret(path(code)),
            seconds: LoginLink.seconds,
            to: email,
            locale: locale,
            from: source,
            in: loaded,
            logger: logger
        ) { () throws(Failure) in
            if application.settings.registration.enabled, application.settings.newUsers == .open { return true }
            return try await store.user(ofLogin: email.login, in: application) != nil
        }
    }

    /// Makes a link for a backend, which sends its own mails.
    ///
    /// - Returns: The URL, and the code in it.
    /// - Throws: `mail_off` without a public URL; `registration_disabled` if the login name is not the e-mail address.
    package func makeLink(
        for email: EmailAddress,
        by server: ServerCaller,
        in loaded: LoadedApplication,
        at path: (_ code: String) -> String
    ) async throws(Failure) -> (address: Secret, code: Secret) {
        let code = try makeCode(for: email, in: loaded.application)
        let address = try links.base() + path(code)
        let user = try await store.user(ofLogin: email.login, in: loaded.application)
        try await store.recordReading(
            .mailedLink,
            of: user?.objectID,
            ["purpose": .string("login")],
            in: loaded.application.id,
            by: server.actor
        )
        return (Secret(address), Secret(code))
    }

    private func makeCode(for email: EmailAddress, in application: Application) throws(Failure) -> String {
        try Self.requireAddressesAsLogins(in: application)
        let link = LoginLink(email: email.login, endsAt: clock.seconds + LoginLink.seconds)
        return Base64URL.encode(link.encrypted(under: masterKeys, for: application.id))
    }

    /// Returns whether a text is the code of a valid link of this application, and leaves the link valid.
    package func isCode(_ code: String, in loaded: LoadedApplication) async throws(Failure) -> Bool {
        guard link(code, in: loaded.application) != nil else { return false }
        return try await !store.isUsed(.credential, hash: LoginLink.hash(code), in: loaded.application)
    }

    /// Logs a user in, and uses up the link.
    ///
    /// The statement that opens the session uses up the link. So of simultaneous uses one opens a session, and a
    /// failure of the service before that leaves the link valid. There is one exception: registration and takeover set
    /// a password. `requireLatest` then refuses the link, so if the session cannot be opened, the user needs another
    /// link.
    ///
    /// Somebody else may have made an account with an unconfirmed address. Such an account loses its password, its
    /// identities and its sessions (T-32). If it has a second factor, it loses nothing, and the user must present the
    /// factor.
    ///
    /// - Returns: The user and the session.
    /// - Throws: `link_invalid`; `email_invalid` if the address is not that of the link; `account_disabled`,
    ///   `second_factor_required`, `second_factor_enrolment_required`, `conflict`; for a new user also the errors of a
    ///   registration.
    package func logIn(
        by request: Request,
        to loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LoginResult {
        let deadline = ContinuousClock.now + limits.login
        return try await log.telling(of: .login(request.email), by: .password, in: loaded, logger) {
            () throws(Failure) in
            let login = try login(of: request, in: loaded.application)
            try await requireUnused(request, in: loaded)
            guard let user = try await store.user(ofLogin: login.key, in: loaded.application) else {
                try await registrations.requireAdmission(to: loaded.application)
                let user = try await register(login, by: request, in: loaded, deadline: deadline)
                let signedIn = try await openSession(of: user, by: request, in: loaded, deadline: deadline)
                return LoginResult(
                    user: signedIn.user,
                    token: signedIn.token,
                    created: true,
                    refreshed: signedIn.refreshed
                )
            }
            try await requireLatest(request, of: user, in: loaded.application)
            if !user.emailVerified { try await takeOver(user, login, in: loaded, deadline: deadline) }
            return try await openSession(of: user, by: request, in: loaded, deadline: deadline)
        }
    }

    /// Gives the user of a session the link's address as login name, and uses up the link.
    ///
    /// A guest becomes a user, and the guest's other sessions end. If a user's address changes, the former address gets
    /// a mail with a link that undoes the change.
    ///
    /// - Returns: The session with which the user continues.
    /// - Throws: `link_invalid`, `email_invalid`, `session_invalid`, `account_disabled`, `reauthentication_required`;
    ///   `login_taken_by_other` if another account has the address; `conflict` if the user has a login name already.
    package func link(
        by request: Request,
        toUserOf session: SessionKey,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> SessionKey {
        let deadline = ContinuousClock.now + limits.login
        let user = try await sessions.user(of: session, in: loaded)
        let login = try login(of: request, in: loaded.application)
        guard user.status != .guest else {
            return try await log.telling(of: .login(request.email), by: .password, in: loaded, logger) {
                () throws(Failure) in
                try await requireUnused(request, in: loaded)
                let user = try await registrations.register(
                    readerOf: login,
                    guest: (user.objectID, session),
                    from: request.source,
                    in: loaded,
                    deadline: deadline
                )
                return try await openSession(of: user, by: request, in: loaded, deadline: deadline)
            }.token.key
        }
        try await reauthentication.require(of: session, in: loaded)
        guard try await store.password(of: user.objectID, in: loaded.application) == nil else {
            throw Failure(
                .conflict,
                "This account already has a login name. Change the account's e-mail address instead."
            )
        }
        let isNew = user.email?.hasSameBytes(as: login.text) != true
        let announcement =
            isNew
            ? try await notices.announcement(to: user, in: loaded) { link, days in
                .emailChanged(link: link, days: days, name: user.name)
            } : nil
        let unset = try await verifier.unset(
            login: login,
            of: user.objectID,
            in: loaded.application,
            deadline: deadline
        )
        guard try await store.use(try once(request, in: loaded.application), of: loaded.application) else {
            throw .linkInvalid
        }
        _ = try await directory.withCurrent(loaded, until: deadline) { (loaded) throws(Failure) in
            try await store.update(
                UserUpdate(
                    id: user.objectID,
                    given: GivenProperties(login, of: loaded.application),
                    login: .init(login: login.key, password: unset, formerHash: nil),
                    announcement: announcement,
                    confirmsAddress: true
                ),
                by: .session(session.hash, factorWithin: Sessions.reauthenticationSeconds),
                of: loaded.application
            )
        }
        return session
    }

    /// Refuses a link if, since it was mailed, the user's password has changed or an administrator has ended the user's
    /// sessions.
    ///
    /// - Throws: `link_invalid`.
    private func requireLatest(
        _ request: Request,
        of user: User,
        in application: Application
    ) async throws(Failure) {
        guard let link = link(request.code, in: application),
            try await !store.hasChangedAccess(of: user.objectID, since: link.issued, in: application)
        else { throw .linkInvalid }
    }

    private func login(of request: Request, in application: Application) throws(Failure) -> Login {
        try Self.requireAddressesAsLogins(in: application)
        guard let link = link(request.code, in: application) else { throw .linkInvalid }
        guard let email = EmailAddress(request.email), email.login.hasSameBytes(as: link.email) else {
            throw Failure(.emailInvalid, "The link was mailed to another address. Send the address that got the link.")
        }
        return Login(email)
    }

    private func link(_ code: String, in application: Application) -> LoginLink? {
        Base64URL.decode(code.utf8).flatMap { encrypted in
            LoginLink(encrypted: encrypted, under: masterKeys, for: application.id, now: clock.seconds)
        }
    }

    /// Refuses a used link before anything is written for its reader.
    ///
    /// - Throws: `link_invalid`.
    private func requireUnused(_ request: Request, in loaded: LoadedApplication) async throws(Failure) {
        guard try await isCode(request.code, in: loaded) else { throw .linkInvalid }
    }

    /// Returns the link as the single-use value of a new attempt.
    private func once(_ request: Request, in application: Application) throws(Failure) -> SingleUse {
        guard let link = link(request.code, in: application) else { throw .linkInvalid }
        return SingleUse(
            hash: LoginLink.hash(request.code),
            issuedAt: StoreMoment(seconds: link.issued),
            seconds: LoginLink.seconds,
            owner: random.bytes(16),
            nonceHash: nil
        )
    }

    private func register(
        _ login: Login,
        by request: Request,
        in loaded: LoadedApplication,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> User {
        do throws(Failure) {
            return try await registrations.register(
                readerOf: login,
                from: request.source,
                in: loaded,
                deadline: deadline
            )
        } catch {
            // A simultaneous use of the link, or a registration, came first. The link is older than that account.
            throw error.reason == .loginTakenByOther ? .linkInvalid : error
        }
    }

    private func takeOver(
        _ user: User,
        _ login: Login,
        in loaded: LoadedApplication,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) {
        guard let email = user.email else { throw .linkInvalid }
        let lost = try await store.takeOver(
            by: try await verifier.unset(login: login, of: user.objectID, in: loaded.application, deadline: deadline),
            at: email,
            forgetting: PasswordGuess.accountKey(of: login.key),
            in: loaded.application
        )
        // The account has changed meanwhile, or a second factor protects it.
        guard let lost else {
            let factors = try await store.factors(of: user.objectID, in: loaded.application)
            guard !factors.isEmpty else { throw .linkInvalid }
            return
        }
        _ = await revoker.revokePermissions(
            by: lost,
            formerlyOf: user.objectID,
            in: loaded,
            actor: ChangeAuthor(name: "user:\(user.objectID)", source: "mailed login")
        )
    }

    private func openSession(
        of user: User,
        by request: Request,
        in loaded: LoadedApplication,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> LoginResult {
        // A link opens only the account whose login name is the address of the link.
        guard let stored = try await store.password(of: user.objectID, in: loaded.application),
            EmailAddress(request.email)?.login.hasSameBytes(as: stored.login) == true
        else { throw .linkInvalid }
        return try await passwordLogins.openSession(
            by: .mailedLink(stored),
            stored,
            once: try once(request, in: loaded.application),
            client: request.client,
            previousSession: nil,
            in: loaded,
            deadline: deadline
        )
    }

    private static func requireAddressesAsLogins(in application: Application) throws(Failure) {
        guard application.settings.identityProperty == .email else {
            throw Failure(
                .registrationDisabled,
                "Users of this app log in by a name that is not the e-mail address, so no mailed link logs them in."
            )
        }
    }
}

/// A mailed link that logs its reader in.
///
/// The link's code is this value in encrypted form.
private struct LoginLink: EncryptedInTransit {
    /// The address to which the link was mailed, normalized (`EmailAddress.login`).
    let email: String
    let endsAt: Int64
    /// The Unix seconds at which the link was mailed.
    var issued: Int64 { endsAt - Self.seconds }

    static let keyName = "federation: login link"

    /// The lifetime of a link in seconds: an hour.
    static let seconds: Int64 = 3600

    private static let (emailName, endName) = ("email", "end")

    init(email: String, endsAt: Int64) {
        self.email = email
        self.endsAt = endsAt
    }

    var text: Secret {
        let object: JSONObject = [Self.emailName: .string(email), Self.endName: .integer(endsAt)]
        return Secret(JSONValue.object(object).text)
    }

    init?(_ object: JSONObject) {
        guard let email = object[Self.emailName]?.string, let end = object[Self.endName]?.integer else { return nil }
        self.init(email: email, endsAt: end)
    }

    /// Returns the hash that the database stores when a code is used.
    static func hash(_ code: String) -> [UInt8] { Digest.sha256("login link " + code) }
}

extension GivenProperties {
    /// The values of a login name that is the user's e-mail address.
    init(_ login: Login, of application: Application) {
        self.init()
        guard let property = application.properties.first(where: { $0.name == .email }) else { return }
        values = [(property, .text(login.text))]
    }
}
