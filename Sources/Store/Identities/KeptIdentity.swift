import Postgres
package import Vocabulary

/// An identity of which a token is kept, as far as it matters for asking the provider about it.
package struct KeptIdentity: Sendable {
    /// What finds it.
    package let key: IdentityKey
    package let token: SealedToken
    /// When the provider said last that the token stands, and when the profile was read last; Unix seconds.
    package let checkedAt: Int64
    package let refreshedAt: Int64
    /// Whether the user is disabled, so that nothing of the profile is written.
    package let isDisabled: Bool

    package init(
        key: IdentityKey,
        token: SealedToken,
        checkedAt: Int64,
        refreshedAt: Int64,
        isDisabled: Bool
    ) {
        self.key = key
        self.token = token
        self.checkedAt = checkedAt
        self.refreshedAt = refreshedAt
        self.isDisabled = isDisabled
    }

    package var app: ProviderAppID { key.app }
    package var subject: Subject { key.subject }

    /// Seconds: a token that ends within a day is a short-lived one, or a long-lived one at its end
    /// (docs/protocols/facebook.md §6).
    package static let shortLife: Int64 = 86_400

    /// Whether the token ends so soon that it is worth exchanging.
    package func isShortLived(now: Int64) -> Bool {
        token.expiresAt.map { $0 < now.addingReportingOverflow(Self.shortLife).partialValue } ?? false
    }
}

extension KeptIdentity {
    /// The select list from which `init(_:)` reads, of an identity's row and its user's status.
    static func columns(of identity: String, status: String) -> String {
        let i = identity
        func seconds(_ column: String) -> String { "floor(extract(epoch from \(column)))::bigint" }
        let expires = "case when isfinite(\(i).token_expires) then \(seconds("\(i).token_expires")) end"
        return """
            \(i).provider, \(i).provider_app, \(i).subject, \(i).token, \(i).token_key_id, \(i).token_kind, \(expires), \
            \(seconds("coalesce(\(i).checked, \(i).created)")), \(seconds("coalesce(\(i).refreshed, \(i).created)")), \(status)
            """
    }

    /// Reads a row; nil when it holds no token, or a name that this program could not have written.
    init?(_ row: Row) throws(PostgresError) {
        guard let key = try IdentityKey(row),
            let bytes = try row.decode(3, as: [UInt8]?.self), let keyID = try row.decode(4, as: String?.self),
            let kind = try row.decode(5, as: String?.self).flatMap(ProviderToken.Kind.init)
        else { return nil }
        self.key = key
        token = SealedToken(
            kind: kind,
            secret: SealedSecret(bytes: bytes, keyID: keyID),
            expiresAt: try row.decode(6, as: Int64?.self)
        )
        checkedAt = try row.decode(7, as: Int64.self)
        refreshedAt = try row.decode(8, as: Int64.self)
        isDisabled = try row.decode(9, as: String.self) == UserStatus.disabled.rawValue
    }

    /// The first column behind those of `columns`.
    static let nextColumn = 10

    /// Those rows of a result that hold a token.
    static func all(in result: ResultSet) throws(PostgresError) -> [KeptIdentity] {
        var identities: [KeptIdentity] = []
        for row in result.rows {
            if let identity = try KeptIdentity(row) { identities.append(identity) }
        }
        return identities
    }

    /// Asks for the identities of a user of which a token is kept.
    static func statement(of user: ObjectID, schema: String) -> Statement {
        """
        select \(unsafeRaw: columns(of: "i", status: "u.user_status"))
        from \(identifier: schema).users u join \(identifier: schema).identities i using (object_id)
        where u.object_id = \(user.uuid) and i.token is not null
        order by i.created, i.provider, i.provider_app, i.subject
        """
    }
}

extension PostgresConnection {
    /// The identities of a user of which a token is kept, within a transaction.
    func keptIdentities(of user: ObjectID, schema: String) async throws(PostgresError) -> [KeptIdentity] {
        try KeptIdentity.all(in: try await query(KeptIdentity.statement(of: user, schema: schema)))
    }
}
