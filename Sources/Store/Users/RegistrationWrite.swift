import Postgres
package import Vocabulary

/// An account that somebody makes without a provider.
package struct RegistrationWrite: Sendable {
    /// The password, with the id of the user.
    package let password: StoredPassword
    package let status: UserStatus
    package let given: GivenProperties
    /// The claim of a new person to an invitation; nil where no invitation matters.
    package let invitation: InvitationClaim?

    package init(
        password: StoredPassword,
        status: UserStatus,
        given: GivenProperties,
        invitation: InvitationClaim? = nil
    ) {
        self.password = password
        self.status = status
        self.given = given
        self.invitation = invitation
    }
}

/// A user whom somebody makes who has the right to.
package struct NewUser: Sendable {
    package let id: ObjectID
    /// Nil for one who logs in otherwise.
    package let password: StoredPassword?
    package let status: UserStatus
    package let given: GivenProperties
    /// Roles of the application that the user gets.
    package var roles: [String] = []

    package init(id: ObjectID, password: StoredPassword?, status: UserStatus, given: GivenProperties) {
        self.id = id
        self.password = password
        self.status = status
        self.given = given
    }
}

extension Store {
    /// Makes a user with a password: in one statement, or where an invitation is asked for in one transaction.
    ///
    /// The login is claimed first, and the user is made only by the statement that got it: of two that want the same
    /// login one makes no user.
    ///
    /// - Returns: The user; nil when the login is another user's.
    /// - Throws: `invitation_required`, `invitation_invalid`, `property_missing`, `constraint_violation`,
    ///   `store_unavailable` and their like; nothing is written then.
    package func register(
        _ write: RegistrationWrite,
        of application: Application
    ) async throws(Failure) -> StatementOutcome<User?> {
        try write.given.dynamic.checkDynamicSize()
        let columns = UserColumns(application: application)
        let insertion = Self.insertion(
            of: NewUser(
                id: write.password.objectID,
                password: write.password,
                status: write.status,
                given: write.given
            ),
            columns,
            application
        )
        guard application.asksForInvitation(write.invitation) else {
            return try await onlyUser(by: insertion, columns, of: application)
        }
        return try await current(application, explain: { await userWriteFailure(of: $0, in: application) }) {
            try await tables(of: application).withTransaction { connection -> User? in
                let held = try await connection.requireInvitation(write.invitation, to: application)
                guard let row = try await connection.query(insertion).first else { return nil }
                let user = try columns.user(in: row, from: 0)
                return try await accept(held, of: write, by: user, in: application, connection)
            }
        }
    }

    /// Takes the invitation of a registration, which confirms the address that the link was sent to.
    func accept(
        _ held: HeldInvitation?,
        of write: RegistrationWrite,
        by user: User,
        in application: Application,
        _ connection: PostgresConnection
    ) async throws -> User {
        guard let held, let claim = write.invitation else { return user }
        return try await accept(
            held,
            of: claim,
            by: user,
            confirming: held.confirms(user.email),
            in: application,
            connection
        )
    }

    /// Makes users for somebody who has the right to, all or none, in one transaction; the audit log gets their ids.
    ///
    /// - Returns: The users.
    /// - Throws: `login_taken`, `property_missing`, `constraint_violation` and their like, with the `position` of the
    ///   user at fault, `store_unavailable` and its like; nothing is written then.
    package func create(
        _ new: [NewUser],
        by actor: Actor,
        of application: Application
    ) async throws(Failure) -> StatementOutcome<[User]> {
        let columns = UserColumns(application: application)
        return try await current(application, explain: { await userWriteFailure(of: $0, in: application) }) {
            do {
                return try await tables(of: application).withTransaction { connection in
                    var users: [User] = []
                    for (position, user) in new.enumerated() {
                        do {
                            try user.given.dynamic.checkDynamicSize()
                            let inserted = try await connection.query(Self.insertion(of: user, columns, application))
                            guard let row = inserted.first else { throw Failure.loginTaken(at: position) }
                            for role in user.roles {
                                _ = try await connection.query(
                                    """
                                    insert into \(identifier: application.schema).user_roles (object_id, role)
                                    values (\(user.id.uuid), \(role)) on conflict do nothing
                                    """
                                )
                            }
                            users.append(try columns.user(in: row, from: 0))
                        } catch let error as PostgresError where error.isAboutValues {
                            throw RefusedUser(position: position, error: error)
                        } catch let failure as Failure {
                            throw failure.at(position)
                        }
                    }
                    let entries = new.map { user in
                        AuditRecord(
                            application: application.id,
                            action: "user.create",
                            target: user.id.description,
                            from: nil,
                            to: user.roles.isEmpty
                                ? nil : .object(["roles": .array(user.roles.map(JSONValue.string))])
                        )
                    }
                    try await tables(of: application).record(entries, by: actor, with: connection)
                    return users
                }
            } catch let refused as RefusedUser {
                let missing = await userWriteFailure(of: refused.error, in: application)
                let other = await failure(of: refused.error, in: application)
                throw (missing ?? other).at(refused.position)
            }
        }
    }

