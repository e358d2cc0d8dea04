package import Domain
package import Encodings
import FoundationEssentials
import Postgres

/// An invitation to be stored.
package struct NewInvitation: Sendable {
    package let id: ObjectID
    /// SHA-256 of the token of the invitation's link; nil for an invitation that names an identity.
    package let tokenHash: [UInt8]?
    package let contact: InvitedContact
    package let roles: [String]
    /// The properties that the new user gets, keyed by property name, with values as operators write them.
    package let properties: JSONObject
    package let locale: String?
    package let seconds: Int64
    /// The mail with the link; nil if the link is delivered in another way.
    package let mail: Notice?
    /// Whether the link is only sent to the invited contact, and never shown to an operator.
    package let isSent: Bool

    package init(
        id: ObjectID,
        tokenHash: [UInt8]?,
        contact: InvitedContact,
        roles: [String],
        properties: JSONObject,
        locale: String?,
        seconds: Int64,
        mail: Notice?,
        isSent: Bool
    ) {
        self.id = id
        self.tokenHash = tokenHash
        self.contact = contact
        self.roles = roles
        self.properties = properties
        self.locale = locale
        self.seconds = seconds
        self.mail = mail
        self.isSent = isSent
    }
}

/// A stored invitation.
package struct StoredInvitation: Sendable {
    package let id: ObjectID
    package let contact: InvitedContact
    package let roles: [String]
    package let properties: JSONObject
    package let locale: String?
    package let invitedBy: String
    /// The time of the invitation's creation, in milliseconds since 1970 UTC.
    package let created: Int64
    package let expires: Int64
    /// The number of links that were sent.
    package let sent: Int64
    package let lastSent: Int64?
    package let accepted: Int64?
    /// The user who has accepted the invitation; nil if no user has.
    package let user: ObjectID?
    package let state: InvitationState
    /// The position after this invitation in a list.
    package let cursor: InvitationCursor
}

/// A position in the list of invitations, the newest first.
package struct InvitationCursor: Sendable {
    private let microseconds: Int64
    private let id: ObjectID

    fileprivate init(_ created: Timestamp, _ id: ObjectID) {
        microseconds = created.microseconds
        self.id = id
    }

    /// Reads a position from a text as ``text`` writes it; nil for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1)
        guard parts.count == 2, let microseconds = Int64(parts[0]), let id = ObjectID(parts[1]) else { return nil }
        (self.microseconds, self.id) = (microseconds, id)
    }

    package var text: String { "\(microseconds).\(id)" }

    fileprivate var condition: Statement {
        "(created, id) < (\(Timestamp(microseconds: microseconds)), \(id.uuid))"
    }
}

extension Store {
    /// The maximum number of open invitations of an application.
    package static let maxOpenInvitations: Int64 = 10_000

    /// Stores an invitation and queues its mail, in one transaction.
    ///
    /// An expired invitation to the same contact is replaced.
    ///
    /// - Throws: `conflict` with the `id` of an open invitation to the same contact; `conflict` without an `id` if the
    ///   application has reached its limit of open invitations; `too_many_attempts` if too many mails were sent to the
    ///   mailbox; `store_unavailable` and similar failures. Nothing is written then.
    package func invite(
        _ invitation: NewInvitation,
        to application: Application,
        by actor: ChangeAuthor
    ) async throws(Failure) -> StoredInvitation {
        let schema = application.schema
        let (email, phone, identity) = invitation.contact.columns
        let tables = tables(of: application)
        return try await transaction(of: application) { connection in
            // One transaction at a time, so that the count is exact.
            _ = try await connection.query(
                "select pg_advisory_xact_lock(hashtextextended(\("invitations of " + application.id.text), 0))"
            )
            _ = try await connection.query(
                """
                delete from \(identifier: schema).invitations
                where accepted is null and expires <= now() and \(unsafeRaw: Self.contact) = \(invitation.contact.key)
                """
            )
            let found = try await connection.query(
                """
                select id from \(identifier: schema).invitations
                where accepted is null and \(unsafeRaw: Self.contact) = \(invitation.contact.key)
                """
            )
            if let id = try found.first(ObjectID.self) { throw Failure.invited(already: id) }
            let counted = try await connection.query(
                """
                select count(*) from (
                    select from \(identifier: schema).invitations where accepted is null and expires > now()
                    limit \(Self.maxOpenInvitations)
                ) open
                """
            )
            guard let open = try counted.first(Int64.self), open < Self.maxOpenInvitations else {
                throw Failure.tooManyInvitations
            }
            let inserted = try await connection.query(
                """
                insert into \(identifier: schema).invitations (id, token_hash, email, phone, provider, provider_app, subject,
                    roles, properties, locale, invited_by, expires, sent, last_sent)
                values (\(invitation.id.uuid), \(invitation.tokenHash), \(email),
                    \(phone), \(identity?.provider.text), \(identity?.app.text), \(identity?.subject.text),
                    \(invitation.roles), \(JSONText(JSONValue.object(invitation.properties).text)), \(invitation.locale),
                    \(actor.name), now() + make_interval(secs => \(invitation.seconds)), \(invitation.isSent ? 1 : 0),
                    case when \(invitation.isSent) then now() end)
                returning \(unsafeRaw: Self.invitationColumns)
                """
            )
            guard let stored = try inserted.first(by: StoredInvitation.init) else { throw Failure.noSuchInvitation }
            try await connection.send(invitation.mail, of: application)
            try await tables.record(
                [.invitation("create", invitation.id, in: application)],
                by: actor,
                with: connection
            )
            return stored
        }
    }

