package import Domain
import FoundationEssentials
import Postgres

/// The result of `removeLostGuests` for one batch of an application's guests.
package struct GuestSweep: Sendable {
    /// The last guest of the batch; nil when the batch reached the end of all guests.
    package let last: ObjectID?
    package let removed: Int
}

extension Store {
    /// Deletes those guests of the next batch that have no session left.
    ///
    /// A guest's only login method is the session. Without it, only a server can use the account, by the guest's id.
    ///
    /// Guests who were created or logged in within the last hour stay, since a session that was just opened may not be
    /// visible yet. Guests referenced by rows of the operator's own tables stay, and so do disabled guests.
    ///
    /// - Parameters:
    ///   - last: The last guest of the previous batch; nil for the first batch.
    ///   - application: The application of the guests.
    ///   - limit: The number of guests in the batch.
    /// - Returns: The end of the batch and the number of deleted guests.
    /// - Throws: `store_unavailable` and similar failures.
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
        let part = try result.all(ObjectID.self, Bool.self)
        let lost = part.filter { _, hasSession in !hasSession }.map(\.0)
        return GuestSweep(
            last: part.count < limit ? nil : part.last?.0,
            removed: try await removeGuests(lost, of: application)
        )
    }

    /// Deletes guests in one transaction.
    ///
    /// If a row elsewhere refers to one of them, deletes the guests one by one.
    private func removeGuests(_ guests: [ObjectID], of application: Application) async throws(Failure) -> Int {
        guard !guests.isEmpty else { return 0 }
        let schema = application.schema
        do {
            // `last_login` is read after the row is locked, so it reveals a session that this statement's snapshot does
            // not see.
            let tables = tables(of: application)
            return try await tables.withTransaction { connection in
                let gone = try await connection.query(
                    """
                    with lost as (
                        select u.object_id from \(identifier: schema).users u
                        where u.object_id = any (\(guests.map(\.description))::uuid[]) and u.user_status = 'GUEST'
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
                let ids = try gone.all(ObjectID.self)
                try await tables.forgetLogins(of: ids, in: application.id, with: connection)
                return ids.count
            }
        } catch let error as PostgresError {
            guard error.obstacle != nil else { throw await failure(of: error, in: application) }
        } catch {
            throw Failure.databaseFault(cause: "\(error)")
        }
        guard guests.count > 1 else { return 0 }
        var removed = 0
        for guest in guests { removed += try await removeGuests([guest], of: application) }
        return removed
    }
}
