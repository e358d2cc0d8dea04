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
