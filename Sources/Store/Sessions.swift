import FoundationEssentials
import Postgres
package import Vocabulary

extension Application {
    /// Whether a session is live, as SQL: neither of its two ends has come.
    ///
    /// No index can serve the condition. A session is looked up by its token or its user, whatever the statistics say
    /// of how few are live.
    func isLive(_ session: String) -> String {
        "least(\(session).expires, \(session).last_seen + make_interval(secs => \(settings.sessionIdleSeconds))) > now()"
    }
}

extension Store {
    /// The user of a live session, disabled or not; nil when the session is unknown or has ended.
    ///
    /// Notes that the session was seen, at most once a minute or ten times within the idle limit: an idle limit is
    /// days, and a write at every use would cost more than all reads. Of requests that come at once one notes it; the
    /// others do not wait.
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
            ).first
                .map { row in try columns.user(in: row, from: 0) }
        }
    }

    /// Ends a session.
    ///
    /// - Returns: whether there was one.
    package func endSession(tokenHash: [UInt8], of application: Application) async throws(Failure) -> Bool {
        let result = try await query(
            application.ending(sessions: "s.token_hash = \(tokenHash) and \(unsafeRaw: application.isLive("s"))"),
            of: application
        )
        return result.count == 1
    }
}

/// The user of a live session, who is locked, and what its person has shown of late.
struct SessionUser: Sendable {
    let id: ObjectID
    let status: UserStatus
    /// Seconds since the person was authenticated.
    let authenticatedAgo: Int64
    /// Seconds since the person has shown a second factor; nil for never.
    let factorAgo: Int64?
    /// Whether the user has a second factor that the application asks for.
    let hasFactor: Bool

    /// Holds what changes login methods, address, factors or the account itself to a second factor that was shown of
    /// late, where the user has one.
    ///
    /// - Throws: `second_factor_reauthentication_required`.
    func requireFactor(within seconds: Int) throws(Failure) {
        guard !hasFactor || factorAgo.map({ $0 <= seconds }) == true else { throw .factorReauthenticationRequired }
    }
}

extension PostgresConnection {
    /// Locks the user of a live session, and the session, which ends after the transaction or not at all; nil when it
    /// is unknown or over.
    ///
    /// The session is looked at by a statement of its own, once the lock is had: the one that waits for it would see
    /// what was there before the wait, and whoever was waited for may have ended the session.
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
        guard let row = result.first else { return nil }
        return SessionUser(
            id: ObjectID(try row.decode(0, as: UUID.self)),
            status: UserStatus(rawValue: try row.decode(1, as: String?.self) ?? "") ?? .disabled,
            authenticatedAgo: try row.decode(2, as: Int64.self),
            factorAgo: try row.decode(3, as: Int64?.self),
            hasFactor: try row.decode(4, as: Bool.self)
        )
    }

    /// Ends all sessions of a user who is locked but for one, and what keeps the devices of the others from being asked
    /// for a second factor.
    ///
    /// - Returns: How many sessions there were.
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
        "This needs a second factor that was shown within the last five minutes. Show it, then repeat it."
    )
}
