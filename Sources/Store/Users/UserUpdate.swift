package import Domain
import Encodings
import Postgres

/// The author of a change of a user's record.
package enum RecordWriter: Sendable {
    /// The user of the session whose token has this SHA-256 hash.
    ///
    /// With `factorWithin`, a user who has a second factor must have verified one within this number of seconds.
    case session([UInt8], factorWithin: Int?)
    /// The user who has opened a mailed link, which is used up. The value is the SHA-256 hash of the link's token.
    case mailedLink([UInt8])
    /// Another author, whom the audit log names.
    case other(ChangeAuthor)

    fileprivate var session: [UInt8]? {
        guard case .session(let tokenHash, _) = self else { return nil }
        return tokenHash
    }
}

/// A change of a user's record.
package struct UserUpdate: Sendable {
    package let id: ObjectID
    package let given: GivenProperties
    /// The change of the password login; nil for none.
    package let login: LoginChange?
    /// The notices to the former e-mail address; nil if the address does not change, or if no mail can be sent.
    package let announcement: Announcement?
    /// Whether the user has shown access to the mailbox of the given e-mail address.
    package let confirmsAddress: Bool

    /// A new login name, a new password, or both.
    package struct LoginChange: Sendable {
        /// The new login name in the normalized form by which login names are compared (`Login.key`).
        package let login: String
        /// The new password; nil for no change.
        package let password: StoredPassword?
        /// The hash of the password when the change was authorized; nil when there was none.
        package let formerHash: EncryptedSecret?

        package init(login: String, password: StoredPassword?, formerHash: EncryptedSecret?) {
            self.login = login
            self.password = password
            self.formerHash = formerHash
        }
    }

    package init(
        id: ObjectID,
        given: GivenProperties,
        login: LoginChange?,
        announcement: Announcement? = nil,
        confirmsAddress: Bool = false
    ) {
        self.id = id
        self.given = given
        self.login = login
        self.announcement = announcement
        self.confirmsAddress = confirmsAddress
    }
}

extension Store {
    /// Changes the record of a user in one transaction.
    ///
    /// The user's row is locked before dependent rows, as in a login (see `LoginStatement`). A changed e-mail address
    /// becomes unverified, and mailed links to the former address are revoked, except those that reverse a change. A
    /// new password revokes all sessions except the one that sets it.
    ///
    /// - Parameters:
    ///   - update: The change.
    ///   - writer: The author of the change.
    ///   - application: The application of the user.
    /// - Returns: The user after the change.
    /// - Throws: `session_invalid` when the session has ended meanwhile, `link_invalid`, `not_found`,
    ///   `login_taken_by_other`, `conflict` when the password has been changed meanwhile, `property_missing`,
    ///   `constraint_violation` and similar failures. Nothing is written then.
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

/// Carries out one update of a user's record.
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
        ).first([UInt8].self, String.self)
        let formerLogin = former?.1
        // The hash was read under the lock. The change was authorized by the former password, which must still be the
        // stored one.
        if let change = update.login {
            guard former?.0 == change.formerHash?.bytes else { throw Failure.changedMeanwhile }
        }
        if let announcement = update.announcement {
            try await connection.announce(announcement, to: update.id, of: application)
        }
        let (user, hasNewIdentity) = try await write(connection)
        if let change = update.login { try await self.change(change, connection) }
        // The login name and its property may already differ, by an operator's edit. That must not prevent a change of
        // the password.
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
        case .mailedLink(let tokenHash):
            let used = try await connection.query(
                """
                with person as (
                    select u.object_id from \(identifier: schema).users u
                    where u.object_id = \(update.id.uuid) and u.user_status = 'ENABLED' for no key update
                )
                delete from \(identifier: schema).email_proofs e
                where \(Store.counts(tokenHash, .newAddress)) and e.object_id = (select person.object_id from person)
                """
            )
            guard used.affectedRows == 1 else { throw Failure.linkInvalid }
        case .other:
            let locked = try await connection.query(
                "select from \(identifier: schema).users where object_id = \(update.id.uuid) for no key update"
            )
            guard locked.count == 1 else { throw Failure.noSuchUser }
        }
    }

    /// The audit log entry of the update.
    ///
    /// It has the names of the properties, but no values.
    private var entry: AuditRecord {
        var names = update.given.values.map(\.property.name.text) + update.given.dynamic.members.map(\.key)
        if update.login?.password != nil { names.append("password") }
        return AuditRecord(
            "user.update",
            of: update.id.description,
            in: application.id,
            to: .object(["properties": .array(names.map(JSONValue.string))])
        )
    }

    private func write(_ connection: PostgresConnection) async throws -> (user: User, hasNewIdentity: Bool) {
        let columns = UserColumns(application: application)
        let assignments = UserAssignments(update.given, confirmingAddress: update.confirmsAddress)
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
        guard let user = try result.first(by: columns.user) else { throw Failure.noSuchUser }
        let (email, formerLogin) = try former.first(String?.self, String?.self) ?? (nil, nil)
        if email != user.email { try await connection.endLinks(of: update.id, schema: schema) }
        if !update.given.dynamic.members.isEmpty { try user.dynamic.checkDynamicSize() }
        let login = user.text(of: identity)
        return (user, login.map { formerLogin?.hasSameBytes(as: $0) != true } ?? (formerLogin != nil))
    }

    private var identity: PropertyName { application.settings.identityProperty }

    /// Throws `conflict` if the given login name is not the one in the user's record, because one of them was changed
    /// meanwhile.
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
