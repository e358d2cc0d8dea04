package import Domain
package import Encodings
import FoundationEssentials
import Postgres

/// The invitation that a client presents at a login or a registration; it is used only if a new user is created.
///
/// This is a class to save memory: a struct would take memory in each suspended function of each login, although most
/// logins have no invitation.
package final class InvitationClaim: Sendable {
    /// SHA-256 of the token of the invitation's link; nil if the client sent no token.
    package let tokenHash: [UInt8]?
    /// Converts the properties of an invitation by the application's present rules.
    let given: @Sendable (JSONObject) -> GivenProperties

    package init(tokenHash: [UInt8]?, given: @escaping @Sendable (JSONObject) -> GivenProperties) {
        self.tokenHash = tokenHash
        self.given = given
    }
}

/// An invitation that is about to be accepted: its row is locked until the transaction ends.
struct HeldInvitation {
    fileprivate let id: ObjectID
    fileprivate let roles: [String]
    fileprivate let properties: JSONObject
    private let email: String?
    private let isSent: Bool

    fileprivate init(_ row: inout Row) throws(PostgresError) {
        id = try row.next()
        roles = try row.next()
        properties = try row.next(JSONValue.self).object ?? [:]
        email = try row.next()
        isSent = try row.next(Int64.self) > 0
    }

    /// Whether acceptance confirms an e-mail address: the link was sent to that address and was not shown to an
    /// operator.
    func confirms(_ address: String?) -> Bool {
        guard isSent, let invited = email.flatMap({ EmailAddress($0) }),
            let given = address.flatMap({ EmailAddress($0) })
        else { return false }
        return invited.login.hasSameBytes(as: given.login)
    }
}

extension Application {
    /// Whether new users need no invitation.
    var admitsAnybody: Bool { settings.newUsers == .open }

    /// Whether an invitation matters for a new user: the application requires one, or the client presents one.
    func asksForInvitation(_ claim: InvitationClaim?) -> Bool {
        switch settings.newUsers {
        case .open: claim?.tokenHash != nil
        case .invited: true
        case .closed: false
        }
    }

    /// Returns the query for the open invitation whose link a client presents.
    ///
    /// If the client presents no link, the query finds the open invitation that names the client's identity.
    ///
    /// An invited identity needs no link. An invitation to an e-mail address does not admit an identity with the same
    /// address (decision D6).
    fileprivate func invitation(for claim: InvitationClaim?, or identity: IdentityKey?) -> Statement {
        let which: Statement =
            if let hash = claim?.tokenHash {
                "token_hash = \(hash)"
            } else {
                "\(unsafeRaw: Store.contact) = \(identity.map { InvitedContact.identity($0).key })"
            }
        return """
            select id, roles, properties, email, sent from \(identifier: schema).invitations
            where accepted is null and expires > now() and \(which)
            """
    }

    /// Returns the failure of a new user who needs an invitation, but presents none or one that is not open.
    fileprivate func refusal(of claim: InvitationClaim?) -> Failure {
        claim?.tokenHash == nil ? .invitationRequired : .invitationInvalid
    }
}

extension Store {
    /// Checks in advance whether a new user may be created, with or without an invitation.
    ///
    /// The check uses no invitation up.
    ///
    /// - Throws: `new_users_closed`, `invitation_required`, `invitation_invalid`; `store_unavailable` and similar
    ///   failures.
    package func requireAdmission(
        by claim: InvitationClaim?,
        or identity: IdentityKey? = nil,
        to application: Application
    ) async throws(Failure) {
        try application.requireNewUsers()
        guard application.asksForInvitation(claim) else { return }
        let found = try await query(application.invitation(for: claim, or: identity), of: application)
        guard found.count > 0 else { throw application.refusal(of: claim) }
    }

    /// Writes a login that may need an invitation, in one transaction.
    ///
    /// The invitation is locked first. Of two concurrent logins with one invitation, the second sees that the first has
    /// used it. A login that creates the user uses the invitation up. If the user already exists, the invitation stays
    /// open.
    ///
    /// - Throws: The errors of a login; `invitation_required`, `invitation_invalid`. The invitation stays open then.
    func login(
        _ write: LoginWrite,
        by statement: LoginStatement,
        invitedBy claim: InvitationClaim?
    ) async throws(Failure) -> StatementOutcome<WrittenLogin> {
        let application = statement.application
        return try await current(application) {
            try await tables(of: application).withTransaction { connection in
                let held = try await connection.hold(claim, or: write.verified.identity, of: application)
                let statement = statement.admitting(held != nil)
                // After a race for a new identity, the loser's next statement sees the winner's user.
                for _ in 0..<3 {
                    let result = try await connection.query(statement.filled(with: write))
                    let outcome: WrittenLogin?
                    do {
                        outcome = try self.outcome(of: result, by: statement, for: write)
                    } catch let failure as Failure where failure.reason == .invitationRequired {
                        throw application.refusal(of: claim)
                    }
                    guard var written = outcome else { continue }
                    guard written.created, let held, let claim else { return written }
                    try statement.requireFactor(of: held)
                    written.user = try await accept(held, of: claim, by: written.user, in: application, connection)
                    return written
                }
                throw Failure(
                    .storeUnavailable,
                    "Too many logins of the same user at once. Try again shortly.",
                    retryAfter: 1
                )
            }
        }
    }

