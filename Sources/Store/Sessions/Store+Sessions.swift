package import Domain
import FoundationEssentials
import Postgres

extension Application {
    /// Returns the SQL condition that a session is valid: neither its expiry nor its idle limit has passed.
    ///
    /// No index serves the condition. Therefore each statement must find a session by its token or its user, even if
    /// the planner's statistics say that few sessions are valid.
    func isLive(_ session: String) -> String {
        "least(\(session).expires, \(session).last_seen + make_interval(secs => \(settings.sessionIdleSeconds))) > now()"
    }
}

extension Store {
    /// Returns the user of a valid session, disabled or not; nil when the session is unknown or expired.
    ///
    /// Records the session's use at most once a minute. If the idle limit is below ten minutes, the use is recorded at
    /// most once per tenth of the limit. A write at every use would cost more than all reads. If requests are
    /// concurrent, one of them records the use, and the others do not wait.
    package func sessionUser(
        tokenHash: [UInt8],
        of application: Application
    ) async throws(Failure) -> StatementOutcome<User?> {
        let columns = UserColumns(application: application)
        let schema = quoted(application.schema)
        let noted = min(60, application.settings.sessionIdleSeconds / 10)
        let sql = """
            with session as (
                select s.object_id from \(schema).sessions s where s.token_hash = $1 and \(application.isLive("s"))
            ), seen as (
                update \(schema).sessions set last_seen = now()
                where token_hash = (
                    select s.token_hash from \(schema).sessions s, session
                    where s.token_hash = $1 and s.last_seen + make_interval(secs => \(noted)) < now()
                    for no key update of s skip locked
                )
            )
            select \(columns.list(of: "u")) from \(schema).users u where u.object_id = (select session.object_id from session)
            """
        return try await current(application) {
            try await tables(of: application).query(
                Statement(sql: sql, binds: [.bytes(tokenHash)]),
                near: application.affinity
            ).first(by: columns.user)
        }
    }

    /// Revokes a session.
    ///
    /// - Returns: Whether there was a valid session with this token.
    package func endSession(tokenHash: [UInt8], of application: Application) async throws(Failure) -> Bool {
        let result = try await query(
            application.ending(sessions: "s.token_hash = \(tokenHash) and \(unsafeRaw: application.isLive("s"))"),
            of: application
        )
        return result.count == 1
    }
}

/// The user of a valid session, with the times of the last authentication and of the last second factor.
///
/// The user's row is locked.
struct SessionUser: Sendable {
    let id: ObjectID
    let status: UserStatus
    /// Seconds since the user was last authenticated.
    let authenticatedAgo: Int64
    /// Seconds since the user last verified a second factor; nil for never.
    let factorAgo: Int64?
    /// Whether the user has a second factor that the application asks for.
    let hasFactor: Bool

    /// Requires a recently verified second factor of a user who has one.
    ///
    /// Changes of login methods, the address, factors or the account itself require it.
    ///
    /// - Throws: `second_factor_reauthentication_required`.
    func requireFactor(within seconds: Int) throws(Failure) {
        guard !hasFactor || factorAgo.map({ $0 <= seconds }) == true else { throw .factorReauthenticationRequired }
    }
}

extension PostgresConnection {
    /// Locks the row of a valid session's user, and then the session's row.
    ///
    /// The session cannot be revoked before the transaction ends.
    ///
    /// A second statement reads the session once the lock on the user's row is acquired. The statement that waits for
    /// this lock would see the state before its wait, while the transaction that held the lock may have revoked the
    /// session.
    ///
    /// - Returns: The user; nil when the session is unknown or expired.
    func lockUser(
        ofSession tokenHash: [UInt8],
        of application: Application
    ) async throws(PostgresError) -> SessionUser? {
        _ = try await query(
            """
            select from \(identifier: application.schema).users where object_id = (
                select object_id from \(identifier: application.schema).sessions where token_hash = \(tokenHash)
            ) for no key update
            """
        )
        let hasFactor = FactorStep<Void>.isAsked("s.object_id", in: application).bound(to: ())
        let result = try await query(
            """
            select s.object_id, (
                    select u.user_status from \(identifier: application.schema).users u where u.object_id = s.object_id
                ), floor(extract(epoch from now() - s.proved))::bigint,
                floor(extract(epoch from now() - s.factor_proved))::bigint, \(hasFactor)
            from \(identifier: application.schema).sessions s
            where s.token_hash = \(tokenHash) and \(unsafeRaw: application.isLive("s"))
            for no key update of s
            """
        )
        return try result.first { row throws(PostgresError) in
            SessionUser(
                id: try row.next(),
                status: UserStatus(rawValue: try row.next(String?.self) ?? "") ?? .disabled,
                authenticatedAgo: try row.next(),
                factorAgo: try row.next(),
                hasFactor: try row.next()
            )
        }
    }

