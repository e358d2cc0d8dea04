import FoundationEssentials
import Postgres
package import Vocabulary

/// A part of an application's guests, after those were removed who had lost their session.
package struct GuestSweep: Sendable {
    /// The last guest of the part; nil when it was the end of all guests.
    package let last: ObjectID?
    package let removed: Int
}

extension Store {
    /// Removes those of the next guests who have no session left: it was their only login method, and nobody but a
    /// server, by the id, reaches them.
    ///
    /// One who came or was logged in within the last hour stays: a session that has just been opened may not be seen
    /// yet. A guest to whom rows of the operator's own tables refer stays, too, as does one who is disabled.
    ///
    /// - Parameters:
    ///   - last: Where the part before this one ended; nil for the first.
    ///   - application: Whose guests.
    ///   - limit: How many are looked at.
    /// - Returns: How far it came.
    /// - Throws: `store_unavailable` and its like.
    package func removeLostGuests(
        after last: ObjectID?,
        of application: Application,
        limit: Int
    ) async throws(Failure) -> GuestSweep {
        let schema = application.schema
        let behind: Statement = if let last { "and object_id > \(last.uuid)" } else { "" }
        let result = try await query(
            """
            with part as (
                select object_id from \(identifier: schema).users where user_status = 'GUEST' \(behind)
                order by object_id limit \(limit)
            )
            select object_id, exists (
                select from \(identifier: schema).sessions s
                where s.object_id = part.object_id and \(unsafeRaw: application.isLive("s"))
            )
            from part order by object_id
            """,
            of: application
        )
        let part = try read { () throws(PostgresError) in
            var part: [(id: UUID, hasSession: Bool)] = []
            for row in result.rows { part.append((try row.decode(0, as: UUID.self), try row.decode(1, as: Bool.self))) }
            return part
        }
        let lost = part.filter { !$0.hasSession }.map(\.id)
        return GuestSweep(
            last: part.count < limit ? nil : part.last.map { ObjectID($0.id) },
            removed: try await removeGuests(lost, of: application)
        )
    }

    /// Removes guests, all at once, or one by one where something refers to one of them.
    private func removeGuests(_ guests: [UUID], of application: Application) async throws(Failure) -> Int {
        guard !guests.isEmpty else { return 0 }
        let schema = application.schema
        do {
            // The moment of the last login is looked at once the row is locked, so it tells of a session that this
            // statement does not see.
            let tables = tables(of: application)
            return try await tables.withTransaction { connection in
                let gone = try await connection.query(
                    """
                    with lost as (
                        select u.object_id from \(identifier: schema).users u
                        where u.object_id = any (\(guests.map(\.uuidString))::uuid[]) and u.user_status = 'GUEST'
                            and coalesce(u.last_login, u.created) < now() - interval '1 hour'
                            and not exists (
                                select from \(identifier: schema).sessions s
                                where s.object_id = u.object_id and \(unsafeRaw: application.isLive("s"))
                            )
                            and not exists (
                                select from \(identifier: schema).identities i where i.object_id = u.object_id
                            )
                            and not exists (
                                select from \(identifier: schema).passwords p where p.object_id = u.object_id
                            )
                        for update of u skip locked
                    )
                    delete from \(identifier: schema).users u using lost where u.object_id = lost.object_id
                    returning u.object_id
                    """
                )
                let ids = try gone.rows.map { ObjectID(try $0.decode(0, as: UUID.self)) }
                try await tables.forgetLogins(of: ids, in: application.id, with: connection)
                return ids.count
            }
        } catch let error as PostgresError {
            guard error.hindrance != nil else { throw await failure(of: error, in: application) }
        } catch {
            throw Failure.databaseFault(cause: "\(error)")
        }
        guard guests.count > 1 else { return 0 }
        var removed = 0
        for guest in guests { removed += try await removeGuests([guest], of: application) }
        return removed
    }
}
