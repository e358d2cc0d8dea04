package import Domain
import Postgres

extension Store {
    /// Converts a guest to a user with a password, who keeps the guest's id and properties.
    ///
    /// The guest's sessions are revoked, since others may know the token of one of them. The next session is opened by
    /// the password (T-33).
    ///
    /// - Parameters:
    ///   - write: The account, with the id of the guest.
    ///   - tokenHash: SHA-256 of the token of a session of the guest.
    ///   - application: The application of the guest.
    /// - Returns: The user; nil when the login name is another user's.
    /// - Throws: `guest_invalid` unless the session is valid and the guest's, `invitation_required`,
    ///   `invitation_invalid`, `property_missing`, `constraint_violation` and similar failures. Nothing is written
    ///   then.
    package func convertGuest(
        _ write: RegistrationWrite,
        bySession tokenHash: [UInt8],
        of application: Application
    ) async throws(Failure) -> StatementOutcome<User?> {
        let columns = UserColumns(application: application)
        let schema = application.schema
        return try await current(application, explain: { await userWriteFailure(of: $0, in: application) }) {
            try await tables(of: application).withTransaction { connection -> User? in
                guard let guest = try await connection.lockUser(ofSession: tokenHash, of: application),
                    guest.id == write.password.objectID, guest.status == .guest
                else { throw Failure.guestInvalid }
                let held = try await connection.requireInvitation(
                    write.invitation,
                    ofGuest: guest.id,
                    to: application
                )
                let claimed = try await connection.query(write.password.claim(in: application))
                guard claimed.affectedRows == 1 else { return nil }
                var assignments = UserAssignments(write.given, confirmingAddress: write.confirmsAddress)
                assignments.set("user_status", to: "\(write.status.rawValue)")
                // A user who has registered has not logged in yet.
                assignments.set("last_login", to: "null")
                let result = try await connection.query(
                    """
                    update \(identifier: schema).users u set \(assignments.statement)
                    where u.object_id = \(write.password.objectID.uuid) returning \(unsafeRaw: columns.list(of: "u"))
                    """
                )
                try await connection.endSessions(of: write.password.objectID, schema: schema)
                guard let user = try result.first(by: columns.user) else { throw Failure.guestInvalid }
                try user.dynamic.checkDynamicSize()
                return try await accept(held, of: write, by: user, in: application, connection)
            }
        }
    }
}

extension Failure {
    /// The failure to report if a guest cannot become a user with a password.
    ///
    /// Its text is the same for every reason, so that it reveals nothing about other guests.
    package static let guestInvalid = Failure(
        .guestInvalid,
        """
        A guest needs the guest's own session to become a user. Send it as user-token, or leave out objectId to create \
        a new user.
        """
    )
}
