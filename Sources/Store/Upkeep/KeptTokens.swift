package import Identity
import Postgres

/// The identity by which a session was opened.
package struct SessionIdentity: Sendable {
    /// Whether Facebook has said that it is revoked.
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
        let sql = """
            select \(KeptIdentity.columns(of: "i", status: "u.user_status")), i.revoked is not null
            from \(schema).sessions s join \(schema).users u using (object_id)
                join \(schema).identities i on i.provider = s.provider and i.provider_app = s.provider_app
                    and i.subject = s.subject and i.object_id = s.object_id
            where s.token_hash = $1 and s.expires > now() and s.last_seen > now() - make_interval(secs => $2)
                and i.provider = 'facebook'
            """
        let result = try await query(
            Statement(sql: sql, binds: [.bytes(tokenHash), .int64(application.settings.sessionIdleSeconds)]),
            of: application
        )
        return try read { () throws(PostgresError) in try result.first.map(SessionIdentity.init) }
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
        try await transaction { connection in
            let entry = AuditRecord(
                application: application,
                action: "user.refresh",
                target: user.description,
                from: nil,
                to: nil
            )
            try await connection.record([entry], by: actor)
        }
    }
}

extension SessionIdentity {
    fileprivate init(_ row: Row) throws(PostgresError) {
        kept = try KeptIdentity(row)
        isRevoked = try row.decode(KeptIdentity.nextColumn, as: Bool.self)
    }
}
