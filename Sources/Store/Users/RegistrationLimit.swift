package import Identity
import Postgres

extension Store {
    /// Counts an account that somebody is about to make.
    ///
    /// - Parameters:
    ///   - source: SHA-256 of what it is counted for.
    ///   - most: How many there may be within an hour.
    ///   - application: Where.
    /// - Returns: Nil when it may be made; else the seconds to wait, and nothing was counted.
    /// - Throws: `store_unavailable` and its like.
    package func countRegistration(
        from source: [UInt8],
        most: Int64,
        of application: Application
    ) async throws(Failure) -> Int? {
        let attempts = "\(quoted(application.schema)).attempts"
        let most = Int(clamping: most)
        // Nobody guesses anything here, so nothing slows down before the limit.
        let rule = AttemptRule(firstSlowed: .max, longestWait: 0, mostInAnHour: most, memory: 3600)
        let result = try await query(
            Statement(
                sql: """
                    with counted as (
                        \(Self.count("select $1::bytea", in: attempts, by: rule))
                    )
                    select exists (select from counted), (
                        select ceil(extract(epoch from counted_since + interval '1 hour' - now()))::bigint
                        from \(attempts) where key = $1
                    )
                    """,
                binds: [.bytes(source)]
            ),
            of: application
        )
        return try read { () throws(PostgresError) in
            guard let row = result.first, try !row.decode(0, as: Bool.self) else { return nil }
            return max(try row.decode(1, as: Int?.self) ?? 1, 1)
        }
    }
}
