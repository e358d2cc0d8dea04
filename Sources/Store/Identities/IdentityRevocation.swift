import Postgres
package import Vocabulary

/// That a provider has ended an app's access to a person.
package struct IdentityRevocation: Sendable {
    /// What the word is about: a login that came after it has made it void.
    package enum Scope: Sendable {
        /// Access up to a moment, in Unix seconds. A login after that second is not meant, and news of what is known is
        /// none.
        case access(until: Int64)
        /// The kept token that the provider was asked about, as it is stored. A login may have brought another.
        case token(SealedToken)
    }

    let identity: IdentityKey
    let scope: Scope
    let word: String
    let endsSessions: Bool

    /// Says what happened.
    ///
    /// - Parameters:
    ///   - identity: Whose access it was.
    ///   - scope: What of it has ended.
    ///   - word: By what we know it: `deauthorize`, `webhook`, `check`.
    ///   - endsSessions: Whether the sessions that rest on the identity end.
    package init(of identity: IdentityKey, _ scope: Scope, by word: String, endsSessions: Bool) {
        self.identity = identity
        self.scope = scope
        self.word = word
        self.endsSessions = endsSessions
    }

    /// When it happened, and, where the provider was asked for it, that it was.
    fileprivate var moment: Statement {
        switch scope {
        case .access(let moment): "revoked = least(now(), to_timestamp(\(moment)))"
        case .token: "revoked = now(), checked = now()"
        }
    }

    /// Whether it still holds of the row.
    fileprivate var condition: Statement {
        switch scope {
        case .access(let moment): "revoked is null and last_used < to_timestamp(\(moment)) + interval '1 second'"
        case .token(let token): "token = \(token.secret.bytes)"
        }
    }
}

/// What a revocation came to.
package struct RevokedIdentity: Sendable {
    package let user: ObjectID
    package let sessionsEnded: Int
}

extension Store {
    /// Marks an identity as revoked, forgets its provider token, which is worth nothing any more, and ends the sessions
    /// that rest on it if they are to end.
    ///
    /// - Parameters:
    ///   - revocation: What happened.
    ///   - application: Whose identity it is.
    ///   - actor: Who says so, for the audit log.
    /// - Returns: Nil when nothing was to be done: there is no such identity, or the word is void for it.
    /// - Throws: `store_unavailable` and its like.
    package func revoke(
        _ revocation: IdentityRevocation,
        of application: Application,
        by actor: Actor
    ) async throws(Failure) -> RevokedIdentity? {
        let identity = revocation.identity
        let tables = tables(of: application)
        return try await transaction(in: tables) { connection in
            let user = try await connection.lockUser(of: identity, schema: application.schema)
            // Also when a login came after it, it is no news, or the identity is nobody's for now: what was issued
            // before has ended.
            if case .access(let moment) = revocation.scope {
                try await connection.endAccess(of: identity.row, at: moment, schema: application.schema)
            }
            guard let user else { return nil }
            let revoked = try await connection.query(
                """
                update \(identifier: application.schema).identities
                set \(revocation.moment), revoked_by = \(revocation.word), \(unsafeRaw: Self.noToken)
                where \(identity.condition) and object_id = \(user.uuid) and \(revocation.condition)
                """
            )
            guard revoked.affectedRows == 1 else { return nil }
            // A check is about one token, so it says nothing of the person before it has held.
            if case .token = revocation.scope {
                try await connection.endAccess(of: identity.row, at: nil, schema: application.schema)
            }
            let ended =
                revocation.endsSessions
                ? try await connection.endSessions(of: user, openedBy: identity, schema: application.schema) : 0
            let entry = AuditRecord(
                application: application.id,
                action: "user.revoke",
                target: user.description,
                from: nil,
                to: .object([
                    "provider": .string(identity.provider.text), "appId": .string(identity.app.text),
                    "revokedBy": .string(revocation.word),
                ])
            )
            try await tables.record([entry], by: actor, with: connection)
            return RevokedIdentity(user: user, sessionsEnded: ended)
        }
    }
}

extension PostgresConnection {
    /// Ends the sessions of a user that rest on one identity.
    ///
    /// - Returns: How many there were.
    @discardableResult
    func endSessions(
        of user: ObjectID,
        openedBy identity: IdentityKey,
        schema: String
    ) async throws(PostgresError) -> Int {
        let ended = try await query(
            """
            delete from \(identifier: schema).sessions where object_id = \(user.uuid) and \(identity.condition)
            """
        )
        return ended.affectedRows ?? 0
    }
}
