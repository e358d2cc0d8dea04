package import Domain
import Postgres

/// The number of slow searches, and the duration of the slowest.
package struct SlowSearchTally: Sendable, Equatable {
    package private(set) var searches: Int64 = 0
    package private(set) var slowestMilliseconds: Int64 = 0

    package init() {}

    package mutating func add(_ milliseconds: Int64) {
        searches += 1
        slowestMilliseconds = max(slowestMilliseconds, milliseconds)
    }
}

/// The slow searches that an index of a property would have sped up.
package struct IndexAdvice: Sendable {
    package let property: PropertyName
    package let searches: Int64
    package let slowestMilliseconds: Int64
    package let last: Int64
}

extension Store {
    /// The maximum number of rows that record an application's slow searches.
    ///
    /// All slow searches with conditions on the same set of properties share one row.
    private static let advicesKept: Int64 = 100
    /// The number of days without a further slow search after which the advice to create an index is deleted.
    private static let adviceDays: Int64 = 30

    /// Records slow searches whose conditions are on the given properties, so that operators learn which indexes would
    /// help.
    package func noteSlowSearches(
        _ tally: SlowSearchTally,
        by properties: [PropertyName],
        of application: ApplicationID
    ) async throws(Failure) {
        let names = properties.map(\.text)
        _ = try await query(
            """
            insert into federation.index_advice as a (application_id, properties, searches, slowest_milliseconds)
            select \(application.text), \(names), \(tally.searches), \(tally.slowestMilliseconds)
            where (select count(*) from federation.index_advice
                where application_id = \(application.text) and properties <> \(names)) < \(Self.advicesKept)
            on conflict (application_id, properties) do update set last = excluded.last,
                searches = a.searches + excluded.searches,
                slowest_milliseconds = greatest(a.slowest_milliseconds, excluded.slowest_milliseconds)
            """,
            isRare: true
        )
    }

    /// Returns the properties of an application for which an index would have sped up slow searches.
    ///
    /// Some of them may have an index by now, or may have been removed.
    package func indexAdvice(of application: ApplicationID) async throws(Failure) -> [IndexAdvice] {
        let result = try await query(
            """
            select name, sum(searches)::bigint, max(slowest_milliseconds), max(last)
            from federation.index_advice, unnest(properties) name
            where application_id = \(application.text) group by name order by name
            """
        )
        return try result.all { row throws(PostgresError) in
            guard let property = PropertyName(try row.next(String.self)) else { return nil }
            return IndexAdvice(
                property: property,
                searches: try row.next(),
                slowestMilliseconds: try row.next(),
                last: try row.next(Timestamp.self).milliseconds
            )
        }
    }

    /// Deletes the advice to create an index if no further slow search has confirmed it for `adviceDays` days.
    package func forgetIndexAdvice() async throws(Failure) {
        _ = try await query(
            "delete from federation.index_advice where last < now() - make_interval(days => \(Self.adviceDays)::int)"
        )
    }
}
