package import Domain
import Encodings
import Postgres

/// The registration of a user with a password.
package struct RegistrationWrite: Sendable {
    /// The password, with the id of the user.
    package let password: StoredPassword
    package let status: UserStatus
    package let given: GivenProperties
    /// The invitation that a new user presents; nil if invitations do not matter.
    package let invitation: InvitationClaim?
    /// Whether the user has shown access to the mailbox of the given e-mail address.
    package let confirmsAddress: Bool

    package init(
        password: StoredPassword,
        status: UserStatus,
        given: GivenProperties,
        invitation: InvitationClaim? = nil,
        confirmsAddress: Bool = false
    ) {
        self.password = password
        self.status = status
        self.given = given
        self.invitation = invitation
        self.confirmsAddress = confirmsAddress
    }
}

/// A user whom an authorized client creates.
package struct NewUser: Sendable {
    package let id: ObjectID
    /// The password; nil for a user who logs in by another method.
    package let password: StoredPassword?
    package let status: UserStatus
    package let given: GivenProperties
    /// Roles of the application to give to the user.
    package var roles: [String] = []
    /// Whether the given e-mail address counts as confirmed.
    package var confirmsAddress = false
    /// The uid of the user for Firebase's clients; nil if it is the object id.
    package var uid: String?

    package init(id: ObjectID, password: StoredPassword?, status: UserStatus, given: GivenProperties) {
        self.id = id
        self.password = password
        self.status = status
        self.given = given
    }
}

extension Store {
    /// Creates a user with a password.
    ///
    /// This is one statement, or a transaction if an invitation is required.
    ///
    /// The statement claims the login name first, and creates the user only if it got the name: of two registrations
    /// with the same login name, one creates no user.
    ///
    /// - Returns: The user; nil when the login name is another user's.
    /// - Throws: `invitation_required`, `invitation_invalid`, `property_missing`, `constraint_violation`,
    ///   `store_unavailable` and similar failures. Nothing is written then.
    package func register(
        _ write: RegistrationWrite,
        of application: Application
    ) async throws(Failure) -> StatementOutcome<User?> {
        try write.given.dynamic.checkDynamicSize()
        let columns = UserColumns(application: application)
        var new = NewUser(
            id: write.password.objectID,
            password: write.password,
            status: write.status,
            given: write.given
        )
        new.confirmsAddress = write.confirmsAddress
        let insertion = Self.insertion(of: new, columns, application)
        guard application.asksForInvitation(write.invitation) else {
            return try await onlyUser(by: insertion, columns, of: application)
        }
        return try await current(application, explain: { await userWriteFailure(of: $0, in: application) }) {
            try await tables(of: application).withTransaction { connection -> User? in
                let held = try await connection.requireInvitation(write.invitation, to: application)
                guard let user = try await connection.query(insertion).first(by: columns.user) else { return nil }
                return try await accept(held, of: write, by: user, in: application, connection)
            }
        }
    }

    /// Accepts the invitation of a registration.
    ///
    /// If the link was sent to the user's address, this confirms the address.
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

