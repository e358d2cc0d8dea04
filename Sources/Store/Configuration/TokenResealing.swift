import Postgres
package import Vocabulary

/// An application by what finds its tables.
package struct ApplicationPlace: Sendable, Hashable {
    package let id: ApplicationID
    let schema: String
    let database: DatabaseVariable?

    /// Whether they are in a database of the application's own.
    package var isElsewhere: Bool { database != nil }
}

extension Application {
    package var place: ApplicationPlace { ApplicationPlace(id: id, schema: schema, database: database) }
}

extension StoredApplication {
    package var place: ApplicationPlace { ApplicationPlace(id: id, schema: schema, database: database) }
}

/// How much of an application is stored under one master key.
package struct SealedCount: Sendable {
    package let keyID: String
    /// Kept tokens of identities.
    package let tokens: Int
    /// Payloads of states and login codes, which are over within minutes.
    package let passing: Int
}

extension Store {
    /// All applications, in the order of their ids.
    package func applicationPlaces() async throws(Failure) -> [ApplicationPlace] {
        let result = try await query("select id, schema_name, database from federation.applications order by id")
        return try read { () throws(PostgresError) in
            var places: [ApplicationPlace] = []
            for row in result.rows {
                let (id, variable) = (
                    ApplicationID(try row.decode(0, as: String.self)), try row.decode(2, as: String?.self)
                )
                let database = variable.flatMap(DatabaseVariable.init)
                // A name that is none leads nowhere, and not to the main database.
                guard let id, variable == nil || database != nil else { continue }
                places.append(ApplicationPlace(id: id, schema: try row.decode(1, as: String.self), database: database))
            }
            return places
        }
    }

    /// What an application stores under each master key, in the order of the keys' ids.
    package func sealedByKey(of place: ApplicationPlace) async throws(Failure) -> [SealedCount] {
        let result = try await query(
            """
            select key_id, sum(token)::bigint, sum(passing)::bigint from (
                select token_key_id as key_id, count(*) as token, 0 as passing
                from \(identifier: place.schema).identities where token_key_id is not null group by 1
                union all
                select payload_key_id, 0, count(*)
                from \(identifier: place.schema).single_use where payload_key_id is not null and expires > now() group by 1
            ) counts group by 1 order by 1
            """,
            in: tables(of: place)
        )
        return try read { () throws(PostgresError) in
            var counts: [SealedCount] = []
            for row in result.rows {
                counts.append(
                    SealedCount(
                        keyID: try row.decode(0, as: String.self),
                        tokens: try row.decode(1, as: Int.self),
                        passing: try row.decode(2, as: Int.self)
                    )
                )
            }
            return counts
        }
    }

    /// Seals some kept tokens of an application anew that are under former master keys, in one short transaction that
    /// skips rows which others hold.
    ///
    /// - Parameters:
    ///   - place: The application.
    ///   - keyID: The master key that they shall be under.
    ///   - formerKeyIDs: Leaves what is under yet other master keys as it is.
    ///   - limit: How many at most.
    ///   - actor: Who does it; one entry of the audit log.
    ///   - reseal: Makes the new ciphertext; nil for a token that does not open, which is forgotten: the next login
    ///     brings another.
    /// - Returns: How many were sealed anew or forgotten.
    /// - Throws: `store_unavailable` and its like.
    package func resealTokens(
        of place: ApplicationPlace,
        notUnder keyID: String,
        among formerKeyIDs: [String],
        limit: Int,
        by actor: Actor,
        reseal: @escaping @Sendable (SealedSecret, IdentityKey) -> SealedSecret?
    ) async throws(Failure) -> Int {
        let tables = tables(of: place)
        return try await transaction(in: tables) { connection in
            let tokens = try await Self.lockTokens(
                of: place,
                notUnder: keyID,
                among: formerKeyIDs,
                limit: limit,
                on: connection
            )
            guard !tokens.isEmpty else { return 0 }
            for (secret, identity) in tokens {
                try await connection.replaceToken(of: identity, by: reseal(secret, identity), in: place)
            }
            let entry = AuditRecord(
                application: place.id,
                action: "secrets.reseal",
                target: "identities",
                from: .object(["keyIds": .array(Set(tokens.map(\.secret.keyID)).sorted().map(JSONValue.string))]),
                to: .object(["keyId": .string(keyID), "tokens": .integer(Int64(tokens.count))])
            )
            try await tables.record([entry], by: actor, with: connection)
            return tokens.count
        }
    }

    private static func lockTokens(
        of place: ApplicationPlace,
        notUnder keyID: String,
        among formerKeyIDs: [String],
        limit: Int,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> [(secret: SealedSecret, identity: IdentityKey)] {
        let result = try await connection.query(
            """
            select provider, provider_app, subject, token, token_key_id from \(identifier: place.schema).identities
            where token_key_id <> \(keyID) and token_key_id = any (\(formerKeyIDs))
            limit \(limit) for no key update skip locked
            """
        )
        var tokens: [(secret: SealedSecret, identity: IdentityKey)] = []
        for row in result.rows {
            guard let identity = try IdentityKey(row) else { continue }
            let sealed = SealedSecret(
                bytes: try row.decode(3, as: [UInt8]?.self) ?? [],
                keyID: try row.decode(4, as: String.self)
            )
            tokens.append((sealed, identity))
        }
        return tokens
    }
}

extension PostgresConnection {
    /// The token itself stays the same, and so does everything else about it.
    fileprivate func replaceToken(
        of identity: IdentityKey,
        by sealed: SealedSecret?,
        in place: ApplicationPlace
    ) async throws(PostgresError) {
        let assignments: Statement =
            if let sealed { "token = \(sealed.bytes), token_key_id = \(sealed.keyID)" } else {
                Statement(sql: Store.noToken)
            }
        _ = try await query(
            """
            update \(identifier: place.schema).identities set \(assignments)
            where \(identity.condition)
            """
        )
    }
}