    /// Gives a new user the roles and properties of an invitation, and marks it as accepted by this user.
    ///
    /// - Parameters:
    ///   - held: The invitation.
    ///   - claim: The claim that the client presented. It has the function that converts the invitation's properties.
    ///   - user: The new user.
    ///   - confirming: Whether the invitation confirms the user's address.
    ///   - application: The application of the invitation.
    ///   - connection: The transaction that has created the user.
    /// - Returns: The changed user.
    /// - Throws: `PostgresError`, also for a rule of the users table.
    func accept(
        _ held: HeldInvitation,
        of claim: InvitationClaim,
        by user: User,
        confirming: Bool = false,
        in application: Application,
        _ connection: PostgresConnection
    ) async throws -> User {
        let (schema, id) = (application.schema, user.objectID)
        _ = try await connection.query(
            """
            update \(identifier: schema).invitations set accepted = now(), object_id = \(id.uuid)
            where id = \(held.id.uuid)
            """
        )
        let roles = held.knownRoles(in: application)
        if !roles.isEmpty {
            _ = try await connection.query(
                """
                insert into \(identifier: schema).user_roles (object_id, role)
                select \(id.uuid), role from unnest(\(roles)) role on conflict do nothing
                """
            )
        }
        let given = claim.given(held.properties)
        var changed = user
        if confirming || !given.values.isEmpty {
            var assignments = UserAssignments(given)
            if confirming {
                assignments.set("email_verified", to: "true")
                assignments.set(
                    "user_status",
                    to: "case u.user_status when 'EMAIL_CONFIRMATION_PENDING' then 'ENABLED' else u.user_status end"
                )
            }
            let columns = UserColumns(application: application)
            let result = try await connection.query(
                """
                update \(identifier: schema).users u set \(assignments.statement) where u.object_id = \(id.uuid)
                returning \(unsafeRaw: columns.list(of: "u"))
                """
            )
            changed = try result.first(by: columns.user) ?? user
        }
        try await tables(of: application).record(
            [.invitation("accept", held.id, in: application, user: id)],
            by: ChangeAuthor(name: "user:\(id)", source: "invitation"),
            with: connection
        )
        return changed
    }
}

extension PostgresConnection {
    /// Locks and returns the open invitation that a client presents, or that names the client's identity.
    ///
    /// The result is nil if the client needs no invitation, or if no such invitation is open.
    func hold(
        _ claim: InvitationClaim?,
        or identity: IdentityKey?,
        of application: Application
    ) async throws(PostgresError) -> HeldInvitation? {
        guard application.asksForInvitation(claim) else { return nil }
        let found = try await query("\(application.invitation(for: claim, or: identity)) for update")
        return try found.first(by: HeldInvitation.init)
    }

    /// Locks the invitation of a new user before the statements that create the user.
    ///
    /// A guest who has accepted an invitation needs no second one to become a user.
    ///
    /// - Throws: `new_users_closed`, `invitation_required`, `invitation_invalid`.
    func requireInvitation(
        _ claim: InvitationClaim?,
        or identity: IdentityKey? = nil,
        ofGuest guest: ObjectID? = nil,
        to application: Application
    ) async throws -> HeldInvitation? {
        try application.requireNewUsers()
        if let held = try await hold(claim, or: identity, of: application) { return held }
        guard application.asksForInvitation(claim) else { return nil }
        if let guest, claim?.tokenHash == nil {
            let taken = try await query(
                "select from \(identifier: application.schema).invitations where object_id = \(guest.uuid) limit 1"
            )
            if taken.count > 0 { return nil }
        }
        throw application.refusal(of: claim)
    }
}

extension HeldInvitation {
    /// Returns those roles of the invitation that the application still has.
    fileprivate func knownRoles(in application: Application) -> [String] {
        roles.filter { role in application.settings.roles.contains { $0.hasSameBytes(as: role) } }
    }
}

extension LoginStatement {
    /// Refuses a new user, before a session is opened, if a role of the invitation requires a second factor.
    ///
    /// - Throws: `second_factor_enrolment_required`.
    func requireFactor(of held: HeldInvitation) throws(Failure) {
        let policy = application.settings.secondFactor
        guard form.asksForFactor, use.finishes == nil, policy.demand == .required,
            !policy.exemptProviders.contains(form.provider),
            held.knownRoles(in: application).contains(where: { role in
                policy.roles.contains { $0.hasSameBytes(as: role) }
            })
        else { return }
        throw FactorDemand.enrolment.failure
    }
}

extension Failure {
    package static let invitationRequired = Failure(
        .invitationRequired,
        """
        This app only accepts new users with an invitation. Open the link that was sent to you and follow its page, or \
        log in with an existing account.
        """
    )

    package static let invitationInvalid = Failure(
        .invitationInvalid,
        "This invitation is unknown, or it was revoked, used, or has expired. Ask for a new invitation."
    )
}