    /// Creates several users in one transaction, for an authorized client: all of them, or none.
    ///
    /// The audit log gets an entry with the id of each user.
    ///
    /// - Returns: The users.
    /// - Throws: `login_taken`, `property_missing`, `constraint_violation` and similar failures, with the `position` of
    ///   the user at fault; `store_unavailable` and similar failures. Nothing is written then.
    package func create(
        _ new: [NewUser],
        by actor: ChangeAuthor,
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
                            guard let made = try inserted.first(by: columns.user) else {
                                throw Failure.loginTaken(at: position)
                            }
                            if let uid = user.uid,
                                try await !connection.give(uid, to: user.id, schema: application.schema)
                            {
                                throw Failure.uidTaken
                            }
                            for role in user.roles {
                                _ = try await connection.query(
                                    """
                                    insert into \(identifier: application.schema).user_roles (object_id, role)
                                    values (\(user.id.uuid), \(role)) on conflict do nothing
                                    """
                                )
                            }
                            users.append(made)
                        } catch let error as PostgresError where error.isAboutValues {
                            throw RefusedUser(position: position, error: error)
                        } catch let failure as Failure {
                            throw failure.at(position)
                        }
                    }
                    let entries = new.map { user in
                        AuditRecord(
                            "user.create",
                            of: user.id.description,
                            in: application.id,
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

    /// Returns the statement that creates one user.
    ///
    /// It creates none if another user has the login name.
    private static func insertion(
        of user: NewUser,
        _ columns: UserColumns,
        _ application: Application
    ) -> Statement {
        let inserted = InsertedColumns(user.given)
        let confirmed: (name: Statement, value: Statement) =
            user.confirmsAddress ? (", email_verified", ", true") : ("", "")
        let claimed: Statement =
            user.password.map { "\($0.claim(in: application)) returning object_id" }
            ?? "select \(user.id.uuid) as object_id"
        return """
            with claimed as (
                \(claimed)
            )
            insert into \(identifier: application.schema).users as u
                (object_id, user_status, social_account, locale, dynamic\(inserted.names)\(confirmed.name))
            select object_id, \(user.status.rawValue), \(Self.ownAccount), \(user.given.locale?.value),
                \(user.given.presentDynamic)\(inserted.values)\(confirmed.value)
            from claimed
            returning \(unsafeRaw: columns.list(of: "u"))
            """
    }

    /// Creates a guest with a session.
    ///
    /// - Parameters:
    ///   - id: The id of the new guest.
    ///   - tokenHash: SHA-256 of the session's token.
    ///   - refreshToken: The first secret of the session's refresh tokens; nil if the client uses no refresh tokens.
    ///   - claim: The invitation that the guest presents; nil if invitations do not matter.
    ///   - application: The application of the guest.
    /// - Returns: The guest and the session.
    /// - Throws: `invitation_required`, `invitation_invalid`, `property_missing` where a guest would lack a required
    ///   property, and similar failures.
    package func makeGuest(
        _ id: ObjectID,
        tokenHash: [UInt8],
        refreshToken: NewRefreshSecret? = nil,
        invitedBy claim: InvitationClaim? = nil,
        of application: Application
    ) async throws(Failure) -> StatementOutcome<OpenedSession> {
        let columns = UserColumns(application: application)
        let family = refreshToken.map { secret in RefreshFamilyStep<Void>(application: application) { secret } }
        func part(_ text: SQL<Void>?) -> Statement { text?.bound(to: ()) ?? "" }
        let insertion: Statement = """
            with session as (
                insert into \(identifier: application.schema).sessions as s (token_hash, object_id, expires)
                values (\(tokenHash), \(id.uuid),
                    now() + make_interval(secs => \(application.settings.sessionAbsoluteSeconds)))
                \(part(family?.returning))
            ), person as (
                insert into \(identifier: application.schema).users as u
                    (object_id, user_status, social_account, last_login)
                values (\(id.uuid), \(UserStatus.guest.rawValue), \(Self.ownAccount), now())
                returning \(unsafeRaw: columns.list(of: "u"))
            )\(part(family.map { ", \($0.expression)" }))
            select person.*\(part(family?.columns)) from person\(part(family?.join))
            """
        @Sendable func opened(by result: ResultSet) throws(PostgresError) -> OpenedSession? {
            try result.first { (row) throws(PostgresError) in
                try OpenedSession(&row, by: columns, withFacts: refreshToken != nil)
            }
        }
        let guest = try await current(application, explain: { await userWriteFailure(of: $0, in: application) }) {
            guard application.asksForInvitation(claim) else {
                return try opened(
                    by: try await tables(of: application).query(insertion, near: application.affinity)
                )
            }
            return try await tables(of: application).withTransaction { connection -> OpenedSession? in
                let held = try await connection.requireInvitation(claim, to: application)
                guard var guest = try opened(by: try await connection.query(insertion)) else { return nil }
                guard let held, let claim else { return guest }
                guest.user = try await accept(held, of: claim, by: guest.user, in: application, connection)
                guest.facts?.account.user = guest.user
                return guest
            }
        }
        return try guest.map { guest throws(Failure) in
            guard let guest else { throw Failure(.internal, "The guest could not be created.") }
            return guest
        }
    }

    /// The `social_account` of users without a provider, as client SDKs expect it (docs/protocols/backendless.md §3.2).
    package static let ownAccount = "BACKENDLESS"

    private func onlyUser(
        by statement: Statement,
        _ columns: UserColumns,
        of application: Application
    ) async throws(Failure) -> StatementOutcome<User?> {
        try await current(application, explain: { await userWriteFailure(of: $0, in: application) }) {
            try await tables(of: application).query(statement, near: application.affinity).first(by: columns.user)
        }
    }
}

extension StoredPassword {
    /// Returns the statement that inserts the password unless another user has the login name.
    func claim(in application: Application) -> Statement {
        """
        insert into \(identifier: application.schema).passwords (object_id, login, hash, hash_key_id)
        values (\(objectID.uuid), \(login), \(hash.bytes), \(hash.keyID))
        on conflict (login) do nothing
        """
    }
}

extension Failure {
    /// The failure for a uid that another user has.
    package static let uidTaken = Failure(.conflict, "Another user already has this uid.")

    fileprivate static func loginTaken(at position: Int) -> Failure {
        Failure(
            .loginTaken,
            "No user was created, because another user already has the login name of element \(position + 1)."
        )
    }

    /// Returns the failure with the position of the list's element that caused it.
    fileprivate func at(_ position: Int) -> Failure { adding(["position": .integer(Int64(position))]) }
}

/// The error that the values of one of several new users caused.
///
/// A retry of the transaction would fail, too.
private struct RefusedUser: Error {
    let position: Int
    let error: PostgresError
}

extension PostgresError {
    /// Whether a statement's values caused the error, or a trigger of the operator's refused them.
    fileprivate var isAboutValues: Bool {
        handling == .constraintViolation || handling == .clientFault || sqlState == "P0001"
    }
}

/// The columns of an insert for which a client gave a value; the other columns get the table's defaults.
struct InsertedColumns {
    /// The column names, each preceded by a comma, like the values in `values`.
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
