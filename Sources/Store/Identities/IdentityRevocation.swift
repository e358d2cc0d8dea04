package import Domain
import Encodings
import Postgres

/// The end of an app's access to a user, as a provider reports it.
package struct IdentityRevocation: Sendable {
    /// What the provider reports as revoked: all access up to a time, or one token.
    package enum Scope: Sendable {
        /// All access that the app got until a time, in Unix seconds.
        ///
        /// A login after that second makes the revocation void.
        ///
        /// The row of an identity that is already revoked does not change.
        case access(until: Int64)
        /// The stored token, which a check at the provider found to be revoked.
        ///
        /// A login that has stored another token makes the revocation void.
        case token(EncryptedToken)
    }

    let identity: IdentityKey
    let scope: Scope
    let word: String
    let endsSessions: Bool

    /// Creates a revocation.
    ///
    /// - Parameters:
    ///   - identity: The identity.
    ///   - scope: The revoked access.
    ///   - word: The source of the report: `deauthorize`, `webhook`, `check`.
    ///   - endsSessions: Whether to revoke the sessions that the identity opened.
    package init(of identity: IdentityKey, _ scope: Scope, by word: String, endsSessions: Bool) {
        self.identity = identity
        self.scope = scope
        self.word = word
        self.endsSessions = endsSessions
    }

    /// The SQL assignments that set the time of the revocation and, after a check, the time of the check.
    fileprivate var moment: Statement {
        switch scope {
        case .access(let moment): "revoked = least(now(), to_timestamp(\(moment)))"
        case .token: "revoked = now(), checked = now()"
        }
    }

    /// The SQL condition for a row of `identities` under which the revocation takes effect.
    fileprivate var condition: Statement {
        switch scope {
        case .access(let moment): "revoked is null and last_used < to_timestamp(\(moment)) + interval '1 second'"
        case .token(let token): "token = \(token.secret.bytes)"
        }
    }
}

/// The result of a revocation.
package struct RevokedIdentity: Sendable {
    package let user: ObjectID
    package let sessionsEnded: Int
}

