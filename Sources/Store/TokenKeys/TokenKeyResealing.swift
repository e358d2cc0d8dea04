import Postgres
package import Vocabulary

extension Store {
    /// How many keys of signed tokens are stored under each master key, in the order of the master keys' ids.
    package func tokenKeysByKey() async throws(Failure) -> [(keyID: String, count: Int)] {
        let result = try await query("select secret_key_id, count(*) from federation.token_keys group by 1 order by 1")
        return try read { () throws(PostgresError) in
            var counts: [(keyID: String, count: Int)] = []
            for row in result.rows {
                counts.append((try row.decode(0, as: String.self), try row.decode(1, as: Int.self)))
            }
            return counts
        }
    }

    /// Seals the keys of signed tokens anew that are under former master keys; there are few of them.
    ///
    /// - Parameters:
    ///   - keyID: The master key that they shall be under.
    ///   - formerKeyIDs: Leaves what is under yet other master keys as it is.
    ///   - actor: Who does it; one entry of the audit log.
    ///   - reseal: Makes the new ciphertext of the key of that id and application; nil for one that does not open,
    ///     which is removed.
    /// - Returns: How many were sealed anew or removed.
    /// - Throws: `store_unavailable` and its like.
    package func resealTokenKeys(
        notUnder keyID: String,
        among formerKeyIDs: [String],
        by actor: Actor,
        reseal: @escaping @Sendable (SealedSecret, _ id: String, ApplicationID?) -> SealedSecret?
    ) async throws(Failure) -> Int {
        try await transaction { connection in
            let result = try await connection.query(
                """
                select id, secret, secret_key_id, application_id from federation.token_keys
                where secret_key_id <> \(keyID) and secret_key_id = any (\(formerKeyIDs)) order by id for update
                """
            )
            var former: Set<String> = []
            var count = 0
            for row in result.rows {
                let id = try row.decode(0, as: String.self)
                let sealed = SealedSecret(
                    bytes: try row.decode(1, as: [UInt8].self),
                    keyID: try row.decode(2, as: String.self)
                )
                let application = try row.decode(3, as: String?.self).flatMap { ApplicationID($0) }
                former.insert(sealed.keyID)
                count += 1
                if let resealed = reseal(sealed, id, application) {
                    _ = try await connection.query(
                        """
                        update federation.token_keys set secret = \(resealed.bytes), secret_key_id = \(resealed.keyID)
                        where id = \(id)
                        """
                    )
                } else {
                    _ = try await connection.query("delete from federation.token_keys where id = \(id)")
                }
            }
            guard !former.isEmpty else { return 0 }
            let entry = AuditRecord(
                application: nil,
                action: "secrets.reseal",
                target: "token_keys",
                from: .object(["keyIds": .array(former.sorted().map(JSONValue.string))]),
                to: .object(["keyId": .string(keyID), "tokenKeys": .integer(Int64(count))])
            )
            try await connection.record([entry], by: actor)
            return count
        }
    }
}
