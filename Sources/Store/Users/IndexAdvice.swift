import Postgres
package import Vocabulary

/// How many searches took long, and how long the slowest.
package struct SlowSearchTally: Sendable, Equatable {
    package private(set) var searches: Int64 = 0
    package private(set) var slowestMilliseconds: Int64 = 0

    package init() {}

    package mutating func add(_ milliseconds: Int64) {
        searches += 1
        slowestMilliseconds = max(slowestMilliseconds, milliseconds)
    }
}

/// What is known of the searches that an index of a property would have served.
package struct IndexAdvice: Sendable {
    package let property: PropertyName
    package let searches: Int64
    package let slowestMilliseconds: Int64
    package let last: Int64
}

extension Store {
    /// How many sets of properties are kept for an application.
    private static let advicesKept: Int64 = 100
    /// Days after which advice is forgotten that nothing has repeated.
    private static let adviceDays: Int64 = 30

    /// Notes searches that took long, for operators.
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

    /// The properties of an application of which an index would have served searches that took long; some may have one
    /// by now, or be gone.
    package func indexAdvice(of application: ApplicationID) async throws(Failure) -> [IndexAdvice] {
        let result = try await query(
            """
            select name, sum(searches)::bigint, max(slowest_milliseconds), max(last)
            from federation.index_advice, unnest(properties) name
            where application_id = \(application.text) group by name order by name
            """
        )
        return try read { () throws(PostgresError) in
            var advice: [IndexAdvice] = []
            for row in result.rows {
                guard let property = PropertyName(try row.decode(0, as: String.self)) else { continue }
                advice.append(
                    IndexAdvice(
                        property: property,
                        searches: try row.decode(1, as: Int64.self),
                        slowestMilliseconds: try row.decode(2, as: Int64.self),
                        last: try row.decode(3, as: Timestamp.self).milliseconds
                    )
                )
            }
            return advice
        }
    }

    /// Forgets advice that nothing has repeated for long.
    package func forgetIndexAdvice() async throws(Failure) {
        _ = try await query(
            "delete from federation.index_advice where last < now() - make_interval(days => \(Self.adviceDays)::int)"
        )
    }
}