    /// Returns the invitations of an application, the newest first.
    package func invitations(
        of application: Application,
        in state: InvitationState?,
        after cursor: InvitationCursor?,
        limit: Int
    ) async throws(Failure) -> [StoredInvitation] {
        var condition: Statement =
            switch state {
            case nil: "true"
            case .open: "accepted is null and expires > now()"
            case .expired: "accepted is null and expires <= now()"
            case .accepted: "accepted is not null"
            }
        if let cursor { condition.append("and \(cursor.condition)") }
        condition.append("order by created desc, id desc limit \(limit)")
        return try await invitations(where: condition, of: application)
    }

    /// Returns the invitations that a user has accepted.
    ///
    /// There are at most two: a guest who has accepted one may become a user by another invitation.
    package func invitations(
        takenBy user: ObjectID,
        in application: Application
    ) async throws(Failure) -> [StoredInvitation] {
        try await invitations(where: "object_id = \(user.uuid) order by accepted, id", of: application)
    }

    package func invitation(_ id: ObjectID, of application: Application) async throws(Failure) -> StoredInvitation? {
        try await invitations(where: "id = \(id.uuid)", of: application).first
    }

    /// Returns the invitation of a link without using the invitation up; nil if the invitation cannot be accepted.
    package func invitation(
        tokenHash: [UInt8],
        of application: Application
    ) async throws(Failure) -> StoredInvitation? {
        try await invitations(
            where: "token_hash = \(tokenHash) and accepted is null and expires > now()",
            of: application
        ).first
    }

    private func invitations(
        where condition: Statement,
        of application: Application
    ) async throws(Failure) -> [StoredInvitation] {
        let result = try await query(
            """
            select \(unsafeRaw: Self.invitationColumns) from \(identifier: application.schema).invitations
            where \(condition)
            """,
            of: application
        )
        return try result.all(by: StoredInvitation.init)
    }

    /// Gives an open invitation a new link and sends it.
    ///
    /// The former link becomes invalid. The validity period starts again, as long as before.
    ///
    /// - Returns: The changed invitation; nil if it is not open any more.
    /// - Throws: `too_many_attempts` if the mailbox has got several mails; `store_unavailable` and similar failures.
    package func resend(
        _ id: ObjectID,
        tokenHash: [UInt8],
        mail: Notice?,
        of application: Application,
        by actor: ChangeAuthor
    ) async throws(Failure) -> StoredInvitation? {
        let tables = tables(of: application)
        return try await transaction(of: application) { connection in
            let sent = try await connection.query(
                """
                update \(identifier: application.schema).invitations
                set token_hash = \(tokenHash), sent = sent + 1, last_sent = now(),
                    expires = now() + (expires - coalesce(last_sent, created))
                where id = \(id.uuid) and accepted is null and expires > now() and token_hash is not null
                returning \(unsafeRaw: Self.invitationColumns)
                """
            )
            guard let stored = try sent.first(by: StoredInvitation.init) else { return nil }
            try await connection.send(mail, of: application)
            try await tables.record([.invitation("send", id, in: application)], by: actor, with: connection)
            return stored
        }
    }

