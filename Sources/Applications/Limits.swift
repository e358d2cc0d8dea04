package import Domain
import Limiting
package import Store

/// The time limits of logins, and the limits of searches (decision D9).
package struct Limits: Sendable {
    /// The time limit of a whole login, from the parsed request to the written session.
    package var login: Duration
    /// The time that a login reserves for the database, after a provider has responded.
    ///
    /// It is part of the time limit of the whole login.
    package var storeReserve: Duration
    package var searches: Searches

    package init(
        login: Duration = .seconds(5),
        storeReserve: Duration = .seconds(1),
        searches: Searches = Searches()
    ) {
        self.login = login
        self.storeReserve = storeReserve
        self.searches = searches
    }

    /// Limits of searches of users.
    package struct Searches: Sendable {
        /// The maximum number of searches that may run at once in each database.
        package var atOnce: Int
        /// The time limit of one search.
        package var time: Duration
        /// The time for which a search waits for its turn while another search of its application runs.
        package var timeout: Duration

        package init(atOnce: Int = 2, time: Duration = .seconds(1), timeout: Duration = .seconds(1)) {
            self.atOnce = atOnce
            self.time = time
            self.timeout = timeout
        }
    }
}

/// Counts attempts in the database, for rate limits.
///
/// Attempts are, for example, logins with a password, registrations, and requests that cause a mail.
package struct AttemptCounter: Sendable {
    package let store: Store
    /// The queue in which the SQL statements that count attempts wait for their turn.
    ///
    /// PostgreSQL flushes each of these statements to disk, so more concurrent statements would not be faster. They
    /// would only occupy connections that logins need.
    private let turns = FairQueue(
        width: 4,
        max: 1024,
        refusal: Failure(.overloaded, "Too many requests are waiting. Try again shortly.", retryAfter: 1)
    )

    package init(store: Store) {
        self.store = store
    }

    /// Adds one to each of the given counters, unless one of them has reached its maximum.
    ///
    /// In that case, no counter changes.
    ///
    /// - Returns: The counter that has reached its maximum, and the time until it accepts attempts again; nil when all
    ///   were counted.
    /// - Throws: `overloaded` when the deadline passes first; `store_unavailable` or another failure of the database.
    package func count(
        _ counts: [AttemptCount],
        of application: Application,
        before deadline: ContinuousClock.Instant
    ) async throws(Failure) -> AttemptRefusal? {
        try await counting(of: application, before: deadline) { () throws(Failure) in
            try await store.countAttempt(for: counts, of: application)
        }
    }

    /// Calls `body` for an attempt that is already counted.
    ///
    /// If `body` fails because of the service or of another system, and not because of the client, subtracts the attempt
    /// from the counters.
    ///
    /// The subtraction does not wait in the queue, since under load the queue would refuse it. There cannot be more
    /// subtractions than counted attempts.
    package func takingBack<Result>(
        _ counts: [AttemptCount],
        of application: Application,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        do throws(Failure) { return try await body() } catch {
            let isOurs =
                switch error.reason {
                case .overloaded, .storeUnavailable, .internal, .providerUnavailable, .providerTimeout,
                    .providerBadReply, .providerRateLimited, .providerMisconfigured:
                    true
                default: false
                }
            // While the database is unreachable, the counts stay until they expire.
            if isOurs, !counts.isEmpty { try? await store.withdrawAttempt(for: counts, of: application) }
            throw error
        }
    }

    /// Waits for a turn in the queue, then calls `body`, which counts attempts in the database.
    package func counting<Result>(
        of application: Application,
        before deadline: ContinuousClock.Instant,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await turns.pass(of: application.id, at: application.database, before: deadline, body)
    }
}