    /// Revokes all sessions of a user except one, and the trust in the user's devices.
    ///
    /// The user's row must be locked. The session whose token has the hash `tokenHash` stays valid.
    ///
    /// - Returns: The number of revoked sessions.
    @discardableResult
    func endSessions(
        of user: ObjectID,
        sparing tokenHash: [UInt8] = [],
        schema: String
    ) async throws(PostgresError) -> Int {
        _ = try await query(
            "delete from \(identifier: schema).trusted_devices where object_id = \(user.uuid)"
        )
        let ended = try await query(
            "delete from \(identifier: schema).sessions where object_id = \(user.uuid) and token_hash <> \(tokenHash)"
        )
        return ended.affectedRows ?? 0
    }
}

extension Failure {
    package static let factorReauthenticationRequired = Failure(
        .factorReauthenticationRequired,
        "This request needs a second factor within the last five minutes. Verify it, then repeat the request."
    )
}

extension Store {
    /// Returns the valid sessions of a user, the current one first, then the newest, at most 1000.
    ///
    /// - Parameters:
    ///   - id: The user.
    ///   - tokenHash: SHA-256 of the token of the session that makes the call.
    ///   - application: The application of the user.
    /// - Returns: The sessions, including the one that makes the call.
    /// - Throws: `store_unavailable` and similar failures.
    package func ownSessions(
        of id: ObjectID,
        asking tokenHash: [UInt8],
        in application: Application
    ) async throws(Failure) -> [OwnSession] {
        let result = try await query(
            """
            select \(unsafeRaw: UserReader.sessionID), created, last_seen, expires, provider, token_hash = \(tokenHash)
            from \(identifier: application.schema).sessions s
            where object_id = \(id.uuid) and \(unsafeRaw: application.isLive("s"))
            order by token_hash = \(tokenHash) desc, created desc, token_hash limit 1000
            """,
            of: application
        )
        return try result.all { row throws(PostgresError) in
            OwnSession(
                id: try row.next(),
                created: try row.next(Timestamp.self).milliseconds,
                lastSeen: try row.next(Timestamp.self).milliseconds,
                expires: try row.next(Timestamp.self).milliseconds,
                provider: try row.next(),
                isCurrent: try row.next()
            )
        }
    }

    /// Revokes all sessions of a user except the one that makes the call.
    ///
    /// The user's row is locked first, as in every revocation of several sessions of a user, to prevent deadlocks.
    ///
    /// - Returns: The number of revoked sessions.
    package func endOtherSessions(
        of id: ObjectID,
        keeping tokenHash: [UInt8],
        in application: Application
    ) async throws(Failure) -> Int {
        try await transaction(of: application) { connection in
            _ = try await connection.query(
                "select from \(identifier: application.schema).users where object_id = \(id.uuid) for no key update"
            )
            return try await connection.endSessions(of: id, sparing: tokenHash, schema: application.schema)
        }
    }

    /// Revokes one session of a user, by its id in the list of sessions.
    ///
    /// - Returns: Whether the user had such a session.
    package func endOwnSession(
        _ session: String,
        of id: ObjectID,
        in application: Application
    ) async throws(Failure) -> Bool {
        let result = try await query(
            application.ending(
                sessions: """
                    s.object_id = \(id.uuid) and \(unsafeRaw: UserReader.sessionID) = \(session)
                    and \(unsafeRaw: application.isLive("s"))
                    """
            ),
            of: application
        )
        return result.count == 1
    }
}

extension Application {
    /// Returns the statement that revokes the given sessions and every session that was opened beside one of them.
    ///
    /// The account page opens a session beside the client's. The statement finds such sessions by their user, whatever
    /// the planner's statistics say.
    ///
    /// - Parameter condition: The condition of the sessions `s` to revoke.
    /// - Returns: The statement, which yields a row for each session that meets the condition.
    func ending(sessions condition: Statement) -> Statement {
        """
        with ended as (
            delete from \(identifier: schema).sessions s where \(condition) returning s.token_hash, s.object_id
        ), beside as (
            delete from \(identifier: schema).sessions
            where object_id = any (array(select object_id from ended))
                and beside = any (array(select token_hash from ended))
        )
        select true from ended
        """
    }
}

