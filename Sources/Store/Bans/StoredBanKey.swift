import Postgres
package import Vocabulary

/// The key under which banned identities are hashed; there is one for the whole service, and it never becomes another
/// one.
extension Store {
    /// The key; nil while nobody has needed it.
    package func banKey() async throws(Failure) -> SealedSecret? {
        let result = try await query("select secret, secret_key_id from federation.ban_key")
        return try read { () throws(PostgresError) in try result.first.map(SealedSecret.init) }
    }

    /// Stores the key unless there is one: of instances that want one at once, one stores its own.
    package func addBanKey(_ secret: SealedSecret) async throws(Failure) {
        _ = try await query(
            """
            insert into federation.ban_key (secret, secret_key_id) values (\(secret.bytes), \(secret.keyID))
            on conflict do nothing
            """
        )
    }

    /// Seals the key anew if it is under a former master key.
    ///
    /// - Parameters:
    ///   - keyID: The master key that it shall be under.
    ///   - formerKeyIDs: What is under yet another master key stays as it is.
    ///   - actor: Who does it; one entry of the audit log.
    ///   - reseal: Makes the new ciphertext; what it throws passes through, and nothing has changed then.
    /// - Returns: How many were sealed anew: one or none.
    /// - Throws: What `reseal` throws, `store_unavailable` and its like.
    package func resealBanKey(
        notUnder keyID: String,
        among formerKeyIDs: [String],
        by actor: Actor,
        reseal: @escaping @Sendable (SealedSecret) throws -> SealedSecret
    ) async throws(Failure) -> Int {
        try await transaction { connection in
            let result = try await connection.query(
                """
                select secret, secret_key_id from federation.ban_key
                where secret_key_id <> \(keyID) and secret_key_id = any (\(formerKeyIDs)) for update
                """
            )
            guard let row = result.first else { return 0 }
            let former = try SealedSecret(row)
            let resealed = try reseal(former)
            _ = try await connection.query(
                "update federation.ban_key set secret = \(resealed.bytes), secret_key_id = \(resealed.keyID)"
            )
            let entry = AuditRecord(
                application: nil,
                action: "secrets.reseal",
                target: "ban_key",
                from: .object(["keyIds": .array([.string(former.keyID)])]),
                to: .object(["keyId": .string(keyID)])
            )
            try await connection.record([entry], by: actor)
            return 1
        }
    }
}

extension SealedSecret {
    /// Reads a ciphertext and the name of its master key.
    fileprivate init(_ row: Row) throws(PostgresError) {
        self.init(bytes: try row.decode(0, as: [UInt8].self), keyID: try row.decode(1, as: String.self))
    }
}
