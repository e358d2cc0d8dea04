package import Identity
import Postgres

/// That Facebook has ended an app's access to a person.
package struct IdentityRevocation: Sendable {
    let identity: IdentityKey
    let moment: Int64
    let word: String
    let endsSessions: Bool

    /// Says what happened.
    ///
    /// - Parameters:
    ///   - identity: Whose access it was.
    ///   - moment: Unix seconds at which it happened; a login after that second has made it void.
    ///   - word: By what we know it: `deauthorize`, `webhook`, ….
    ///   - endsSessions: Whether the sessions that rest on the identity end.
    package init(of identity: IdentityKey, at moment: Int64, by word: String, endsSessions: Bool) {
        self.identity = identity
        self.moment = moment
        self.word = word
        self.endsSessions = endsSessions
    }
}

extension Store {
    /// Marks an identity as revoked and forgets its provider token, which is worth nothing any more.
    ///
    /// - Parameters:
    ///   - revocation: What happened.
    ///   - application: Whose identity it is.
    ///   - actor: Who says so, for the audit log.
    /// - Returns: The user; nil when nothing was to be done: there is no such identity, it is revoked already, or the person
    ///   has logged in since.
    /// - Throws: `store_unavailable` and its like.
    package func revoke(
        _ revocation: IdentityRevocation,
        of application: Application,
        by actor: Actor
    ) async throws(Failure) -> ObjectID? {
        let identity = revocation.identity
        return try await transaction { connection in
            guard let user = try await connection.lockUser(of: identity, schema: application.schema) else { return nil }
            let revoked = try await connection.query(
                """
                update \(identifier: application.schema).identities
                set revoked = least(now(), to_timestamp(\(revocation.moment))), revoked_by = \(revocation.word), \(unsafeRaw: Self.noToken)
                where \(identity.condition) and object_id = \(user.uuid) and revoked is null
                    and last_used < to_timestamp(\(revocation.moment)) + interval '1 second'
                """
            )
            guard revoked.affectedRows == 1 else { return nil }
            if revocation.endsSessions {
                try await connection.endSessions(of: user, openedBy: identity, schema: application.schema)
            }
            let entry = AuditRecord(
                application: application.id,
                action: "user.revoke",
                target: user.description,
                from: nil,
                to: .object([
                    "provider": .string("facebook"), "appId": .string(identity.app.text),
                    "revokedBy": .string(revocation.word),
                ])
            )
            try await connection.record([entry], by: actor)
            return user
        }
    }
}

extension PostgresConnection {
    /// Ends the sessions of a user that rest on one identity.
    func endSessions(
        of user: ObjectID,
        openedBy identity: IdentityKey,
        schema: String
    ) async throws(PostgresError) {
        _ = try await query(
            """
            delete from \(identifier: schema).sessions where object_id = \(user.uuid) and \(identity.condition)
            """
        )
    }
}
