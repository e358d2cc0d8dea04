import Postgres
package import Vocabulary

/// An account that somebody makes without a provider.
package struct RegistrationWrite: Sendable {
    /// The password, with the id of the user.
    package let password: StoredPassword
    package let status: UserStatus
    package let given: GivenProperties

    package init(password: StoredPassword, status: UserStatus, given: GivenProperties) {
        self.password = password
        self.status = status
        self.given = given
    }
}

extension Store {
    /// Makes a user with a password, in one statement.
    ///
    /// The login is claimed first, and the user is made only by the statement that got it: of two that want the same
    /// login one makes no user.
    ///
    /// - Returns: The user; nil when the login is another user's.
    /// - Throws: `property_missing`, `constraint_violation`, `store_unavailable` and their like; nothing is written
    ///   then.
    package func register(
        _ write: RegistrationWrite,
        of application: Application
    ) async throws(Failure) -> StatementOutcome<User?> {
        try write.given.dynamic.checkDynamicSize()
        let columns = UserColumns(application: application)
        let inserted = InsertedColumns(write.given)
        return try await onlyUser(
            by: """
                with claimed as (
                    \(write.password.claim(in: application))
                    returning object_id
                )
                insert into \(identifier: application.schema).users as u
                    (object_id, user_status, social_account, locale, dynamic\(inserted.names))
                select object_id, \(write.status.rawValue), \(Self.ownAccount), \(write.given.locale?.value),
                    \(write.given.presentDynamic)\(inserted.values)
                from claimed
                returning \(unsafeRaw: columns.list(of: "u"))
                """,
            columns,
            of: application
        )
    }

    /// Makes a guest with a session.
    ///
    /// - Parameters:
    ///   - id: The id that the guest gets.
    ///   - tokenHash: SHA-256 of the session's token.
    ///   - application: Whose guest it is.
    /// - Returns: The guest.
    /// - Throws: `property_missing` where a guest would lack something, and its like.
    package func makeGuest(
        _ id: ObjectID,
        tokenHash: [UInt8],
        of application: Application
    ) async throws(Failure) -> StatementOutcome<User> {
        let columns = UserColumns(application: application)
        let guest = try await onlyUser(
            by: """
                with session as (
                    insert into \(identifier: application.schema).sessions (token_hash, object_id, expires)
                    values (\(tokenHash), \(id.uuid),
                        now() + make_interval(secs => \(application.settings.sessionAbsoluteSeconds)))
                )
                insert into \(identifier: application.schema).users as u
                    (object_id, user_status, social_account, last_login)
                values (\(id.uuid), \(UserStatus.guest.rawValue), \(Self.ownAccount), now())
                returning \(unsafeRaw: columns.list(of: "u"))
                """,
            columns,
            of: application
        )
        return try guest.map { guest throws(Failure) in
            guard let guest else { throw Failure(.internal, "The service could not make a guest.") }
            return guest
        }
    }

    /// The word of client SDKs for users who came by no provider (docs/protocols/backendless.md §3.2).
    package static let ownAccount = "BACKENDLESS"

    private func onlyUser(
        by statement: Statement,
        _ columns: UserColumns,
        of application: Application
    ) async throws(Failure) -> StatementOutcome<User?> {
        try await current(application, explain: Failure.init(ofUserWrite:)) {
            try await postgres.query(statement, near: application.affinity).first
                .map { row in try columns.user(in: row, from: 0) }
        }
    }
}

extension StoredPassword {
    /// Inserts the password unless another user has the login.
    func claim(in application: Application) -> Statement {
        """
        insert into \(identifier: application.schema).passwords (object_id, login, hash, hash_key_id)
        values (\(objectID.uuid), \(login), \(hash.bytes), \(hash.keyID))
        on conflict (login) do nothing
        """
    }
}

extension Failure {
    /// What an error means of a statement that writes what a client gave, beyond what it means of others.
    init?(ofUserWrite error: PostgresError) {
        guard case .server(let server) = error, server.sqlState == "23502", server.table == "users",
            let column = server.column
        else { return nil }
        self = .propertyMissing(column)
    }

    /// The column of a property that every user must have was left empty.
    fileprivate static func propertyMissing(_ column: String) -> Failure {
        Failure(
            .propertyMissing,
            "Every user must have the property \"\(column)\". Give it a value.",
            details: ["property": .string(column)]
        )
    }
}

/// The columns of an insert that something is given to; the others get what the table says.
struct InsertedColumns {
    /// Each behind a comma.
    let names: Statement
    let values: Statement

    init(_ given: GivenProperties) {
        var (names, values) = (Statement(sql: ""), Statement(sql: ""))
        for (property, value) in given.values {
            guard let value else { continue }
            names.append(", \(identifier: property.name.text)")
            values.append(", \(bind: value.bind)")
        }
        self.names = names
        self.values = values
    }
}

extension GivenProperties {
    /// The undeclared properties that have a value.
    var presentDynamic: JSONText {
        JSONText(JSONValue.object(JSONObject(dynamic.members.filter { !$0.value.isNull })).text)
    }
}