    /// Revokes an invitation that no user has accepted.
    ///
    /// - Returns: Whether there was such an invitation.
    package func revokeInvitation(
        _ id: ObjectID,
        of application: Application,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Bool {
        let tables = tables(of: application)
        return try await transaction(of: application) { connection in
            let deleted = try await connection.query(
                """
                delete from \(identifier: application.schema).invitations where id = \(id.uuid) and accepted is null
                """
            )
            guard deleted.affectedRows == 1 else { return false }
            try await tables.record([.invitation("revoke", id, in: application)], by: actor, with: connection)
            return true
        }
    }

    /// The SQL expression for an invitation's contact: an e-mail address, a telephone number or an identity, as one
    /// text.
    ///
    /// The unique index is over the same expression.
    static let contact = "coalesce(lower(email), phone, provider || ' ' || provider_app || ' ' || subject)"

    fileprivate static let invitationColumns = """
        id, email, phone, provider, provider_app, subject, roles, properties, locale, invited_by, created, expires, sent,
        last_sent, accepted, object_id,
        case when accepted is not null then 'accepted' when expires > now() then 'open' else 'expired' end
        """
}

extension PostgresConnection {
    /// Deletes the open invitations to a user who is about to be deleted.
    ///
    /// These are the invitations to the user's identities and to the user's confirmed e-mail address.
    func forgetInvitations(of user: ObjectID, schema: String) async throws(PostgresError) {
        _ = try await query(
            """
            delete from \(identifier: schema).invitations where accepted is null and \(unsafeRaw: Store.contact) = any (array(
                select lower(u.email collate "C") from \(identifier: schema).users u
                where u.object_id = \(user.uuid) and u.email_verified
                union all
                select i.provider || ' ' || i.provider_app || ' ' || i.subject from \(identifier: schema).identities i
                where i.object_id = \(user.uuid)
            ))
            """
        )
    }

    /// Queues the mail of an invitation.
    ///
    /// - Throws: `too_many_attempts`.
    fileprivate func send(_ mail: Notice?, of application: Application) async throws {
        guard let mail, try await !enqueue(mail, to: nil, of: application) else { return }
        throw Failure(
            .tooManyAttempts,
            """
            Too many mails of this kind were sent to this address. Wait, or create the invitation with "send": false \
            and send the link yourself.
            """
        )
    }
}

extension InvitedContact {
    fileprivate var columns: (email: String?, phone: String?, identity: IdentityKey?) {
        switch self {
        case .email(let address): (address, nil, nil)
        case .phone(let number): (nil, number, nil)
        case .identity(let identity): (nil, nil, identity)
        }
    }

    /// The contact as one text, as ``Store/contact`` computes it.
    var key: String {
        switch self {
        case .email(let address): address.lowercased()
        case .phone(let number): number
        case .identity(let identity): "\(identity.provider) \(identity.app) \(identity.subject)"
        }
    }
}

extension StoredInvitation {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        id = try row.next()
        let (email, phone) = (try row.next(String?.self), try row.next(String?.self))
        let identity = try IdentityKey(&row)
        guard
            let contact = email.map(InvitedContact.email) ?? phone.map(InvitedContact.phone)
                ?? identity.map(InvitedContact.identity)
        else { throw .withheld("an invitation names an identity that this program could not have written") }
        self.contact = contact
        roles = try row.next()
        properties = try row.next(JSONValue.self).object ?? [:]
        locale = try row.next()
        invitedBy = try row.next()
        let created = try row.next(Timestamp.self)
        expires = try row.next(Timestamp.self).milliseconds
        sent = try row.next()
        lastSent = try row.next(Timestamp?.self)?.milliseconds
        accepted = try row.next(Timestamp?.self)?.milliseconds
        user = try row.next()
        state = InvitationState(rawValue: try row.next()) ?? .expired
        cursor = InvitationCursor(created, id)
        self.created = created.milliseconds
    }
}

extension AuditRecord {
    /// Creates an audit log entry about an invitation.
    ///
    /// The entry does not contain the contact, since the log is kept for long.
    static func invitation(
        _ action: String,
        _ id: ObjectID,
        in application: Application,
        user: ObjectID? = nil
    ) -> AuditRecord {
        AuditRecord(
            "invitation.\(action)",
            of: (user ?? id).description,
            in: application.id,
            to: user.map { _ in .object(["invitation": .string(id.description)]) }
        )
    }
}

extension Failure {
    package static let noSuchInvitation = Failure(.notFound, "This invitation does not exist.")

    fileprivate static func invited(already id: ObjectID) -> Failure {
        Failure(
            .conflict,
            "This contact already has an open invitation. Send it again, or revoke it first.",
            details: ["id": .string(id.description)]
        )
    }

    fileprivate static let tooManyInvitations = Failure(
        .conflict,
        """
        This application has the maximum of \(Store.maxOpenInvitations) open invitations. Revoke some, or wait until \
        they expire.
        """
    )
}
