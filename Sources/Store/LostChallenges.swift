import Postgres
package import Vocabulary

/// Apps whose login dialogs are opened without a `code_challenge` for a while, since the provider has forgotten one.
extension Store {
    /// Notes that an app's challenge was forgotten.
    ///
    /// - Parameters:
    ///   - app: SHA-256 of what the app is told by.
    ///   - seconds: How long its dialogs are to be opened without.
    ///   - application: Whose app it is.
    /// - Throws: `store_unavailable` and its like.
    package func noteLostChallenge(
        of app: [UInt8],
        seconds: Int64,
        in application: Application
    ) async throws(Failure) {
        _ = try await query(
            """
            insert into \(identifier: application.schema).single_use (kind, hash, expires)
            values ('noChallenge', \(app), now() + make_interval(secs => \(seconds)))
            on conflict (kind, hash) do update set expires = excluded.expires
            """,
            of: application
        )
    }

    /// Until when an app's dialogs are opened without a challenge.
    ///
    /// - Parameters:
    ///   - app: SHA-256 of what the app is told by.
    ///   - application: Whose app it is.
    /// - Returns: Milliseconds since 1970; nil when they are opened with one.
    /// - Throws: `store_unavailable` and its like.
    package func lostChallenge(of app: [UInt8], in application: ApplicationPlace) async throws(Failure) -> Int64? {
        let result = try await query(
            """
            select expires from \(identifier: application.schema).single_use
            where kind = 'noChallenge' and hash = \(app) and expires > now()
            """,
            in: tables(of: application)
        )
        return try read { () throws(PostgresError) in
            try result.first?.decode(0, as: Timestamp.self).milliseconds
        }
    }
}
