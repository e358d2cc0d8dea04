package import Identity
import Postgres

/// The identity by which a session was opened.
package struct SessionIdentity: Sendable {
    package let app: FacebookAppID
    package let subject: Subject
    /// Whether Facebook has said that it is revoked.
    package let isRevoked: Bool
    /// The kept token; nil when there is none.
    package let token: SealedToken?
    /// The same as one that Facebook can be asked about; nil without an access token.
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
            select \(KeptIdentity.columns(of: "i", status: "u.user_status")), i.revoked is not null, i.token_kind
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
        return try read { () throws(PostgresError) in try result.first.flatMap(SessionIdentity.init) }
    }

    /// The identities of a user of which an access token is kept.
    package func keptIdentities(
        of user: ObjectID,
        in application: Application
    ) async throws(Failure) -> [KeptIdentity] {
        let schema = quoted(application.schema)
        let result = try await query(
            """
            select \(unsafeRaw: KeptIdentity.columns(of: "i", status: "u.user_status"))
            from \(unsafeRaw: schema).users u join \(unsafeRaw: schema).identities i using (object_id)
            where u.object_id = \(user.uuid) and i.provider = 'facebook' and i.token_kind = 'access'
            order by i.created, i.provider_app, i.subject
            """,
            of: application
        )
        return try read { () throws(PostgresError) in
            var identities: [KeptIdentity] = []
            for row in result.rows {
                if let identity = try KeptIdentity(row) { identities.append(identity) }
            }
            return identities
        }
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
    fileprivate init?(_ row: Row) throws(PostgresError) {
        guard let app = FacebookAppID(try row.decode(0, as: String.self)),
            let subject = Subject(try row.decode(1, as: String.self))
        else { return nil }
        let kept = try KeptIdentity(row)
        let kind = try row.decode(9, as: String?.self).flatMap(ProviderToken.Kind.init)
        self.app = app
        self.subject = subject
        isRevoked = try row.decode(8, as: Bool.self)
        if let kept, let kind {
            token = SealedToken(kind: kind, secret: kept.token.secret, expiresAt: kept.token.expiresAt)
            self.kept = kind == .access ? kept : nil
        } else {
            (token, self.kept) = (nil, nil)
        }
    }
}
