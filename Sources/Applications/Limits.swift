package import Domain
import Limiting
package import Store

/// The time limits of logins, and the limits of searches (decision D9).
package struct Limits: Sendable {
    /// The time limit of a whole login, from the parsed request to the written session.
    package var login: Duration
    /// The part of a login's time that is reserved for the database after a provider has responded.
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
        /// How many searches may run at once in each database.
        package var atOnce: Int
        /// How long a search may take.
        package var time: Duration
        /// How long a search waits for its turn while another search of its application runs.
        package var timeout: Duration

        package init(atOnce: Int = 2, time: Duration = .seconds(1), timeout: Duration = .seconds(1)) {
            self.atOnce = atOnce
            self.time = time
            self.timeout = timeout
        }
    }
}

/// Counters in the database: of attempts at passwords, of registrations, and of mails that a request causes.
package struct AttemptCounter: Sendable {
    package let store: Store
    /// The queue of counting statements.
    ///
    /// PostgreSQL flushes each of these statements to disk, so more of them at once would not be faster. They would
    /// also occupy the connections for which logins wait.
    private let turns = FairQueue(
        width: 4,
        max: 1024,
        refusal: Failure(.overloaded, "Too many requests are waiting. Try again shortly.", retryAfter: 1)
    )

    package init(store: Store) {
        self.store = store
    }

    /// Adds one to every counter, unless one of them is full.
    ///
    /// If one is full, nothing is counted.
    ///
    /// - Returns: The full counter and how long it stays full; nil when all were counted.
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

    /// Runs an attempt that is already counted, and withdraws the counts when the service itself failed.
    ///
    /// The withdrawal does not wait in the queue, since under load the queue would refuse it. The number of withdrawals
    /// is limited by the number of counts.
    package func takingBack<Result>(
        _ counts: [AttemptCount],
        of application: Application,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        do throws(Failure) { return try await body() } catch {
            let isOurs =
                switch error.reason {
                case .overloaded, .storeUnavailable, .internal: true
                default: false
                }
            // While the database is unreachable, the counts stay until they expire.
            if isOurs, !counts.isEmpty { try? await store.withdrawAttempt(for: counts, of: application) }
            throw error
        }
    }

    /// Runs a body that counts attempts in the database itself, when its turn in the queue comes.
    package func counting<Result>(
        of application: Application,
        before deadline: ContinuousClock.Instant,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await turns.pass(of: application.id, at: application.database, before: deadline, body)
    }
}
