import Postgres
package import Vocabulary

/// A key that signs tokens, or has signed some that may live still.
package struct StoredTokenKey: Sendable {
    /// What the tokens name it by (`kid`).
    package let id: String
    /// Whose tokens it signs; nil for a key of the time when all applications had one together.
    package let application: ApplicationID?
    /// The private key.
    package let secret: SealedSecret
    /// The public key, a JWK.
    package let publicKey: JSONObject
    /// Milliseconds since 1970.
    package let created: Int64
    /// When another key took its place; it signs on until that one is known everywhere.
    ///
    /// Nil for the newest.
    package let retired: Int64?
    /// Seconds since it was made, and since it was retired, by the clock of the database.
    package let age: Double
    package let retiredSince: Double?

    package init(
        id: String,
        application: ApplicationID?,
        secret: SealedSecret,
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
    /// The keys that may have signed an application's tokens, or all there are, the oldest first.
    package func tokenKeys(of application: ApplicationID? = nil) async throws(Failure) -> [StoredTokenKey] {
        let result = try await query(
            """
            select id, secret, secret_key_id, public_key, created, retired,
                extract(epoch from now() - created)::double precision,
                extract(epoch from now() - retired)::double precision, application_id
            from federation.token_keys
            where \(application == nil) or application_id is null or application_id = \(application?.text ?? "")
            order by created, id
            """
        )
        return try read { () throws(PostgresError) in
            var keys: [StoredTokenKey] = []
            for row in result.rows {
                keys.append(
                    StoredTokenKey(
                        id: try row.decode(0, as: String.self),
                        application: try row.decode(8, as: String?.self).flatMap { ApplicationID($0) },
                        secret: SealedSecret(
                            bytes: try row.decode(1, as: [UInt8].self),
                            keyID: try row.decode(2, as: String.self)
                        ),
                        publicKey: try row.decode(3, as: JSONValue.self).object ?? [:],
                        created: try row.decode(4, as: Timestamp.self).milliseconds,
                        retired: try row.decode(5, as: Timestamp?.self)?.milliseconds,
                        age: try row.decode(6, as: Double.self),
                        retiredSince: try row.decode(7, as: Double?.self)
                    )
                )
            }
            return keys
        }
    }
}
