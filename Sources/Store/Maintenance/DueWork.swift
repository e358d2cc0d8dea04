import Postgres
package import Vocabulary

/// What waits for work in the background, of an application; each is counted up to ``mostCounted``.
package struct DueWork: Sendable {
    package static let mostCounted = 1000

    /// Kept tokens whose check is due.
    package let checks: Int
    /// People who are to be erased by now.
    package let erasures: Int
    /// Those of them that something stands in the way of.
    package let hinderedErasures: Int
    /// Mails that are on their way.
    package let mails: Int
    /// Those of them, as far as they are counted, that were tried in vain.
    package let postponedMails: Int
}

extension Store {
    /// Counts what is due, by the indexes by which it is worked through.
    package func dueWork(of place: ApplicationPlace) async throws(Failure) -> DueWork {
        let (schema, most) = (quoted(place.schema), DueWork.mostCounted)
        let tables = tables(of: place)
        let own = try await query(
            """
            select
                (select count(*) from (
                    select 1 from \(unsafeRaw: schema).identities where check_due <= now() limit \(most)
                ) due),
                count(*), count(*) filter (where state = 'waiting' and attempts > 0)
            from (
                select state, attempts from \(unsafeRaw: schema).mails where state in ('waiting', 'sending') limit \(most)
            ) mails
            """,
            in: tables
        )
        let requests = try await query(
            """
            select count(*), count(hindrance) from (
                select hindrance from federation.deletion_requests
                where application_id = \(place.id.text) and done is null and due <= now() limit \(most)
            ) due
            """,
            in: tables
        )
        return try read { () throws(PostgresError) in
            DueWork(
                checks: try own.first?.decode(0, as: Int.self) ?? 0,
                erasures: try requests.first?.decode(0, as: Int.self) ?? 0,
                hinderedErasures: try requests.first?.decode(1, as: Int.self) ?? 0,
                mails: try own.first?.decode(1, as: Int.self) ?? 0,
                postponedMails: try own.first?.decode(2, as: Int.self) ?? 0
            )
        }
    }
}
