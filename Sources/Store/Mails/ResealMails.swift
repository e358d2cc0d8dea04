import FoundationEssentials
import Postgres
package import Vocabulary

extension Store {
    /// How many mails of an application are on their way under each master key, in the order of the keys' ids.
    package func mailsByKey(of place: ApplicationPlace) async throws(Failure) -> [(keyID: String, count: Int)] {
        let result = try await query(
            """
            select content_key_id, count(*) from \(identifier: place.schema).mails where state in ('waiting', 'sending')
            group by 1 order by 1
            """,
            in: tables(of: place)
        )
        return try read { () throws(PostgresError) in
            var counts: [(keyID: String, count: Int)] = []
            for row in result.rows {
                counts.append((try row.decode(0, as: String.self), try row.decode(1, as: Int.self)))
            }
            return counts
        }
    }

    /// Seals some mails on their way anew that are under former master keys; rows that others hold are skipped.
    ///
    /// Whoever is just sending one has read it already.
    ///
    /// - Parameters:
    ///   - place: The application.
    ///   - formerKeyIDs: The master keys whose mails are meant.
    ///   - limit: How many at most.
    ///   - reseal: Makes the new ciphertext; nil for a mail that does not open, which is given up.
    /// - Returns: How many were sealed anew or given up.
    /// - Throws: `store_unavailable` and its like.
    package func resealMails(
        of place: ApplicationPlace,
        among formerKeyIDs: [String],
        limit: Int,
        reseal: @escaping @Sendable (SealedSecret, ObjectID) -> SealedSecret?
    ) async throws(Failure) -> Int {
        let tables = tables(of: place)
        return try await transaction(in: tables) { connection in
            let result = try await connection.query(
                """
                select id, content, content_key_id from \(identifier: place.schema).mails
                where state in ('waiting', 'sending') and content_key_id = any (\(formerKeyIDs))
                limit \(limit) for no key update skip locked
                """
            )
            var count = 0
            for row in result.rows {
                count += 1
                let id = ObjectID(try row.decode(0, as: UUID.self))
                let sealed = SealedSecret(
                    bytes: try row.decode(1, as: [UInt8].self),
                    keyID: try row.decode(2, as: String.self)
                )
                let changes: Statement =
                    if let anew = reseal(sealed, id) {
                        "content = \(anew.bytes), content_key_id = \(anew.keyID)"
                    } else {
                        "state = 'failed', done = now(), content = '', problem = 'it does not open under its master key'"
                    }
                _ = try await connection.query(
                    "update \(identifier: place.schema).mails set \(changes) where id = \(id.uuid)"
                )
            }
            return count
        }
    }
}