    /// Makes one user; none where the login is another user's.
    private static func insertion(
        of user: NewUser,
        _ columns: UserColumns,
        _ application: Application
    ) -> Statement {
        let inserted = InsertedColumns(user.given)
        let claimed: Statement =
            user.password.map { "\($0.claim(in: application)) returning object_id" }
            ?? "select \(user.id.uuid) as object_id"
        return """
            with claimed as (
                \(claimed)
            )
            insert into \(identifier: application.schema).users as u
                (object_id, user_status, social_account, locale, dynamic\(inserted.names))
            select object_id, \(user.status.rawValue), \(Self.ownAccount), \(user.given.locale?.value),
                \(user.given.presentDynamic)\(inserted.values)
            from claimed
            returning \(unsafeRaw: columns.list(of: "u"))
            """
    }

    /// Makes a guest with a session.
    ///
    /// - Parameters:
    ///   - id: The id that the guest gets.
    ///   - tokenHash: SHA-256 of the session's token.
    ///   - claim: The guest's claim to an invitation; nil where no invitation matters.
    ///   - application: Whose guest it is.
    /// - Returns: The guest.
    /// - Throws: `invitation_required`, `invitation_invalid`; `property_missing` where a guest would lack something,
    ///   and its like.
    package func makeGuest(
        _ id: ObjectID,
        tokenHash: [UInt8],
        invitedBy claim: InvitationClaim? = nil,
        of application: Application
    ) async throws(Failure) -> StatementOutcome<User> {
        let columns = UserColumns(application: application)
        let insertion: Statement = """
            with session as (
                insert into \(identifier: application.schema).sessions (token_hash, object_id, expires)
                values (\(tokenHash), \(id.uuid),
                    now() + make_interval(secs => \(application.settings.sessionAbsoluteSeconds)))
            )
            insert into \(identifier: application.schema).users as u
                (object_id, user_status, social_account, last_login)
            values (\(id.uuid), \(UserStatus.guest.rawValue), \(Self.ownAccount), now())
            returning \(unsafeRaw: columns.list(of: "u"))
            """
        let guest =
            application.asksForInvitation(claim)
            ? try await current(application, explain: { await userWriteFailure(of: $0, in: application) }) {
                try await tables(of: application).withTransaction { connection -> User? in
                    let held = try await connection.requireInvitation(claim, to: application)
                    guard let row = try await connection.query(insertion).first else { return nil }
                    let user = try columns.user(in: row, from: 0)
                    guard let held, let claim else { return user }
                    return try await accept(held, of: claim, by: user, in: application, connection)
                }
            } : try await onlyUser(by: insertion, columns, of: application)
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
        try await current(application, explain: { await userWriteFailure(of: $0, in: application) }) {
            try await tables(of: application).query(statement, near: application.affinity).first
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
    fileprivate static func loginTaken(at position: Int) -> Failure {
        Failure(
            .loginTaken,
            "Another user logs in by what element \(position + 1) has already. None has been made."
        )
    }

    /// The same failure as that of an element of a list.
    fileprivate func at(_ position: Int) -> Failure { adding(["position": .integer(Int64(position))]) }
}

/// An error of the statement that makes one of several users, which its values are at fault for: another run of the
/// transaction would end with it, too.
private struct RefusedUser: Error {
    let position: Int
    let error: PostgresError
}

extension PostgresError {
    /// Whether the values of a statement are at fault, or a trigger of the operator's refuses them.
    fileprivate var isAboutValues: Bool {
        handling == .constraintViolation || handling == .clientFault || sqlState == "P0001"
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
