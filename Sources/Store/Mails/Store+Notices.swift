package import Domain
import FoundationEssentials
import Postgres

/// A mail about a change of an account.
///
/// It is written before the change, and queued in the transaction of the change.
package struct Notice: Sendable {
    let id: ObjectID
    let event: String
    let content: EncryptedSecret
    let counts: [AttemptCount]
    let reversalHash: [UInt8]?

    /// Creates a notice.
    ///
    /// - Parameters:
    ///   - id: The id of the mail, to which its encrypted content is bound.
    ///   - event: The event that the mail reports; there is never a second mail for the same event.
    ///   - content: The recipient's e-mail address and the text of the mail, encrypted.
    ///   - counts: The rate limits that the mail counts for, so that notices cannot flood a mailbox.
    ///   - reversalHash: SHA-256 of the token in the mail's link that reverses the change; nil without such a link.
    package init(
        id: ObjectID,
        event: String,
        content: EncryptedSecret,
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

/// The notices of a change, with the state of the user's e-mail address for which they were written.
///
/// The state is the address, and whether it was confirmed.
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
    /// Queues notices, except those that exceed a rate limit.
    package func enqueue(
        _ notices: [Notice],
        to user: ObjectID,
        of application: Application
    ) async throws(Failure) {
        try await transaction(of: application) { connection in
            for notice in notices { _ = try await connection.enqueue(notice, to: user, of: application) }
        }
    }

    /// Returns the e-mail addresses to which reversal links for a user's account were mailed in the last three days.
    ///
    /// Notices also go to these addresses.
    package func formerAddresses(of user: ObjectID, in application: Application) async throws(Failure) -> [String] {
        let result = try await query(
            """
            select distinct email from \(identifier: application.schema).email_proofs
            where object_id = \(user.uuid) and purpose = 'reversal' and created > now() - make_interval(secs => \(EmailTokenPurpose.suspicionSeconds))
            order by email
            """,
            of: application
        )
        return try result.all(String.self)
    }
}

extension PostgresConnection {
    /// Queues the notices of a change within the transaction of the change.
    ///
    /// The caller must have locked the user's row.
    ///
    /// - Throws: `conflict` if the account's e-mail state is no longer the one for which the notices were written.
    func announce(_ announcement: Announcement, to user: ObjectID, of application: Application) async throws {
        let login = try await require(announcement, of: user, in: application)
        for notice in announcement.notices {
            guard try await enqueue(notice, to: user, of: application), let hash = notice.reversalHash,
                let email = announcement.email
            else { continue }
            let token = EmailToken(user: user, email: email, login: login)
            _ = try await query(Store.adding(token, for: .reversal, tokenHash: hash, of: application))
        }
    }

    /// Requires that a user's e-mail state is the one for which notices were written.
    ///
    /// - Returns: The user's login name; nil if it is the address, or if there is none.
    /// - Throws: `conflict` if the state has changed.
    @discardableResult
    func require(
        _ announcement: Announcement,
        of user: ObjectID,
        in application: Application
    ) async throws -> String? {
        let identity = application.settings.identityProperty
        let found = try await query(
            """
            select email, email_verified, \(identifier: identity.text) from \(identifier: application.schema).users
            where object_id = \(user.uuid)
            """
        )
        guard let (email, isVerified, login) = try found.first(String?.self, Bool.self, String?.self),
            email == announcement.email, isVerified == announcement.isVerified
        else { throw Failure.changedMeanwhile }
        return identity == .email ? nil : login
    }

    /// Queues a notice unless it exceeds a rate limit.
    ///
    /// The erasure of `user` also deletes the queued notice. If `user` is nil, no erasure deletes the notice.
    ///
    /// - Returns: False if the notice exceeds a rate limit. It is not queued then.
    func enqueue(
        _ notice: Notice,
        to user: ObjectID?,
        of application: Application
    ) async throws(PostgresError) -> Bool {
        let counted = try await query(Store.counting(notice.counts, in: application))
        guard try counted.first(by: AttemptRefusal.init) == nil else { return false }
        _ = try await query(
            Store.enqueuing(notice.id, event: notice.event, content: notice.content, user: user, of: application)
        )
        return true
    }
}

extension Failure {
    static let changedMeanwhile = Failure(
        .conflict,
        "The account was changed meanwhile. Read it again, and repeat the change."
    )
}
