import Postgres
package import Vocabulary

/// Who changes the record of a user.
package enum RecordWriter: Sendable {
    /// The user, by a session: SHA-256 of its token. Where the change takes a second factor of those who have one, it
    /// must have been shown within so many seconds.
    case session([UInt8], factorWithin: Int?)
    /// Somebody else, whom the audit log names.
    case other(Actor)

    fileprivate var session: [UInt8]? {
        guard case .session(let tokenHash, _) = self else { return nil }
        return tokenHash
    }
}

/// What is changed of the record of a user.
package struct UserUpdate: Sendable {
    package let id: ObjectID
    package let given: GivenProperties
    /// What becomes of the login by a password; nil leaves it as it is.
    package let login: LoginChange?
    /// What is told to the address that becomes another; nil when it stays, or nobody can be told.
    package let announcement: Announcement?

    /// A new login, a new password, or both.
    package struct LoginChange: Sendable {
        /// `Login.key` of what the user logs in by from here on.
        package let login: String
        /// The new password; nil leaves it as it is.
        package let password: StoredPassword?
        /// The hash of the password as it was when the change was allowed; nil when there was none.
        package let formerHash: SealedSecret?

        package init(login: String, password: StoredPassword?, formerHash: SealedSecret?) {
            self.login = login
            self.password = password
            self.formerHash = formerHash
        }
    }

    package init(id: ObjectID, given: GivenProperties, login: LoginChange?, announcement: Announcement? = nil) {
        self.id = id
        self.given = given
        self.login = login
        self.announcement = announcement
    }
}

extension Store {
    /// Changes the record of a user in one transaction.
    ///
    /// The user is locked first and what hangs on it after that, as a login does (see `SignInStatement`). An e-mail
    /// address that becomes another is unverified, and links to the old one count no more but those that undo it; a new
    /// password ends all sessions but the one that sets it.
    ///
    /// - Parameters:
    ///   - update: What changes.
    ///   - writer: Who changes it.
    ///   - application: Whose user it is.
    /// - Returns: The user as it is afterwards.
    /// - Throws: `session_invalid` when the session has ended meanwhile, `not_found`, `login_taken_by_other`,
    ///   `conflict` when the password has been changed meanwhile, `property_missing`, `constraint_violation` and their
    ///   like; nothing is written then.
    package func update(
        _ update: UserUpdate,
        by writer: RecordWriter,
        of application: Application
    ) async throws(Failure) -> StatementOutcome<User> {
        let tables = tables(of: application)
        let work = UserUpdateWork(update: update, writer: writer, application: application, tables: tables)
        return try await current(application, explain: { await userWriteFailure(of: $0, in: application) }) {
            try await tables.withTransaction { try await work.perform($0) }
        }
    }
}

/// The steps of one update.
private struct UserUpdateWork: Sendable {
    let update: UserUpdate
    let writer: RecordWriter
    let application: Application
    let tables: Tables

    private var schema: String { application.schema }

    func perform(_ connection: PostgresConnection) async throws -> User {
        try await lock(connection)
        let former = try await connection.query(
            "select hash, login from \(identifier: schema).passwords where object_id = \(update.id.uuid)"
        )
        let formerLogin = try former.first?.decode(1, as: String.self)
        // Read under the lock: the password that the change was allowed for must still be the one.
        if let change = update.login {
            guard try former.first?.decode(0, as: [UInt8].self) == change.formerHash?.bytes else {
                throw Failure.changedMeanwhile
            }
        }
        if let announcement = update.announcement {
            try await connection.announce(announcement, to: update.id, of: application)
        }
        let (user, hasNewIdentity) = try await write(connection)
        if let change = update.login { try await self.change(change, connection) }
        // An operator may have edited one of them, which keeps nobody from changing the password.
        let login = update.login?.login ?? formerLogin
        if let login, hasNewIdentity || formerLogin?.hasSameBytes(as: login) != true { try check(login, of: user) }
        if case .other(let actor) = writer { try await tables.record([entry], by: actor, with: connection) }
        return user
    }

    private func lock(_ connection: PostgresConnection) async throws {
        switch writer {
        case .session(let tokenHash, let seconds):
            guard let owner = try await connection.lockUser(ofSession: tokenHash, of: application),
                owner.id == update.id, owner.status != .disabled
            else { throw Failure.sessionInvalid }
            if let seconds { try owner.requireFactor(within: seconds) }
        case .other:
            let locked = try await connection.query(
                "select from \(identifier: schema).users where object_id = \(update.id.uuid) for no key update"
            )
            guard locked.count == 1 else { throw Failure.noSuchUser }
        }
    }

    /// What the audit log gets: names, no values.
    private var entry: AuditRecord {
        var names = update.given.values.map(\.property.name.text) + update.given.dynamic.members.map(\.key)
        if update.login?.password != nil { names.append("password") }
        return AuditRecord(
            application: application.id,
            action: "user.update",
            target: update.id.description,
            from: nil,
            to: .object(["properties": .array(names.map(JSONValue.string))])
        )
    }

    private func write(_ connection: PostgresConnection) async throws -> (user: User, hasNewIdentity: Bool) {
        let columns = UserColumns(application: application)
        let assignments = UserAssignments(update.given)
        let former = try await connection.query(
            """
            select email, \(identifier: identity.text) from \(identifier: schema).users
            where object_id = \(update.id.uuid)
            """
        )
        let result = try await connection.query(
            """
            update \(identifier: schema).users u set \(assignments.statement)
            where u.object_id = \(update.id.uuid) returning \(unsafeRaw: columns.list(of: "u"))
            """
        )
        guard let row = result.first else { throw Failure.noSuchUser }
        let user = try columns.user(in: row, from: 0)
        let email = try former.first?.decode(0, as: String?.self)
        if email != user.email { try await connection.endLinks(of: update.id, schema: schema) }
        if !update.given.dynamic.members.isEmpty { try user.dynamic.checkDynamicSize() }
        let formerLogin = try former.first?.decode(1, as: String?.self)
        let login = user.text(of: identity)
        return (user, login.map { formerLogin?.hasSameBytes(as: $0) != true } ?? (formerLogin != nil))
    }

    private var identity: PropertyName { application.settings.identityProperty }

    /// What logs in is what the property says: neither becomes another because the other was changed meanwhile.
    private func check(_ login: String, of user: User) throws(Failure) {
        guard application.login(of: user)?.key.hasSameBytes(as: login) == true else { throw Failure.changedMeanwhile }
    }

    private func change(_ login: UserUpdate.LoginChange, _ connection: PostgresConnection) async throws {
        if let password = login.password {
            _ = try await connection.query(password.replacement(in: application))
            try await connection.endSessions(of: update.id, sparing: writer.session ?? [], schema: schema)
            try await connection.endLinks(of: update.id, schema: schema)
        } else {
            _ = try await connection.query(
                """
                update \(identifier: schema).passwords set login = \(login.login)
                where object_id = \(update.id.uuid)
                """
            )
        }
    }
}
