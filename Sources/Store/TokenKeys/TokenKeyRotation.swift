import Postgres
package import Vocabulary

/// A key of signed tokens that is to be stored.
package struct NewTokenKey: Sendable {
    package let id: String
    package let application: ApplicationID
    package let secret: SealedSecret
    /// A JWK.
    package let publicKey: JSONObject

    package init(id: String, application: ApplicationID, secret: SealedSecret, publicKey: JSONObject) {
        self.id = id
        self.application = application
        self.secret = secret
        self.publicKey = publicKey
    }
}

extension Store {
    /// Stores a key of signed tokens, unless the application has one that is not retired: of instances that want one at
    /// once, one stores its own.
    package func addFirstTokenKey(_ key: NewTokenKey) async throws(Failure) {
        _ = try await query(
            """
            insert into federation.token_keys (id, application_id, secret, secret_key_id, public_key)
            select \(key.id), \(key.application.text), \(key.secret.bytes), \(key.secret.keyID),
                \(JSONText(JSONValue.object(key.publicKey).text))
            where not exists (
                select from federation.token_keys where application_id = \(key.application.text) and retired is null
            ) on conflict do nothing
            """
        )
    }

    /// Puts a new key in front of those of an application's signed tokens, and removes those that no living token can
    /// be of.
    ///
    /// - Parameters:
    ///   - key: The new one.
    ///   - atOnce: Removes all others that may have signed for the application, however many tokens of theirs live.
    ///   - keptSeconds: How long a retired key is kept.
    ///   - actor: Who does it.
    /// - Throws: `store_unavailable` and its like.
    package func rotateTokenKeys(
        to key: NewTokenKey,
        atOnce: Bool,
        keptSeconds: Int64,
        by actor: Actor
    ) async throws(Failure) {
        try await transaction { connection in
            // One rotation after the other; readers go on.
            _ = try await connection.query("lock table federation.token_keys in share row exclusive mode")
            let before = try await connection.query(
                "select id from federation.token_keys where application_id = \(key.application.text) and retired is null"
            )
            let former = try before.first?.decode(0, as: String.self)
            _ = try await connection.query(
                """
                delete from federation.token_keys
                where (application_id = \(key.application.text) or application_id is null)
                    and (\(atOnce) or retired < now() - make_interval(secs => \(keptSeconds)))
                """
            )
            _ = try await connection.query(
                """
                update federation.token_keys set retired = now()
                where application_id = \(key.application.text) and retired is null
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
                application: key.application,
                action: "token-key.rotate",
                target: key.id,
                from: former.map { .object(["id": .string($0)]) },
                to: .object(["id": .string(key.id), "atOnce": .bool(atOnce)])
            )
            try await connection.record([entry], by: actor)
        }
    }
}
