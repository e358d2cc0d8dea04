package import Domain
import Encodings
import Postgres

/// The register of master keys in the database: the ids of the keys that may encrypt secrets (decision D26).
extension Store {
    /// Checks whether secrets may be encrypted under a master key.
    ///
    /// If no master key is registered in the database yet, the call first registers every key that encrypts a secret in
    /// the database. If the database has no secrets, the call registers the given key.
    ///
    /// - Parameters:
    ///   - keyID: The id of the master key.
    ///   - held: The ids of the other available master keys.
    ///   - registering: Whether to register the key if the database knows one of `held`.
    /// - Returns: Nil if the key may be used; otherwise the keys that the database knows.
    /// - Throws: `store_unavailable` and similar failures.
    package func admit(
        masterKey keyID: String,
        held: [String],
        registering: Bool
    ) async throws(Failure) -> [String]? {
        let result = try await query(
            "select federation.admit_master_key(\(keyID), \(held), \(registering))"
        )
        return try result.first([String]?.self) ?? nil
    }

    /// Returns the ids of the master keys that are registered in the database, the oldest first.
    package func knownMasterKeys() async throws(Failure) -> [String] {
        try await query("select id from federation.master_keys order by registered, id").all(String.self)
    }

    /// Registers a master key in the database, whatever other keys are registered.
    ///
    /// - Returns: Whether the key was not registered before.
    package func register(masterKey keyID: String, by actor: ChangeAuthor) async throws(Failure) -> Bool {
        try await transaction { connection in
            let known = try await connection.query("select id from federation.master_keys order by id").all(String.self)
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

    /// Deletes all master keys but one from the register in the database.
    ///
    /// - Throws: `conflict` if a secret of the configuration is encrypted under another key; nothing has changed then.
    package func forgetMasterKeys(otherThan keyID: String, by actor: ChangeAuthor) async throws(Failure) {
        try await transaction { connection in
            // This waits for changes that encrypt under one of these keys, and refuses further ones.
            let forgotten = try await connection.query(
                "delete from federation.master_keys where id <> \(keyID) returning id"
            ).all(String.self)
            guard !forgotten.isEmpty else { return }
            let others: Statement = """
                select from federation.master_keys_in_use() id where id <> \(keyID) limit 1
                """
            guard try await connection.query(others).count == 0 else {
                throw Failure(
                    .conflict,
                    "Some secrets were encrypted with a former master key meanwhile. Rotate again to finish."
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
            action,
            of: "master_keys",
            from: .object(["keyIds": .array(from.map(JSONValue.string))]),
            to: .object(["keyIds": .array(to.map(JSONValue.string))])
        )
    }
}

extension PostgresConnection {
    /// Locks the row of a registered master key, so that the key stays registered until the end of this transaction.
    ///
    /// So this transaction may encrypt secrets with the key.
    ///
    /// - Throws: `provider_misconfigured` for a key that is not registered.
    func hold(masterKey keyID: String) async throws {
        let admission = try await query("select federation.admit_master_key(\(keyID), '{}', false)")
        if let known = try admission.first([String]?.self) ?? nil {
            throw Failure.unknownMasterKey(keyID, known: known)
        }
        let held = try await query("select from federation.master_keys where id = \(keyID) for key share")
        guard held.count > 0 else { throw Failure.unknownMasterKey(keyID, known: []) }
    }
}

extension Failure {
    /// Returns the failure for a master key that is not registered in the database.
    ///
    /// The service encrypts nothing with such a key.
    ///
    /// - Parameters:
    ///   - given: The id of the key, which reveals nothing of the key.
    ///   - known: The ids of the registered keys.
    /// - Returns: A `provider_misconfigured` failure.
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
