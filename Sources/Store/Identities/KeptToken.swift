package import Identity
import Postgres

/// A provider token that is kept with an identity.
package struct KeptToken: Sendable {
    package let app: FacebookAppID
    package let subject: Subject
    package let token: SealedToken
}

extension PostgresConnection {
    /// The tokens that are kept with a user's identities.
    func keptTokens(of user: ObjectID, schema: String) async throws(PostgresError) -> [KeptToken] {
        let result = try await query(
            """
            select provider_app, subject, token, token_key_id, token_kind,
                case when isfinite(token_expires) then floor(extract(epoch from token_expires))::bigint end
            from \(identifier: schema).identities
            where object_id = \(user.uuid) and provider = 'facebook' and token is not null
            order by provider_app, subject
            """
        )
        var tokens: [KeptToken] = []
        for row in result.rows {
            guard let app = FacebookAppID(try row.decode(0, as: String.self)),
                let subject = Subject(try row.decode(1, as: String.self)),
                let bytes = try row.decode(2, as: [UInt8]?.self), let keyID = try row.decode(3, as: String?.self),
                let kind = try row.decode(4, as: String?.self).flatMap(ProviderToken.Kind.init)
            else { continue }
            let token = SealedToken(
                kind: kind,
                secret: SealedSecret(bytes: bytes, keyID: keyID),
                expiresAt: try row.decode(5, as: Int64?.self)
            )
            tokens.append(KeptToken(app: app, subject: subject, token: token))
        }
        return tokens
    }
}
