package import Applications
package import Domain
import Encodings
package import Logging
import Messaging
import Store

/// Creates and changes records of users, for a server or for another user.
///
/// A server may write everything. Another user, if the application allows it, may write only properties that are
/// visible to others.
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

    /// The maximum number of users that one request may create.
    package static let maxConcurrent = 100

    // MARK: By servers

    /// Creates users, all or none, without logging them in.
    ///
    /// - Parameters:
    ///   - records: The users, with any property and `userStatus`. A password is optional. An e-mail address is
    ///     required only with a password.
    ///   - server: The server that makes the request.
    ///   - loaded: The application.
    ///   - logger: The logger of the request.
    /// - Returns: The users, in the order of the records, each with the names of the ignored members of its record.
    /// - Throws: `creation_forbidden` if the request has no server's API key; `conflict` if another user has a uid; the
    ///   errors of a registration, with the `position` of the invalid record. Nothing is written then.
    package func create(
        _ records: [UserRecord],
        by server: ServerCaller?,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> [WrittenUser] {
        guard let server else {
            throw Failure(
                .creationForbidden,
                "Create users with POST users/register. Only a server key can create them here."
            )
        }
        guard records.count <= Self.maxConcurrent else {
            throw Failure(.malformedRequest, "At most \(Self.maxConcurrent) users can be created at once.")
        }
        // The object id of an existing user counts as a uid, too.
        let uids = records.compactMap(\.uid)
        guard try await store.users(ofUIDs: uids, in: loaded.application).isEmpty else { throw Failure.uidTaken }
        // All passwords share one deadline, so a list takes no longer than a single user.
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

    /// Changes any user, at the request of a server.
    ///
    /// - Throws: `not_found`, and the errors of a user's change of their own record.
    func update(
        _ id: ObjectID?,
        with record: UserRecord,
        by server: ChangeAuthor,
        in loaded: LoadedApplication,
        logger: Logger
    ) async throws(Failure) -> WrittenUser {
        let stored = try await store.existingUser(id, of: loaded.application)
        let user = stored.user
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
                UserUpdate(id: user.objectID, given: client.given, login: login, announcement: announcement),
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

    /// Returns the change that a record makes to the login name and the password; nil for no change.
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

    /// Throws an error if the record changes the user's status.
    ///
    /// The status has an endpoint of its own, which also carries out the consequences of a change.
    private static func refuseStatus(in record: UserRecord, of user: User) throws(Failure) {
        guard let value = record.properties.present("userStatus") else { return }
        guard value.string?.hasSameBytes(as: user.status.rawValue) ?? false else {
            throw Failure(.malformedRequest, "Nothing was changed. Change the status with PUT users/{objectId}/status.")
        }
    }

    // MARK: By users

    /// Changes another user's properties that are visible to others and that clients may write.
    ///
    /// - Throws: `not_own_record` in three cases: the application gives this user no right to change others; the record
    ///   changes the e-mail address, the login name, the password or the status; the id is unknown (T-117).
    func update(
        _ id: ObjectID?,
        with record: UserRecord,
        by user: User,
        in loaded: LoadedApplication
    ) async throws(Failure) -> WrittenUser {
        guard try await collection.has(.updateOthers, user, in: loaded), let id,
            let other = try await store.storedUser(id, of: loaded.application)?.user
        else {
            throw Failure(.notOwnRecord, "This record is not that of the session's user and cannot be changed.")
        }
        let client = try ClientRecord(record, for: other, of: loaded, by: .other)
        for property in loaded.application.properties where property.isLogin(in: loaded.application) {
            guard let sent = record.properties.present(property.name.text) else { continue }
            // An invisible property is refused with any value. Otherwise, the response would show whether a guess is
            // right.
            guard property.visibleTo.includes(.other), let value = other.text(of: property.name),
                sent.string?.hasSameBytes(as: value) ?? false
            else { throw Self.serversAlone }
        }
        guard record.properties.present("userStatus") == nil, client.password == nil else { throw Self.serversAlone }
        let changed = try await directory.withCurrent(loaded, until: .now + limits.login) { (loaded) throws(Failure) in
            let client = try ClientRecord(record, for: other, of: loaded, by: .other)
            return try await store.update(
                UserUpdate(id: id, given: client.given, login: nil),
                by: .other(ChangeAuthor(name: "user:\(user.objectID)", source: "record of another")),
                of: loaded.application
            )
        }
        return WrittenUser(user: changed, viewer: .other, ignored: client.ignored)
    }

    private static let serversAlone = Failure(
        .notOwnRecord,
        """
        Nothing was changed. Only a server key can change the e-mail address, login name, password and status of \
        another user.
        """
    )
}

extension Failure {
    /// Calls `body`, and adds a position to its failure.
    ///
    /// The position is that of a record in the list that a client sent.
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
