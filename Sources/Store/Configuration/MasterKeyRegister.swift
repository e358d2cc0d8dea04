import Postgres
package import Vocabulary

/// The master keys that the database knows (decision D26).
extension Store {
    /// Asks the database whether secrets may be sealed under a master key.
    ///
    /// - Parameters:
    ///   - keyID: The key.
    ///   - held: The other keys at hand.
    ///   - registering: Whether the key becomes known if one of those is.
    /// - Returns: Nil when they may; else the keys that the database knows.
    /// - Throws: `store_unavailable` and its like.
    package func admit(
        masterKey keyID: String,
        held: [String],
        registering: Bool
    ) async throws(Failure) -> [String]? {
        let result = try await query(
            "select federation.admit_master_key(\(keyID), \(held), \(registering))"
        )
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: [String]?.self) } ?? nil
    }

    /// The master keys that the database knows, the oldest in front.
    package func knownMasterKeys() async throws(Failure) -> [String] {
        let result = try await query("select id from federation.master_keys order by registered, id")
        return try read { () throws(PostgresError) in
            try result.rows.map { row throws(PostgresError) in try row.decode(0, as: String.self) }
        }
    }

    /// Makes a master key known to the database, whatever other keys it knows.
    ///
    /// - Returns: Whether it did not know the key before.
    package func register(masterKey keyID: String, by actor: Actor) async throws(Failure) -> Bool {
        try await transaction { connection in
            let known = try await connection.query("select id from federation.master_keys order by id").rows
                .map { row throws(PostgresError) in try row.decode(0, as: String.self) }
            let added = try await connection.query(
                "insert into federation.master_keys (id) values (\(keyID)) on conflict do nothing returning id"
            )
            guard added.first != nil else { return false }
            try await connection.record(
                [.masterKeys("secrets.register", from: known, to: (known + [keyID]).sorted())],
                by: actor
            )
            _ = try await connection.raiseRevision(of: [])
            return true
        }
    }

    /// Makes the database forget all master keys but one, unless a secret of the configuration is under another one.
    ///
    /// - Throws: `conflict` where something has been sealed under another one meanwhile; nothing has changed then.
    package func forgetMasterKeys(otherThan keyID: String, by actor: Actor) async throws(Failure) {
        try await transaction { connection in
            // This waits for changes that seal under one of these keys, and refuses further ones.
            let forgotten = try await connection.query(
                "delete from federation.master_keys where id <> \(keyID) returning id"
            ).rows.map { row throws(PostgresError) in try row.decode(0, as: String.self) }
            guard !forgotten.isEmpty else { return }
            let others: Statement = """
                select from federation.master_keys_in_use() id where id <> \(keyID) limit 1
                """
            guard try await connection.query(others).count == 0 else {
                throw Failure(
                    .conflict,
                    "Secrets were sealed under a former master key meanwhile. Rotate again to do the rest."
                )
            }
            try await connection.record(
                [.masterKeys("secrets.forget", from: (forgotten + [keyID]).sorted(), to: [keyID])],
                by: actor
            )
            _ = try await connection.raiseRevision(of: [])
        }
    }
}

extension AuditRecord {
    fileprivate static func masterKeys(_ action: String, from: [String], to: [String]) -> AuditRecord {
        AuditRecord(
            application: nil,
            action: action,
            target: "master_keys",
            from: .object(["keyIds": .array(from.map(JSONValue.string))]),
            to: .object(["keyIds": .array(to.map(JSONValue.string))])
        )
    }
}

extension PostgresConnection {
    /// Makes sure that the database knows a master key until the end of this transaction, which may seal under it.
    ///
    /// - Throws: `provider_misconfigured` for a key that the database does not know.
    func hold(masterKey keyID: String) async throws {
        let admission = try await query("select federation.admit_master_key(\(keyID), '{}', false)")
        if let known = try admission.first?.decode(0, as: [String]?.self) ?? nil {
            throw Failure.unknownMasterKey(keyID, known: known)
        }
        let held = try await query("select from federation.master_keys where id = \(keyID) for key share")
        guard held.count > 0 else { throw Failure.unknownMasterKey(keyID, known: []) }
    }
}

extension Failure {
    /// A master key that the database does not know: nothing is sealed under it.
    ///
    /// - Parameters:
    ///   - given: The key's id, which says nothing of the key.
    ///   - known: The ids of those that the database knows.
    /// - Returns: The failure, `provider_misconfigured`.
    package static func unknownMasterKey(_ given: String, known: [String]) -> Failure {
        Failure(
            .providerMisconfigured,
            """
            This database does not know the master key \(given) that was given; it knows \(known.joined(separator: ", ")). Nothing \
            has been written. Set FEDERATION_MASTER_KEY (or FEDERATION_MASTER_KEY_FILE) to the key that it knows. To replace that key, \
            give it as FEDERATION_MASTER_KEY_PREVIOUS and run federation secrets rotate; when it is lost, see docs/operations/rotate.md.
            """,
            details: ["keyIds": .array(known.map(JSONValue.string))]
        )
    }
}
