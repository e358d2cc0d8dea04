package import Applications
package import Domain
import Encodings
import Limiting
package import Logging
package import Logins
import Mapping
package import Messaging
import Secrets
import Store

/// Registers users with a password, and creates guests.
package struct Registrations: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let verifier: PasswordVerifier
    let links: MailedLinks
    let confirmation: EmailConfirmation
    let attempts: AttemptCounter
    let admission: Admission
    let events: EventLog
    let log: LoginLog
    let limits: Limits
    let random: RandomSource

    /// Registers a user with a login name and a password.
    ///
    /// The login name is the e-mail address, unless the application uses another property as login name. Creates a new
    /// user, or converts the session's guest, who keeps id and properties. Opens no session. One log line tells the
    /// outcome.
    ///
    /// - Parameters:
    ///   - record: The record from the client: `email` and other properties, the password, and the id of a guest.
    ///   - invitation: The invitation that the user presents.
    ///   - token: The guest's session.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Returns: The user, and the names of the ignored members of the record.
    /// - Throws: `new_users_closed`, `invitation_required`, `invitation_invalid`, `registration_disabled`,
    ///   `password_missing`, `login_missing`, `email_invalid`, `password_not_allowed`, `login_taken`,
    ///   `property_missing`, `property_undeclared`, `value_not_convertible`, `constraint_violation`, `guest_invalid`,
    ///   `rate_limited`, `too_many_attempts` and similar errors; nothing is written then.
    package func register(
        _ record: UserRecord,
        invitation: InvitationToken? = nil,
        token: SessionKey?,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> WrittenUser {
        let login = record.properties.present(loaded.application.settings.identityProperty.text)?.string
        let written = try await events.logging(
            "registration",
            of: loaded,
            logger,
            login: login,
            user: \.user.objectID
        ) { () throws(Failure) in
            try await makeUser(record, invitation: invitation, token: token, from: source, in: loaded)
        }
        if written.user.status == .emailConfirmationPending {
            await confirmation.sendConfirmation(to: written.user, in: loaded, logger: logger)
        }
        return written
    }

    private func makeUser(
        _ record: UserRecord,
        invitation: InvitationToken?,
        token: SessionKey?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) -> WrittenUser {
        let application = loaded.application
        try application.requireRegistration()
        var client = try ClientRecord(record, of: loaded)
        guard let password = client.password else {
            throw Failure(.passwordMissing, "An account needs a password. Send it as \"password\".")
        }
        let login = try Self.login(in: record, of: application)
        var email = login.email
        if email == nil { email = try client.email() }
        let isConfirmed = application.settings.registration.confirmEmail
        guard !isConfirmed || email != nil else {
            throw Failure(
                .propertyMissing,
                "An account of this app needs an e-mail address to confirm. Send it as \"email\".",
                details: ["property": .string(PropertyName.email.text)]
            )
        }
        client.setLogin(login, of: application)
        let guest = try client.guest(token)
        var confirmations: [AttemptCount] = []
        var written: StoredPassword?
        let user = try await counted(from: source, of: application) { () throws(Failure) in
            // Hash a password only for a client that may register. For a guest, the write checks whether the client
            // may.
            if guest == nil {
                try await store.requireAdmission(by: application.invitationClaim(invitation), to: application)
            }
            let stored = try await verifier.newPassword(
                password,
                login: login,
                of: guest?.id ?? random.objectID(),
                names: client.names,
                in: loaded,
                deadline: .now + limits.login
            )
            written = stored
            let status: UserStatus = isConfirmed ? .emailConfirmationPending : .enabled
            if isConfirmed, links.canSend, let email {
                confirmations = try await links.countConfirmation(of: email, in: loaded)
            }
            return try await attempts.takingBack(confirmations, of: application) { () throws(Failure) in
                try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
                    let application = loaded.application
                    var client = try ClientRecord(record, of: loaded)
                    client.setLogin(login, of: application)
                    try await register(client.newDynamicNames, of: application)
                    let write = RegistrationWrite(
                        password: stored,
                        status: status,
                        given: client.given,
                        invitation: application.invitationClaim(invitation)
                    )
                    return try await admission.write(of: application) { () throws(Failure) in
                        guard let guest else { return try await store.register(write, of: application) }
                        return try await store.convertGuest(write, bySession: guest.token.hash, of: application)
                    }
                }
            }
        }
        guard let user else {
            if !confirmations.isEmpty { try await store.withdrawAttempt(for: confirmations, of: application) }
            throw Failure(
                .loginTaken,
                """
                An account with this \(login.email == nil ? "login name" : "e-mail address") already exists. Log in, \
                or reset its password.
                """
            )
        }
        return WrittenUser(user: user, viewer: .owner, ignored: client.ignored, password: written)
    }

    /// Returns what the page of an invitation shows to a new user; does not use up the invitation.
    ///
    /// - Throws: `invitation_invalid`, `new_users_closed`.
    package func offer(
        by token: String,
        in loaded: LoadedApplication
    ) async throws(Failure) -> InvitationOffer {
        let application = loaded.application
        try application.requireNewUsers()
        guard let hash = OneTimeToken(received: token)?.hash,
            let invitation = try await store.invitation(tokenHash: hash, of: application)
        else {
            throw Failure.invitationInvalid
        }
        var email: String?
        if case .email(let address) = invitation.contact { email = address }
        return InvitationOffer(email: email, takesPassword: application.settings.registration.enabled)
    }

    /// Creates a guest and opens a session, which is the guest's only login method.
    ///
    /// - Parameters:
    ///   - invitation: The invitation that the guest presents.
    ///   - usesRefreshTokens: Whether the client continues the session by refresh tokens.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Returns: The guest and the session.
    /// - Throws: `new_users_closed`, `invitation_required`, `invitation_invalid`, `registration_disabled`;
    ///   `property_missing` if a guest would lack a required property.
    package func registerGuest(
        invitation: InvitationToken? = nil,
        usesRefreshTokens: Bool = false,
        from source: RequestSource,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> LoginResult {
        try await log.telling(of: "guest", by: .guest, in: loaded, logger, signedIn: \.self) { () throws(Failure) in
            try loaded.application.requireRegistration()
            let token = random.sessionToken()
            let refreshToken = usesRefreshTokens ? RefreshToken(by: random) : nil
            let guest = try await counted(from: source, of: loaded.application) { () throws(Failure) in
                try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
                    try await admission.write(of: loaded.application) { () throws(Failure) in
                        try await store.makeGuest(
                            random.objectID(),
                            tokenHash: token.key.hash,
                            refreshToken: refreshToken?.stored,
                            invitedBy: loaded.application.invitationClaim(invitation),
                            of: loaded.application
                        )
                    }
                }
            }
            return LoginResult(
                user: guest.user,
                token: token,
                created: true,
                refreshed: RefreshedSession(refreshToken, guest.facts)
            )
        }
    }

    /// Registers the reader of a mailbox, who logs in by mailed links and has no password.
    ///
    /// Creates a new user, or converts a guest. The guest keeps id and properties.
    ///
    /// - Parameters:
    ///   - login: The login name, which is the address.
    ///   - guest: The guest, and a session of the guest.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    ///   - deadline: The deadline of the request.
    /// - Returns: The user. The address is confirmed.
    /// - Throws: `new_users_closed`, `invitation_required`, `registration_disabled`, `login_taken_by_other`,
    ///   `property_missing`, `guest_invalid`, `rate_limited` and similar errors; nothing is written then.
    func register(
        readerOf login: Login,
        guest: (id: ObjectID, session: SessionKey)? = nil,
        from source: RequestSource,
        in loaded: LoadedApplication,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> User {
        try loaded.application.requireRegistration()
        let user = try await counted(from: source, of: loaded.application) { () throws(Failure) in
            let unset = try await verifier.unset(
                login: login,
                of: guest?.id ?? random.objectID(),
                in: loaded.application,
                deadline: deadline
            )
            return try await directory.withCurrent(loaded, until: deadline) { (loaded) throws(Failure) in
                let application = loaded.application
                let write = RegistrationWrite(
                    password: unset,
                    status: .enabled,
                    given: GivenProperties(login, of: application),
                    invitation: application.invitationClaim(nil),
                    confirmsAddress: true
                )
                return try await admission.write(of: application) { () throws(Failure) in
                    guard let guest else { return try await store.register(write, of: application) }
                    return try await store.convertGuest(write, bySession: guest.session.hash, of: application)
                }
            }
        }
        guard let user else { throw Failure(.loginTakenByOther, "Another account has this e-mail address.") }
        return user
    }

    /// Requires that a new user without an invitation may register.
    ///
    /// - Throws: `new_users_closed`, `invitation_required`, `registration_disabled`.
    func requireAdmission(to application: Application) async throws(Failure) {
        try application.requireRegistration()
        try await store.requireAdmission(by: application.invitationClaim(nil), to: application)
    }

    /// Counts a new account against the rate limits, and runs the closure that creates the account.
    ///
    /// If the service itself fails to create the account, the account no longer counts.
    ///
    /// - Throws: `rate_limited`.
    private func counted<Result>(
        from source: RequestSource,
        of application: Application,
        _ make: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let counts = try await count(from: source, of: application)
        return try await attempts.takingBack(counts, of: application, make)
    }

    /// Counts a new account against the rate limits of its source network and of the application.
    ///
    /// Because of the limit of each network, an attacker who has few networks cannot use up the limit of the
    /// application.
    ///
    /// - Returns: The counts, which the caller can subtract again if no account is created.
    /// - Throws: `rate_limited`.
    func count(from source: RequestSource, of application: Application) async throws(Failure) -> [AttemptCount] {
        let registration = application.settings.registration
        let counts = [
            AttemptCount(
                for: Digest.sha256("registrations " + source.name),
                by: .registrations(max: registration.maxPerSourcePerHour)
            ),
            AttemptCount(
                for: Digest.sha256("registrations in all"),
                by: .registrations(max: registration.maxPerHour)
            ),
        ]
        let refusal = try await attempts.count(counts, of: application, before: .now + limits.login)
        guard let refusal else { return counts }
        throw Failure(
            .rateLimited,
            refusal.position == 0
                ? "Too many accounts were created from this network address. Try again later."
                : "Too many accounts were created in this app within an hour. Try again later.",
            retryAfter: refusal.seconds
        )
    }

    /// Stores the names of undeclared properties that are new to the application.
    package func register(_ names: [PropertyName], of application: Application) async throws(Failure) {
        guard !names.isEmpty else { return }
        try await store.registerDynamicNames(names, of: application.id)
    }

    /// Returns the login name in the record of a new account.
    ///
    /// Reads the property that is the login name, even if clients may not write that property otherwise.
    private static func login(in record: UserRecord, of application: Application) throws(Failure) -> Login {
        let name = application.settings.identityProperty
        guard let value = record.properties.present(name.text), value.string?.isEmpty != true else {
            let what = name == .email ? "an e-mail address" : "a login name"
            throw Failure(.loginMissing, "An account needs \(what). Send it as \"\(name)\".")
        }
        guard name != .email, let property = application.properties.first(where: { $0.name == name }),
            case .text(let text) = try ClientValue.convert(
                value,
                to: property,
                offsetlessTimes: application.settings.offsetlessTimes
            )
        else { return try Login(client: value.string ?? "", of: name) }
        return try Login(client: text, of: name)
    }
}

/// What the page of an invitation shows: the invited address, and the ways to register.
package struct InvitationOffer: Sendable {
    /// The invited address.
    package let email: String?
    /// Whether a user can register with a password.
    package let takesPassword: Bool
}

extension Application {
    fileprivate func requireRegistration() throws(Failure) {
        try requireNewUsers()
        guard settings.registration.enabled else {
            throw Failure(
                .registrationDisabled,
                "This app does not accept new accounts. Log in with an existing account."
            )
        }
    }
}

extension ClientRecord {
    /// Returns the guest whom the registration converts to a user with a password; nil if the record names no guest.
    fileprivate func guest(_ token: SessionKey?) throws(Failure) -> (id: ObjectID, token: SessionKey)? {
        guard let objectID else { return nil }
        guard let id = objectID.string.flatMap({ ObjectID($0) }), let token else { throw .guestInvalid }
        return (id, token)
    }
}