extension Store {
    /// Opens a second session for the account page, beside a valid session of the same user.
    ///
    /// The new session gets the login method and the times of authentication of the valid one.
    ///
    /// The new session does not count towards the application's maximum (``SessionEnding``). A session has at most one
    /// other beside it: a new one replaces the former one. The call also revokes the user's sessions that were opened
    /// beside a session which no longer exists.
    ///
    /// The user's row is locked first. So a simultaneous revocation of all the user's sessions includes the new session
    /// or prevents it.
    ///
    /// - Parameters:
    ///   - tokenHash: The hash of the new session's token.
    ///   - former: The hash of the valid session's token.
    ///   - seconds: The longest life of the new session; it never outlives the valid one.
    ///   - application: The application of the user.
    /// - Returns: The user.
    /// - Throws: `session_invalid` when the valid session has ended, `account_disabled`, `store_unavailable` and
    ///   similar failures.
    package func openSession(
        _ tokenHash: [UInt8],
        beside former: [UInt8],
        seconds: Int64,
        in application: Application
    ) async throws(Failure) -> ObjectID {
        try await transaction(of: application) { connection in
            guard let user = try await connection.lockUser(ofSession: former, of: application) else {
                throw Failure.sessionInvalid
            }
            guard user.status != .disabled else { throw Self.accountDisabled }
            _ = try await connection.query(
                """
                insert into \(identifier: application.schema).sessions (
                    token_hash, object_id, expires, provider, provider_app, subject, provider_session, proved,
                    factor_kind, factor_proved, beside
                )
                select \(tokenHash), object_id, least(expires, now() + make_interval(secs => \(seconds))), provider,
                    provider_app, subject, provider_session, proved, factor_kind, factor_proved,
                    coalesce(beside, token_hash)
                from \(identifier: application.schema).sessions where token_hash = \(former)
                """
            )
            _ = try await connection.query(
                """
                delete from \(identifier: application.schema).sessions s
                using \(identifier: application.schema).sessions opened
                where opened.token_hash = \(tokenHash) and s.object_id = opened.object_id
                    and s.token_hash <> opened.token_hash and (
                        s.beside = opened.beside or s.beside is not null and not exists (
                            select from \(identifier: application.schema).sessions own where own.token_hash = s.beside
                        )
                    )
                """
            )
            return user.id
        }
    }
}

/// How and when the user of a session was authenticated.
package struct SessionProofs: Sendable {
    /// The login method that opened the session; nil for very old sessions.
    package let method: String?
    /// The second factor that was verified last.
    package let factor: FactorKind?
    /// When the user was last authenticated, in Unix seconds; 0 for never.
    package let authenticated: Int64
}

extension Store {
    /// Returns how and when the user of a session was authenticated; nil if there is no such session.
    package func sessionProofs(
        tokenHash: [UInt8],
        in application: Application
    ) async throws(Failure) -> SessionProofs? {
        let result = try await query(
            """
            select provider, factor_kind, floor(extract(epoch from proved))::bigint
            from \(identifier: application.schema).sessions where token_hash = \(tokenHash)
            """,
            of: application
        )
        return try result.first(String?.self, String?.self, Int64.self).map { method, factor, authenticated in
            SessionProofs(method: method, factor: factor.flatMap(FactorKind.init), authenticated: authenticated)
        }
    }

    /// Returns whether the user of a session was authenticated within the last `seconds`.
    package func isAuthenticated(
        tokenHash: [UInt8],
        within seconds: Int,
        in application: Application
    ) async throws(Failure) -> Bool {
        let result = try await query(
            """
            select proved > now() - make_interval(secs => \(seconds)) from \(identifier: application.schema).sessions
            where token_hash = \(tokenHash)
            """,
            of: application
        )
        return try result.first(Bool.self) ?? false
    }

    /// Records that the user of a session has just been authenticated.
    package func noteAuthentication(tokenHash: [UInt8], in application: Application) async throws(Failure) {
        _ = try await query(
            "update \(identifier: application.schema).sessions set proved = now() where token_hash = \(tokenHash)",
            of: application
        )
    }
}
