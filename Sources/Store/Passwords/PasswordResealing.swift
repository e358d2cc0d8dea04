import FoundationEssentials
import Postgres
package import Vocabulary

extension Store {
    /// How many hashes of passwords an application stores under each master key, in the order of the keys' ids.
    package func passwordsByKey(
        of place: ApplicationPlace
    ) async throws(Failure) -> [(keyID: String, count: Int)] {
        let result = try await query(
            "select hash_key_id, count(*) from \(identifier: place.schema).passwords group by 1 order by 1",
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

    /// The master key of some hash of an application; nil when there is none.
    ///
    /// But for the time of a rotation all are under one.
    package func passwordKey(of application: Application) async throws(Failure) -> String? {
        let result = try await query(
            "select hash_key_id from \(identifier: application.schema).passwords limit 1",
            of: application,
            isRare: true
        )
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: String.self) }
    }

    /// Seals some hashes of passwords of an application anew that are under former master keys, in one short
    /// transaction that skips rows which others hold.
    ///
    /// - Parameters:
    ///   - place: The application.
    ///   - keyID: The master key that they shall be under.
    ///   - formerKeyIDs: Leaves what is under yet other master keys as it is.
    ///   - limit: How many at most.
    ///   - actor: Who does it; one entry of the audit log.
    ///   - reseal: Makes the new ciphertext; what it throws passes through, and nothing has changed then.
    /// - Returns: How many were sealed anew.
    /// - Throws: `store_unavailable` and its like.
    package func resealPasswords(
        of place: ApplicationPlace,
        notUnder keyID: String,
        among formerKeyIDs: [String],
        limit: Int,
        by actor: Actor,
        reseal: @escaping @Sendable (SealedSecret, ObjectID) throws -> SealedSecret
    ) async throws -> Int {
        let tables = tables(of: place)
        return try await transaction(in: tables) { connection in
            let result = try await connection.query(
                """
                select object_id, hash, hash_key_id from \(identifier: place.schema).passwords
                where hash_key_id <> \(keyID) and hash_key_id = any (\(formerKeyIDs))
                limit \(limit) for no key update skip locked
                """
            )
            var former: Set<String> = []
            for row in result.rows {
                let user = ObjectID(try row.decode(0, as: UUID.self))
                let sealed = SealedSecret(
                    bytes: try row.decode(1, as: [UInt8].self),
                    keyID: try row.decode(2, as: String.self)
                )
                let anew = try reseal(sealed, user)
                former.insert(sealed.keyID)
                _ = try await connection.query(
                    """
                    update \(identifier: place.schema).passwords set hash = \(anew.bytes), hash_key_id = \(anew.keyID)
                    where object_id = \(user.uuid)
                    """
                )
            }
            guard result.count > 0 else { return 0 }
            let entry = AuditRecord(
                application: place.id,
                action: "secrets.reseal",
                target: "passwords",
                from: .object(["keyIds": .array(former.sorted().map(JSONValue.string))]),
                to: .object(["keyId": .string(keyID), "passwords": .integer(Int64(result.count))])
            )
            try await tables.record([entry], by: actor, with: connection)
            return result.count
        }
    }
}
