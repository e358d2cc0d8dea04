import FoundationEssentials
import Postgres
package import Vocabulary

/// A mail that is to be sent.
package struct ClaimedMail: Sendable {
    package let id: ObjectID
    /// Address and text, sealed.
    package let content: SealedSecret
    /// How often it has been tried, this time included.
    package let attempts: Int
    /// Seconds since it was put into the queue.
    package let age: Double
}

extension Store {
    /// Takes mails whose time has come, for this caller alone.
    ///
    /// They are marked before they are sent: what a killed instance leaves behind is never sent by another, which could
    /// not know whether it has been sent already (`giveUpLostMails`).
    ///
    /// - Parameters:
    ///   - application: Whose mails.
    ///   - limit: How many at most; those that have been due for longest come first.
    /// - Returns: The claimed mails. Rows that somebody else has locked are skipped.
    /// - Throws: `store_unavailable` and its like.
    package func claimMails(of application: Application, limit: Int) async throws(Failure) -> [ClaimedMail] {
        let schema = quoted(application.schema)
        let result = try await query(
            """
            with due as (
                select id from \(unsafeRaw: schema).mails
                where state = 'waiting' and due <= now()
                order by due limit \(limit)
                for no key update skip locked
            )
            update \(unsafeRaw: schema).mails m set state = 'sending', taken = now(), attempts = m.attempts + 1
            from due where m.id = due.id
            returning m.id, m.content, m.content_key_id, m.attempts, extract(epoch from now() - m.created)::float8
            """,
            of: application
        )
        return try read { () throws(PostgresError) in
            var mails: [ClaimedMail] = []
            for row in result.rows {
                mails.append(
                    ClaimedMail(
                        id: ObjectID(try row.decode(0, as: UUID.self)),
                        content: SealedSecret(
                            bytes: try row.decode(1, as: [UInt8].self),
                            keyID: try row.decode(2, as: String.self)
                        ),
                        attempts: try row.decode(3, as: Int.self),
                        age: try row.decode(4, as: Double.self)
                    )
                )
            }
            return mails
        }
    }
}
