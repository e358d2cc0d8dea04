import Postgres
package import Vocabulary

/// The identity by which a session was opened.
package struct SessionIdentity: Sendable {
    package let key: IdentityKey
    /// Whether the provider has said that it is revoked.
    package let isRevoked: Bool
    /// The identity with its token; nil when none is kept.
    package let kept: KeptIdentity?
}

extension Store {
    /// The identity by which a live session was opened.
    ///
    /// - Returns: Nil when the session is unknown or over, or its identity is unknown or gone.
    package func identity(
        ofSession tokenHash: [UInt8],
        of application: Application
    ) async throws(Failure) -> SessionIdentity? {
        let schema = quoted(application.schema)
        let status = "(select u.user_status from \(schema).users u where u.object_id = i.object_id)"
        let sql = """
            select \(KeptIdentity.columns(of: "i", status: status)), i.revoked is not null
            from \(schema).identities i
            where (i.provider, i.provider_app, i.subject, i.object_id) = (
                select s.provider, s.provider_app, s.subject, s.object_id from \(schema).sessions s
                where s.token_hash = $1 and \(application.isLive("s"))
            )
            """
        let result = try await query(Statement(sql: sql, binds: [.bytes(tokenHash)]), of: application)
        return try read { () throws(PostgresError) in
            guard let row = result.first else { return nil }
            return try SessionIdentity(row)
        }
    }

    /// The identities of a user of which a token is kept.
    package func keptIdentities(
        of user: ObjectID,
        in application: Application
    ) async throws(Failure) -> [KeptIdentity] {
        let result = try await query(KeptIdentity.statement(of: user, schema: application.schema), of: application)
        return try read { () throws(PostgresError) in try KeptIdentity.all(in: result) }
    }

    /// Notes that an operator had a user's profile read again: an entry `user.refresh`.
    package func recordRefresh(
        of user: ObjectID,
        in application: ApplicationID,
        by actor: Actor
    ) async throws(Failure) {
        try await record("user.refresh", of: user, in: application, by: actor)
    }

    /// Notes that an operator had a mail sent to a user: an entry `user.mail`, with the name of its template.
    package func recordMail(
        _ template: String,
        to user: ObjectID,
        in application: ApplicationID,
        by actor: Actor
    ) async throws(Failure) {
        try await record("user.mail", of: user, to: .object(["mail": .string(template)]), in: application, by: actor)
    }

    private func record(
        _ action: String,
        of user: ObjectID,
        to: JSONValue? = nil,
        in application: ApplicationID,
        by actor: Actor
    ) async throws(Failure) {
        let entry = AuditRecord(application: application, action: action, target: user.description, from: nil, to: to)
        try await transaction { connection in try await connection.record([entry], by: actor) }
    }
}

extension SessionIdentity {
    fileprivate init?(_ row: Row) throws(PostgresError) {
        guard let key = try IdentityKey(row) else { return nil }
        self.key = key
        kept = try KeptIdentity(row)
        isRevoked = try row.decode(KeptIdentity.nextColumn, as: Bool.self)
    }
}
