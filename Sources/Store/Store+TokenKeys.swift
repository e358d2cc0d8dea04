package import Domain
package import Encodings
import Postgres

/// A key that signs tokens, or that has signed tokens which may still be valid.
package struct StoredTokenKey: Sendable {
    /// The key id in the tokens (`kid`).
    package let id: String
    /// The application whose tokens the key signs; nil for an old key that all applications shared.
    package let application: ApplicationID?
    /// The private key.
    package let secret: EncryptedSecret
    /// The public key, a JWK.
    package let publicKey: JSONObject
    /// The time of the key's creation, in milliseconds since 1970.
    package let created: Int64
    /// The time at which another key replaced this key, in milliseconds since 1970; nil for the newest key.
    ///
    /// This key goes on signing until all instances know the new key.
    package let retired: Int64?
    /// Seconds since the creation, by the clock of the database.
    package let age: Double
    /// Seconds since another key replaced this one, by the clock of the database.
    package let retiredSince: Double?

    /// The algorithm of the key's signatures.
    package var algorithm: TokenAlgorithm { publicKey["kty"]?.string == "RSA" ? .rs256 : .es256 }

    package init(
        id: String,
        application: ApplicationID?,
        secret: EncryptedSecret,
        publicKey: JSONObject,
        created: Int64,
        retired: Int64?,
        age: Double,
        retiredSince: Double?
    ) {
        self.id = id
        self.application = application
        self.secret = secret
        self.publicKey = publicKey
        self.created = created
        self.retired = retired
        self.age = age
        self.retiredSince = retiredSince
    }
}

extension Store {
    /// Returns the keys that may have signed an application's tokens, the oldest first.
    ///
    /// Without an application, returns all keys.
    package func tokenKeys(of application: ApplicationID? = nil) async throws(Failure) -> [StoredTokenKey] {
        let result = try await query(
            """
            select id, application_id, secret, secret_key_id, public_key, created, retired,
                extract(epoch from now() - created)::double precision,
                extract(epoch from now() - retired)::double precision
            from federation.token_keys
            where \(application == nil) or application_id is null or application_id = \(application?.text ?? "")
            order by created, id
            """
        )
        return try result.all { row throws(PostgresError) in
            StoredTokenKey(
                id: try row.next(),
                application: try row.next(String?.self).flatMap { ApplicationID($0) },
                secret: try row.next(),
                publicKey: try row.next(JSONValue.self).object ?? [:],
                created: try row.next(Timestamp.self).milliseconds,
                retired: try row.next(Timestamp?.self)?.milliseconds,
                age: try row.next(),
                retiredSince: try row.next()
            )
        }
    }
}

/// A new key that signs tokens.
package struct NewTokenKey: Sendable {
    package let id: String
    package let application: ApplicationID
    package let secret: EncryptedSecret
    /// The public key, a JWK.
    package let publicKey: JSONObject

    /// The type of the key (RFC 7518 §6.1), which differs by the algorithm.
    fileprivate var type: String { publicKey["kty"]?.string ?? "" }

    package init(id: String, application: ApplicationID, secret: EncryptedSecret, publicKey: JSONObject) {
        self.id = id
        self.application = application
        self.secret = secret
        self.publicKey = publicKey
    }
}

extension Store {
    /// Stores a key that signs tokens, unless the application has one of the same type that is not retired.
    ///
    /// Of instances that create one at the same time, one succeeds.
    package func addFirstTokenKey(_ key: NewTokenKey) async throws(Failure) {
        _ = try await query(
            """
            insert into federation.token_keys (id, application_id, secret, secret_key_id, public_key)
            select \(key.id), \(key.application.text), \(key.secret.bytes), \(key.secret.keyID),
                \(JSONText(JSONValue.object(key.publicKey).text))
            where not exists (
                select from federation.token_keys
                where application_id = \(key.application.text) and public_key ->> 'kty' = \(key.type)
                    and retired is null
            ) on conflict do nothing
            """
        )
    }

    /// Replaces the key that signs an application's tokens, and deletes former keys whose tokens have all expired.
    ///
    /// Keys of another type than the new key stay as they are.
    ///
    /// - Parameters:
    ///   - key: The new key.
    ///   - atOnce: Whether to delete all former keys of the application, even those that signed tokens which have not
    ///     expired.
    ///   - keptSeconds: Seconds for which a retired key is kept, unless `atOnce` is true.
    ///   - actor: The author of the change, for the audit log.
    /// - Throws: `store_unavailable` and similar failures.
    package func rotateTokenKeys(
        to key: NewTokenKey,
        atOnce: Bool,
        keptSeconds: Int64,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        try await transaction { connection in
            // The lock serializes rotations; it does not block readers.
            _ = try await connection.query("lock table federation.token_keys in share row exclusive mode")
            let before = try await connection.query(
                """
                select id from federation.token_keys
                where application_id = \(key.application.text) and public_key ->> 'kty' = \(key.type)
                    and retired is null
                """
            )
            let former = try before.first(String.self)
            _ = try await connection.query(
                """
                delete from federation.token_keys
                where (application_id = \(key.application.text) or application_id is null)
                    and public_key ->> 'kty' = \(key.type)
                    and (\(atOnce) or retired < now() - make_interval(secs => \(keptSeconds)))
                """
            )
            _ = try await connection.query(
                """
                update federation.token_keys set retired = now()
                where application_id = \(key.application.text) and public_key ->> 'kty' = \(key.type)
                    and retired is null
                """
            )
            _ = try await connection.query(
                """
                insert into federation.token_keys (id, application_id, secret, secret_key_id, public_key)
                values (
                    \(key.id), \(key.application.text), \(key.secret.bytes), \(key.secret.keyID),
                    \(JSONText(JSONValue.object(key.publicKey).text))
                )
                """
            )
            let entry = AuditRecord(
                "token-key.rotate",
                of: key.id,
                in: key.application,
                from: former.map { .object(["id": .string($0)]) },
                to: .object(["id": .string(key.id), "atOnce": .bool(atOnce)])
            )
            try await connection.record([entry], by: actor)
        }
    }
}
