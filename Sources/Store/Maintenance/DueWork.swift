package import Domain
import Postgres

/// The pending background work of an application; each number is counted up to ``maxCounted``.
package struct DueWork: Sendable {
    package static let maxCounted = 1000

    /// The number of stored tokens whose check at the provider is due.
    package let checks: Int
    /// The number of erasures that are due.
    package let erasures: Int
    /// The number of due erasures for which an obstacle is recorded.
    package let blockedErasures: Int
    /// The number of mails that are waiting or being sent.
    package let mails: Int
    /// The number of mails that wait for another attempt after a failed one.
    package let postponedMails: Int
}

extension Store {
    /// Counts the due work of an application.
    ///
    /// The queries use the same indexes as the background work itself.
    package func dueWork(of place: ApplicationPlace) async throws(Failure) -> DueWork {
        let (schema, max) = (quoted(place.schema), DueWork.maxCounted)
        let tables = tables(of: place)
        let own = try await query(
            """
            select
                (select count(*) from (
                    select 1 from \(unsafeRaw: schema).identities where check_due <= now() limit \(max)
                ) due),
                count(*), count(*) filter (where state = 'waiting' and attempts > 0)
            from (
                select state, attempts from \(unsafeRaw: schema).mails where state in ('waiting', 'sending') limit \(max)
            ) mails
            """,
            in: tables
        )
        let requests = try await query(
            """
            select count(*), count(hindrance) from (
                select hindrance from federation.deletion_requests
                where application_id = \(place.id.text) and done is null and due <= now() limit \(max)
            ) due
            """,
            in: tables
        )
        let (checks, mails, postponedMails) = try own.first(Int.self, Int.self, Int.self) ?? (0, 0, 0)
        let (erasures, blockedErasures) = try requests.first(Int.self, Int.self) ?? (0, 0)
        return DueWork(
            checks: checks,
            erasures: erasures,
            blockedErasures: blockedErasures,
            mails: mails,
            postponedMails: postponedMails
        )
    }
}
