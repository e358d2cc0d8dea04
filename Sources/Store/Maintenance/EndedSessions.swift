import Postgres
package import Vocabulary

extension Store {
    /// Pages of PostgreSQL in a part of the sessions' table: some five hundred sessions, so that nobody waits long who
    /// ends one of them as well.
    private static let pagesOfPart = 8

    /// How many parts the table of an application's sessions has, as ``removeEndedSessions(inPart:of:)`` counts them.
    ///
    /// - Returns: 0 when there is no session.
    /// - Throws: `store_unavailable` and its like.
    package func partsOfSessions(of application: Application) async throws(Failure) -> Int {
        // A row knows its table, whatever its name is on a node of Citus; the index leads to one that lives.
        let result = try await query(
            """
            select pg_relation_size(tableoid) / current_setting('block_size')::bigint
            from \(identifier: application.schema).sessions order by token_hash limit 1
            """,
            of: application
        )
        let pages = try read { () throws(PostgresError) in try result.first?.decode(0, as: Int.self) }
        return ((pages ?? 0) + Self.pagesOfPart - 1) / Self.pagesOfPart
    }

    /// Removes the sessions that are over from one part of their table.
    ///
    /// Those that somebody else has locked are skipped. A part behind the end of the table is empty.
    ///
    /// No index leads to them: it would have to be kept at every login, and whenever it is noted that a session was
    /// seen. The part is read as it lies, page by page.
    ///
    /// - Parameters:
    ///   - part: Its number, from 0.
    ///   - application: Whose sessions.
    /// - Returns: How many were removed.
    /// - Throws: `store_unavailable` and its like.
    package func removeEndedSessions(inPart part: Int, of application: Application) async throws(Failure) -> Int {
        let sessions = "\(quoted(application.schema)).sessions"
        let (first, end) = (part * Self.pagesOfPart, (part + 1) * Self.pagesOfPart)
        // One that is locked has moved if it was written meanwhile; its place then holds nothing that is seen here.
        let result = try await query(
            """
            with dead as (
                select s.ctid as place from \(unsafeRaw: sessions) s
                where s.ctid >= \("(\(first),0)")::tid and s.ctid < \("(\(end),0)")::tid
                    and not \(unsafeRaw: application.isLive("s"))
                for update skip locked
            )
            delete from \(unsafeRaw: sessions) where ctid = any (array(select place from dead))
            """,
            of: application
        )
        return result.affectedRows ?? 0
    }
}
