import FoundationEssentials
import Postgres
package import Vocabulary

/// A mail that tells of a change of an account: written before the change, put into the queue with it.
package struct Notice: Sendable {
    let id: ObjectID
    let event: String
    let content: SealedSecret
    let counts: [AttemptCount]
    let reversalHash: [UInt8]?

    /// Collects a notice.
    ///
    /// - Parameters:
    ///   - id: The mail, to which its content is bound.
    ///   - event: What it is about; the same event never brings a second mail.
    ///   - content: Address and text, sealed.
    ///   - counts: For what it is counted, so that it fills nobody's mailbox.
    ///   - reversalHash: SHA-256 of the token of the link in it that undoes the change; nil when there is none.
    package init(
        id: ObjectID,
        event: String,
        content: SealedSecret,
        counts: [AttemptCount],
        reversalHash: [UInt8]?
    ) {
        self.id = id
        self.event = event
        self.content = content
        self.counts = counts
        self.reversalHash = reversalHash
    }
}

/// What is told of a change, and what whoever wrote it took the account for.
package struct Announcement: Sendable {
    let email: String?
    let isVerified: Bool
    let notices: [Notice]

    package init(email: String?, isVerified: Bool, notices: [Notice]) {
        self.email = email
        self.isVerified = isVerified
        self.notices = notices
    }
}

extension Store {
    /// Puts notices into the queue, but for those that would be too many.
    package func enqueue(
        _ notices: [Notice],
        to user: ObjectID,
        of application: Application
    ) async throws(Failure) {
        try await transaction(of: application) { connection in
            for notice in notices { _ = try await connection.enqueue(notice, to: user, of: application) }
        }
    }

    /// The addresses that a user had before changes of the last three days and had confirmed; notices go there, too.
    package func formerAddresses(of user: ObjectID, in application: Application) async throws(Failure) -> [String] {
        let result = try await query(
            """
            select distinct email from \(identifier: application.schema).email_proofs
            where object_id = \(user.uuid) and purpose = 'reversal' and created > now() - make_interval(secs => \(EmailTokenPurpose.suspicionSeconds))
            order by email
            """,
            of: application
        )
        return try read { () throws(PostgresError) in
            var addresses: [String] = []
            for row in result.rows { addresses.append(try row.decode(0, as: String.self)) }
            return addresses
        }
    }
}

extension PostgresConnection {
    /// Tells of the change of a user who is locked: with it or not at all, and to no other address than that of the
    /// moment.
    ///
    /// - Throws: `conflict` when the account is not what it was taken for.
    func announce(_ announcement: Announcement, to user: ObjectID, of application: Application) async throws {
        let identity = application.settings.identityProperty
        let found = try await query(
            """
            select email, email_verified, \(identifier: identity.text) from \(identifier: application.schema).users
            where object_id = \(user.uuid)
            """
        )
        guard let row = found.first, try row.decode(0, as: String?.self) == announcement.email,
            try row.decode(1, as: Bool.self) == announcement.isVerified
        else { throw Failure.changedMeanwhile }
        for notice in announcement.notices {
            guard try await enqueue(notice, to: user, of: application), let hash = notice.reversalHash,
                let email = announcement.email
            else { continue }
            let login = identity == .email ? nil : try row.decode(2, as: String?.self)
            let token = EmailToken(user: user, email: email, login: login)
            _ = try await query(Store.adding(token, for: .reversal, tokenHash: hash, of: application))
        }
    }

    /// Puts a notice into the queue unless it would be one too many; one to nobody outlasts the user.
    ///
    /// - Returns: Whether it is one that may be sent.
    func enqueue(
        _ notice: Notice,
        to user: ObjectID?,
        of application: Application
    ) async throws(PostgresError) -> Bool {
        let counted = try await query(Store.counting(notice.counts, in: application))
        guard try Store.refusal(in: counted) == nil else { return false }
        _ = try await query(
            Store.enqueuing(notice.id, event: notice.event, content: notice.content, user: user, of: application)
        )
        return true
    }
}

extension Failure {
    static let changedMeanwhile = Failure(
        .conflict,
        "The account has been changed meanwhile. Look at it and try again."
    )
}
