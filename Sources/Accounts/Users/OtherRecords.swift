package import Applications
package import Logging
import Mailing
package import Notifications
package import Store
package import Vocabulary

/// Records of users as others write them: servers, which may write everything, and users whom the application lets
/// change what others show.
package struct OtherRecords: Sendable {
    let store: Store
    let directory: ApplicationDirectory
    let collection: UserCollection
    let verifier: PasswordVerifier
    let creation: UserCreation
    let notices: Notices
    let confirmation: EmailConfirmation
    let registrations: Registrations
    let limits: Limits

    /// Users that one request may make.
    package static let mostAtOnce = 100

    package init(
        store: Store,
        directory: ApplicationDirectory,
        collection: UserCollection,
        verifier: PasswordVerifier,
        creation: UserCreation,
        notices: Notices,
        confirmation: EmailConfirmation,
        registrations: Registrations,
        limits: Limits
    ) {
        self.store = store
        self.directory = directory
        self.collection = collection
        self.verifier = verifier
        self.creation = creation
        self.notices = notices
        self.confirmation = confirmation
        self.registrations = registrations
        self.limits = limits
    }

    // MARK: By servers

    /// Makes users, all or none; nobody is logged in by it.
    ///
    /// - Parameters:
    ///   - records: The users: every property may be given, and `userStatus`; a password is optional, an e-mail address
    ///     only with one needed.
    ///   - server: Who makes them.
    ///   - loaded: The application.
    ///   - logger: Of the request.
    /// - Returns: The users, in the order of the records, each with what was not taken of its record.
    /// - Throws: `creation_forbidden` without a server's key, and what a registration throws, with the `position` of
    ///   the record at fault; nothing is written then.
    package func create(
        _ records: [UserRecord],
        by server: ServerCaller?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> [WrittenUser] {
        guard let server else {
            throw Failure(
                .creationForbidden,
                "Users are made by POST users/register; a server may make them here, with an API key of its own."
            )
        }
        guard records.count <= Self.mostAtOnce else {
            throw Failure(.malformedRequest, "At most \(Self.mostAtOnce) users are made at once.")
        }
        // Of all passwords together: a list keeps a request no longer than one user does.
        let deadline = ContinuousClock.now + limits.login
        var new: [UserCreation.NewLogin] = []
        for (position, record) in records.enumerated() {
            new.append(
                try await Failure.located(at: position) { () throws(Failure) in
                    try await creation.login(of: record, in: loaded, deadline: deadline)
                }
            )
        }
        let made = try await directory.withCurrent(loaded, until: .now + limits.login) {
            [new] (loaded) throws(Failure) in
            var users: [(user: NewUser, ignored: [String])] = []
            for (position, (record, login)) in zip(records, new).enumerated() {
                users.append(
                    try await Failure.located(at: position) { () throws(Failure) in
                        try await creation.user(of: record, with: login, in: loaded)
                    }
                )
            }
            let made = try await store.create(users.map(\.user), by: server.actor, of: loaded.application)
            return made.map { made in
                zip(made, users).map { WrittenUser(user: $0, viewer: .server, ignored: $1.ignored) }
            }
        }
        for user in made.map(\.user) where user.status == .emailConfirmationPending {
            await confirmation.sendConfirmation(to: user, in: loaded, logger: logger)
        }
        return made
    }

    /// Changes any user for a server.
    ///
    /// - Throws: `not_found`, and what a change of the own record throws.
    func update(
        _ id: ObjectID?,
        with record: UserRecord,
        by server: Actor,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> WrittenUser {
        guard let id, let person = try await store.person(id, of: loaded.application) else { throw .noSuchUser }
        let user = person.user
        try Self.refuseStatus(in: record, of: user)
        let client = try ClientRecord.fromServer(record, for: user, of: loaded)
        let login = try await loginChange(of: user, by: client, in: loaded)
        let announcement = try await notices.announcement(
            of: client,
            to: user,
            changesLogin: login != nil,
            in: loaded
        )
        let changed = try await directory.withCurrent(loaded, until: .now + limits.login) {
            (loaded) throws(Failure) in
            let client = try ClientRecord.fromServer(record, for: user, of: loaded)
            try await registrations.register(client.newDynamicNames, of: loaded.application)
            return try await store.update(
                UserUpdate(id: id, given: client.given, login: login, announcement: announcement),
                by: .other(server),
                of: loaded.application
            )
        }
        if login?.password != nil {
            await notices.notify(.passwordChanged(name: user.name), about: user, in: loaded, logger: logger)
        }
        if login != nil, changed.email != user.email, loaded.application.settings.registration.confirmEmail {
            await confirmation.sendConfirmation(to: changed, in: loaded, logger: logger)
        }
        return WrittenUser(user: changed, viewer: .server, ignored: client.ignored)
    }

    /// What the record does to the login by a password; nil when nothing.
    private func loginChange(
        of user: User,
        by record: ClientRecord,
        in loaded: LoadedApplication
    ) async throws(Failure) -> UserUpdate.LoginChange? {
        let application = loaded.application
        let email = try record.newEmail(of: user)
        let login = try record.newLogin(of: user, in: application)
        guard email != nil || login != nil || record.password != nil else { return nil }
        let stored = try await store.password(of: user.objectID, in: application)
        guard stored != nil || record.password != nil else { return nil }
        guard user.status != .guest else {
            throw Failure(.guestInvalid, "A guest gets a password by registering with the guest's objectId.")
        }
        let former = stored?.login ?? user.text(of: application.settings.identityProperty)
        guard let chosen = login.map(\.value) ?? former.flatMap({ application.login($0) }) else {
            throw .loginMissing(in: application)
        }
        var new: StoredPassword?
        if let password = record.password {
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

    /// An update changes no status: what that ends and gives is another call's.
    private static func refuseStatus(in record: UserRecord, of user: User) throws(Failure) {
        guard let value = record.properties.present("userStatus") else { return }
        guard value.string?.hasSameBytes(as: user.status.rawValue) ?? false else {
            throw Failure(.malformedRequest, "The status changes by PUT users/{objectId}/status. Nothing has changed.")
        }
    }

    // MARK: By users

    /// Changes of another user what others show and clients may write.
    ///
    /// - Throws: `not_own_record` where the application does not let this user, for the address, what the other logs in
    ///   by, the password and the status, and for every id that is nobody's (T-117).
    func update(
        _ id: ObjectID?,
        with record: UserRecord,
        by user: User,
        in loaded: LoadedApplication
    ) async throws(Failure) -> WrittenUser {
        guard try await collection.has(.updateOthers, user, in: loaded), let id,
            let other = try await store.person(id, of: loaded.application)?.user
        else {
            throw Failure(.notOwnRecord, "This is not the record of this session's user, and it cannot be changed.")
        }
        let client = try ClientRecord(record, for: other, of: loaded, by: .other)
        for property in loaded.application.properties where property.isLogin(in: loaded.application) {
            guard let sent = record.properties.present(property.name.text) else { continue }
            // What others do not show is refused whatever it is: nobody learns by a guess what they may not see.
            guard property.visibleTo.includes(.other), let value = other.text(of: property.name),
                sent.string?.hasSameBytes(as: value) ?? false
            else { throw Self.serversAlone }
        }
        guard record.properties.present("userStatus") == nil, client.password == nil else { throw Self.serversAlone }
        let changed = try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
            let client = try ClientRecord(record, for: other, of: loaded, by: .other)
            return try await store.update(
                UserUpdate(id: id, given: client.given, login: nil),
                by: .other(Actor(name: "user:\(user.objectID)", source: "record of another")),
                of: loaded.application
            )
        }
        return WrittenUser(user: changed, viewer: .other, ignored: client.ignored)
    }

    private static let serversAlone = Failure(
        .notOwnRecord,
        "Address, login, password and status of another user are changed with a server's API key only. Nothing has changed."
    )
}

extension Failure {
    /// Says of a failure which element of a list it is about.
    fileprivate static func located<Value>(
        at position: Int,
        _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        do throws(Failure) {
            return try await body()
        } catch {
            throw error.adding(["position": .integer(Int64(position))])
        }
    }
}
