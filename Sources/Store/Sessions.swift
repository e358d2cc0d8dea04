import FoundationEssentials
package import Identity
import Postgres

extension Store {
    /// The user of a live session, disabled or not; nil when the session is unknown or has ended.
    ///
    /// Notes that the session was seen, at most once a minute or ten times within the idle limit: an idle limit is days, and a
    /// write at every use would cost more than all reads. Of requests that come at once one notes it; the others do not wait.
    package func sessionUser(tokenHash: [UInt8], of application: Application) async throws(Failure) -> User? {
        let columns = UserColumns(application: application)
        let schema = quoted(application.schema)
        let sql = """
            with session as (
                select object_id from \(schema).sessions
                where token_hash = $1 and expires > now() and last_seen > now() - make_interval(secs => $2)
            ), seen as (
                update \(schema).sessions set last_seen = now()
                where token_hash = (
                    select s.token_hash from \(schema).sessions s, session
                    where s.token_hash = $1 and s.last_seen < now() - make_interval(secs => least(60, $2 / 10))
                    for no key update of s skip locked
                )
            )
            select \(columns.list(of: "u")) from session join \(schema).users u using (object_id)
            """
        let result = try await query(
            Statement(sql: sql, binds: [.bytes(tokenHash), .int64(application.settings.sessionIdleSeconds)]),
            of: application
        )
        return try read { () throws(PostgresError) in
            guard let row = result.first else { return nil }
            return try columns.user(in: row, from: 0)
        }
    }

    /// Ends a session.
    ///
    /// - Returns: whether there was one.
    package func endSession(tokenHash: [UInt8], of application: Application) async throws(Failure) -> Bool {
        let result = try await query(
            "delete from \(identifier: application.schema).sessions where token_hash = \(tokenHash) and expires > now()",
            of: application
        )
        return result.affectedRows == 1
    }
}

extension PostgresConnection {
    /// Locks the user of a live session, and the session, which ends after the transaction or not at all; nil when it is unknown or over.
    ///
    /// The session is looked at by a statement of its own, once the lock is had: the one that waits for it would see what was there
    /// before the wait, and whoever was waited for may have ended the session.
    func lockUser(
        ofSession tokenHash: [UInt8],
        of application: Application
    ) async throws(PostgresError) -> (id: ObjectID, status: UserStatus, provedAgo: Int64)? {
        _ = try await query(
            """
            select from \(identifier: application.schema).users where object_id = (
                select object_id from \(identifier: application.schema).sessions where token_hash = \(tokenHash)
            ) for no key update
            """
        )
        let result = try await query(
            """
            select u.object_id, u.user_status, floor(extract(epoch from now() - s.proved))::bigint
            from \(identifier: application.schema).sessions s
                join \(identifier: application.schema).users u using (object_id)
            where s.token_hash = \(tokenHash) and s.expires > now()
                and s.last_seen > now() - make_interval(secs => \(application.settings.sessionIdleSeconds))
            for no key update of s
            """
        )
        guard let row = result.first else { return nil }
        return (
            ObjectID(try row.decode(0, as: UUID.self)),
            UserStatus(rawValue: try row.decode(1, as: String.self)) ?? .disabled,
            try row.decode(2, as: Int64.self)
        )
    }
}
