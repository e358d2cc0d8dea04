import FoundationEssentials
import Postgres
package import Vocabulary

extension Store {
    /// How many secrets of second factors an application, or operators without one, have under each master key, in the
    /// order of the keys' ids.
    ///
    /// Those of factors that a reversal may bring back are among them.
    package func factorsByKey(
        of place: ApplicationPlace?
    ) async throws(Failure) -> [(keyID: String, count: Int)] {
        let result = try await query(
            """
            select secret_key_id, count(*) from \(Self.factors(of: place))
            where secret_key_id is not null group by 1 order by 1
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

    /// Seals some secrets of second factors of an application anew that are under former master keys, in one short
    /// transaction that skips rows which others hold.
    ///
    /// - Parameters:
    ///   - place: The application; nil for operators.
    ///   - keyID: The master key that they shall be under.
    ///   - formerKeyIDs: Leaves what is under yet other master keys as it is.
    ///   - limit: How many at most.
    ///   - actor: Who does it; one entry of the audit log.
    ///   - reseal: Makes the new ciphertext of a user's factor; what it throws passes through, and nothing has changed
    ///     then.
    /// - Returns: How many were sealed anew.
    /// - Throws: `store_unavailable` and its like.
    package func resealFactors(
        of place: ApplicationPlace?,
        notUnder keyID: String,
        among formerKeyIDs: [String],
        limit: Int,
        by actor: Actor,
        reseal: @escaping @Sendable (SealedSecret, _ user: ObjectID, _ factor: ObjectID) throws -> SealedSecret
    ) async throws -> Int {
        let tables = tables(of: place)
        return try await transaction(in: tables) { connection in
            let result = try await connection.query(
                """
                select id, object_id, secret, secret_key_id from \(Self.factors(of: place))
                where secret_key_id <> \(keyID) and secret_key_id = any (\(formerKeyIDs))
                limit \(limit) for no key update skip locked
                """
            )
            var former: Set<String> = []
            for row in result.rows {
                let id = ObjectID(try row.decode(0, as: UUID.self))
                let sealed = SealedSecret(
                    bytes: try row.decode(2, as: [UInt8].self),
                    keyID: try row.decode(3, as: String.self)
                )
                let anew = try reseal(sealed, ObjectID(try row.decode(1, as: UUID.self)), id)
                former.insert(sealed.keyID)
                _ = try await connection.query(
                    """
                    update \(Self.factors(of: place))
                    set secret = \(anew.bytes), secret_key_id = \(anew.keyID) where id = \(id.uuid)
                    """
                )
            }
            guard result.count > 0 else { return 0 }
            let entry = AuditRecord(
                application: place?.id,
                action: "secrets.reseal",
                target: "factors",
                from: .object(["keyIds": .array(former.sorted().map(JSONValue.string))]),
                to: .object(["keyId": .string(keyID), "factors": .integer(Int64(result.count))])
            )
            try await tables.record([entry], by: actor, with: connection)
            return result.count
        }
    }
    private static func factors(of place: ApplicationPlace?) -> Statement {
        place.map { "\(identifier: $0.schema).factors" } ?? "federation.operator_factors"
    }
}