extension Store {
    /// Marks an identity as revoked and deletes its provider token, which is useless now.
    ///
    /// The sessions that the identity opened are revoked, too, if the revocation says so.
    ///
    /// - Parameters:
    ///   - revocation: The revocation.
    ///   - application: The application of the identity.
    ///   - actor: The source of the revocation, for the audit log.
    /// - Returns: Nil if nothing was to be done: there is no such identity, or the revocation is void.
    /// - Throws: `store_unavailable` and similar failures.
    package func revoke(
        _ revocation: IdentityRevocation,
        of application: Application,
        by actor: ChangeAuthor
    ) async throws(Failure) -> RevokedIdentity? {
        let identity = revocation.identity
        let tables = tables(of: application)
        return try await transaction(in: tables) { connection in
            let user = try await connection.lockUser(of: identity, schema: application.schema)
            // Credentials issued before that time end in every case: also if a login came after it, if the identity is
            // already revoked, or if no user has the identity now.
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
            // A check concerns one token, so it ends the user's access only if the identity still has that token.
            if case .token = revocation.scope {
                try await connection.endAccess(of: identity.row, at: nil, schema: application.schema)
            }
            let ended =
                revocation.endsSessions
                ? try await connection.endSessions(of: user, openedBy: identity, schema: application.schema) : 0
            let entry = AuditRecord(
                "user.revoke",
                of: user.description,
                in: application.id,
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

extension Store {
    /// Ends the sessions that an identity opened until a time, since the user has logged out at the provider.
    ///
    /// A credential that the provider issued before that time, for a session that has ended, opens no session any more.
    ///
    /// - Parameters:
    ///   - identity: The identity.
    ///   - providerSession: The hash of the session at the provider that has ended; nil for all of the user's. A
    ///     session whose credential did not name such a session ends in both cases.
    ///   - moment: The time in Unix seconds. A session that was opened in the same second ends, too.
    ///   - application: The application of the identity.
    ///   - actor: The source of the report, for the audit log.
    /// - Returns: The number of sessions.
    /// - Throws: `store_unavailable` and similar failures.
    package func endSessions(
        openedBy identity: IdentityKey,
        during providerSession: [UInt8]? = nil,
        until moment: Int64,
        of application: Application,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Int {
        let tables = tables(of: application)
        return try await transaction(in: tables) { connection in
            let user = try await connection.lockUser(of: identity, schema: application.schema)
            if providerSession == nil {
                try await connection.endAccess(of: identity.row, at: moment, schema: application.schema)
            }
            guard let user else { return 0 }
            let isOver: Statement =
                providerSession.map { "coalesce(provider_session = \($0), true)" } ?? "true"
            let ended = try await connection.query(
                """
                delete from \(identifier: application.schema).sessions
                where object_id = \(user.uuid) and \(identity.condition) and \(isOver)
                    and created < to_timestamp(\(moment)) + interval '1 second'
                """
            )
            guard let count = ended.affectedRows, count > 0 else { return 0 }
            let entry = AuditRecord("user.sessions.end", of: user.description, in: application.id)
            try await tables.record([entry], by: actor, with: connection)
            return count
        }
    }

    /// Records that a session at a provider has ended, and returns the identities that opened sessions within it.
    ///
    /// A credential that the provider issued before that time for that session opens no session any more.
    ///
    /// - Parameters:
    ///   - session: The hash of the session at the provider.
    ///   - moment: The time of the end in Unix seconds.
    ///   - application: The application of the identities.
    /// - Returns: The identities.
    /// - Throws: `store_unavailable` and similar failures.
    package func endProviderSession(
        _ session: [UInt8],
        at moment: Int64,
        of application: Application
    ) async throws(Failure) -> [IdentityKey] {
        try await transaction(in: tables(of: application)) { connection in
            try await connection.markEnded("select \(session)", at: moment, schema: application.schema)
            return try await connection.query(
                """
                select distinct provider, provider_app, subject from \(identifier: application.schema).sessions
                where provider_session = \(session)
                """
            ).all(by: IdentityKey.init)
        }
    }
}

extension PostgresConnection {
    /// Revokes the sessions of a user that one identity opened.
    ///
    /// - Returns: The number of sessions.
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

/// A permission that a user has granted or revoked at a provider.
package struct PermissionChange: Sendable {
    let permission: String
    let isGranted: Bool

    package init(_ permission: String, isGranted: Bool) {
        self.permission = permission
        self.isGranted = isGranted
    }
}

extension Store {
    /// Stores changes of an identity's permissions.
    ///
    /// Of the events about one permission the newest takes effect, in whatever order the events arrive. If two events
    /// are of the same second, the revocation takes effect. A later login overrides all events.
    ///
    /// - Parameters:
    ///   - changes: The changes.
    ///   - moment: The time of the changes in Unix seconds.
    ///   - identity: The identity with the permissions.
    ///   - application: The application of the identity.
    /// - Returns: The number of changes that had an effect.
    /// - Throws: `store_unavailable` and similar failures.
    package func note(
        _ changes: [PermissionChange],
        at moment: Int64,
        for identity: IdentityKey,
        of application: Application
    ) async throws(Failure) -> Int {
        try await transaction(in: tables(of: application)) { connection in
            guard let user = try await connection.lockUser(of: identity, schema: application.schema) else { return 0 }
            var news = 0
            for change in changes {
                let noted = try await connection.query(
                    change.statement(at: moment, for: identity, of: user, schema: application.schema)
                )
                news += noted.affectedRows ?? 0
            }
            return news
        }
    }
}

extension PermissionChange {
    fileprivate func statement(
        at moment: Int64,
        for identity: IdentityKey,
        of user: ObjectID,
        schema: String
    ) -> Statement {
        let gained: Statement = isGranted ? "granted_scopes" : "declined_scopes"
        let lost: Statement = isGranted ? "declined_scopes" : "granted_scopes"
        return """
            update \(identifier: schema).identities
            set \(gained) = array_append(array_remove(\(gained), \(permission)), \(permission)),
                \(lost) = array_remove(\(lost), \(permission)),
                permission_events = permission_events || jsonb_build_object(\(permission), \(moment))
            where \(identity.condition) and object_id = \(user.uuid)
                and last_used < to_timestamp(\(moment)) + interval '1 second'
                and coalesce((permission_events ->> \(permission))::bigint, -1) < \(isGranted ? moment : moment + 1)
            """
    }
}

extension PostgresConnection {
    /// Makes the older credentials of some identities invalid.
    ///
    /// These are the credentials that the provider issued before `moment`. The record of that moment is kept for two
    /// hours: an ID token is valid for an hour after its issue, and the second hour allows for differing clocks. A
    /// moment that is not later than the recorded one changes nothing.
    ///
    /// - Parameters:
    ///   - identities: A SQL query for the identities, with the columns `provider`, `provider_app` and `subject`.
    ///   - moment: Unix seconds; nil for now.
    ///   - schema: The application's schema.
    /// - Throws: The database's error.
    func endAccess(
        of identities: Statement,
        at moment: Int64?,
        schema: String
    ) async throws(PostgresError) {
        try await markEnded(
            """
            select federation.identity_hash(i.provider, i.app, i.subject)
            from (\(identities)) i (provider, app, subject)
            """,
            at: moment,
            schema: schema
        )
    }

    /// Refuses the credentials, issued until a time, of the identities or sessions at a provider with the given hashes.
    func markEnded(_ hashes: Statement, at moment: Int64?, schema: String) async throws(PostgresError) {
        _ = try await query(
            """
            insert into \(identifier: schema).single_use as s (kind, hash, created, expires)
            select 'ended', h.hash, ended.moment, ended.moment + interval '2 hours'
            from (\(hashes)) h (hash), (select least(now(), \(bind: .moment(moment))) as moment) ended
            where ended.moment > now() - interval '2 hours'
            on conflict (kind, hash) do update set created = excluded.created, expires = excluded.expires
            where s.created < excluded.created
            """
        )
    }
}

extension IdentityKey {
    /// The identity as the SQL of a row, for `endAccess`.
    var row: Statement { "values (\(provider.text), \(app.text), \(subject.text))" }
}

/// The outcome of a request to a provider to remove the permissions of one app, for the audit log.
package struct RecordedRevocation: Sendable {
    let provider: ProviderName
    let app: ProviderAppID
    let outcome: String
    let reason: String?

    package init(provider: ProviderName, app: ProviderAppID, outcome: String, reason: String?) {
        self.provider = provider
        self.app = app
        self.outcome = outcome
        self.reason = reason
    }
}

extension Store {
    /// Writes the audit log entries `permissions.remove`: the outcomes of requests to providers to remove an app's
    /// permissions.
    ///
    /// The requests were made with the user's tokens.
    package func record(
        _ revocations: [RecordedRevocation],
        formerlyOf user: ObjectID,
        in application: Application,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        let entries = revocations.map { revocation in
            var outcome: JSONObject = [
                "provider": .string(revocation.provider.text), "appId": .string(revocation.app.text),
                "outcome": .string(revocation.outcome),
            ]
            if let reason = revocation.reason { outcome.append("reason", .string(reason)) }
            return AuditRecord("permissions.remove", of: user.description, in: application.id, to: .object(outcome))
        }
        try await transaction { try await $0.record(entries, by: actor) }
    }
}
