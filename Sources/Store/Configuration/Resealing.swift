import Postgres
package import Vocabulary

/// A stored secret and where it is.
package struct StoredSecret: Sendable {
    package let application: ApplicationID
    package let provider: ProviderName
    package let app: ProviderAppID
    package let secret: SealedSecret
}

extension Store {
    /// How many secrets are stored under each master key, in the order of the keys' ids.
    package func secretsByKey() async throws(Failure) -> [(keyID: String, count: Int)] {
        let result = try await query(
            "select secret_key_id, count(*) from federation.provider_apps group by 1 order by 1"
        )
        return try read { () throws(PostgresError) in
            var counts: [(keyID: String, count: Int)] = []
            for row in result.rows {
                counts.append((try row.decode(0, as: String.self), try row.decode(1, as: Int.self)))
            }
            return counts
        }
    }

    /// Seals some secrets anew that are under former master keys, in one short transaction that skips rows which others
    /// hold.
    ///
    /// - Parameters:
    ///   - keyID: The master key that they shall be under.
    ///   - formerKeyIDs: Leaves what is under yet other master keys as it is.
    ///   - limit: How many at most.
    ///   - actor: Who does it; one entry of the audit log for each application touched.
    ///   - reseal: Makes the new ciphertext; what it throws passes through, and nothing has changed then.
    /// - Returns: How many were sealed anew. None is left when it is 0 and `secretsByKey` says so, too: what others
    ///   hold is skipped.
    /// - Throws: What `reseal` throws, `store_unavailable` and its like.
    package func reseal(
        notUnder keyID: String,
        among formerKeyIDs: [String],
        limit: Int,
        by actor: Actor,
        reseal: @escaping @Sendable (StoredSecret) throws -> SealedSecret
    ) async throws -> Int {
        do {
            return try await postgres.withTransaction { connection in
                let secrets = try await Self.lockSecrets(
                    notUnder: keyID,
                    among: formerKeyIDs,
                    limit: limit,
                    on: connection
                )
                guard !secrets.isEmpty else { return 0 }
                for secret in secrets { try await connection.replace(secret, by: try reseal(secret)) }
                let touched = Dictionary(grouping: secrets, by: \.application)
                try await connection.record(
                    touched.sorted { $0.key.text < $1.key.text }.map { .resealed($0.value, of: $0.key, under: keyID) },
                    by: actor
                )
                _ = try await connection.raiseRevision(of: Array(touched.keys))
                return secrets.count
            }
        } catch let error as PostgresError {
            throw await failure(of: error, in: nil)
        }
    }

    /// The applications' rows are locked with the secrets, as everybody does it first who changes an application.
    private static func lockSecrets(
        notUnder keyID: String,
        among formerKeyIDs: [String],
        limit: Int,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> [StoredSecret] {
        let result = try await connection.query(
            """
            select f.application_id, f.provider, f.app_id, f.secret, f.secret_key_id
            from federation.provider_apps f join federation.applications a on a.id = f.application_id
            where f.secret_key_id <> \(keyID)
                and f.secret_key_id = any (\(formerKeyIDs))
            order by f.application_id, f.provider, f.position limit \(limit)
            for update of a, f skip locked
            """
        )
        var secrets: [StoredSecret] = []
        for row in result.rows {
            guard let application = ApplicationID(try row.decode(0, as: String.self)),
                let provider = ProviderName(try row.decode(1, as: String.self)),
                let app = ProviderAppID(try row.decode(2, as: String.self))
            else { continue }
            let sealed = SealedSecret(
                bytes: try row.decode(3, as: [UInt8].self),
                keyID: try row.decode(4, as: String.self)
            )
            secrets.append(StoredSecret(application: application, provider: provider, app: app, secret: sealed))
        }
        return secrets
    }
}

extension PostgresConnection {
    /// The secret itself stays the same, and so does the time of its last change.
    fileprivate func replace(_ stored: StoredSecret, by sealed: SealedSecret) async throws(PostgresError) {
        _ = try await query(
            """
            update federation.provider_apps set secret = \(sealed.bytes), secret_key_id = \(sealed.keyID)
            where application_id = \(stored.application.text) and provider = \(stored.provider.text)
                and app_id = \(stored.app.text)
            """
        )
    }
}

extension AuditRecord {
    fileprivate static func resealed(
        _ secrets: [StoredSecret],
        of application: ApplicationID,
        under keyID: String
    ) -> AuditRecord {
        let before = Set(secrets.map(\.secret.keyID)).sorted().map(JSONValue.string)
        return AuditRecord(
            application: application,
            action: "secrets.reseal",
            target: nil,
            details: [
                "from": .object(["keyIds": .array(before)]),
                "to": .object(["keyId": .string(keyID), "secrets": .integer(Int64(secrets.count))]),
            ]
        )
    }
}
