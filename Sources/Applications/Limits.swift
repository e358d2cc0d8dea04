import Limiting
package import Store
package import Vocabulary

/// Limits of whole use cases (decision D9).
package struct Limits: Sendable {
    /// A login in all, from the parsed request to the written session.
    package var login: Duration
    /// What of it is kept back for the database after a provider has answered.
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

    /// Searches of users.
    package struct Searches: Sendable {
        /// How many are under way at once, in each database.
        package var atOnce: Int
        /// How long one may take.
        package var time: Duration
        /// How long one waits for its turn while another one of its application is under way.
        package var patience: Duration

        package init(atOnce: Int = 2, time: Duration = .seconds(1), patience: Duration = .seconds(1)) {
            self.atOnce = atOnce
            self.time = time
            self.patience = patience
        }
    }
}

/// Counts attempts in the database: those at passwords, registrations, and mails that somebody causes.
package struct AttemptCounter: Sendable {
    package let store: Store
    /// More counting statements at once would be no faster, since each is forced to disk, and logins on the same
    /// connections would wait for them.
    private let turns = FairQueue(
        width: 4,
        most: 1024,
        refusal: Failure(.overloaded, "Too many are waiting for the same. Try again shortly.", retryAfter: 1)
    )

    package init(store: Store) {
        self.store = store
    }

    /// Counts, unless one of the counts is full.
    ///
    /// - Returns: Which one is full and for how long; nothing was counted then. Nil when all were counted.
    /// - Throws: `overloaded` when the deadline is over first; `store_unavailable` and its like.
    package func count(
        _ counts: [AttemptCount],
        of application: Application,
        before deadline: ContinuousClock.Instant
    ) async throws(Failure) -> AttemptRefusal? {
        try await counting(of: application, before: deadline) { () throws(Failure) in
            try await store.countAttempt(for: counts, of: application)
        }
    }

    /// Runs what was counted, and takes the counts back when the service could not do it.
    ///
    /// Taking back waits for no turn: under load it would be refused, and no more of it can come than was counted.
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
            // Where the database is away the counts stay until they are forgotten.
            if isOurs, !counts.isEmpty { try? await store.withdrawAttempt(for: counts, of: application) }
            throw error
        }
    }

    /// Does something that counts by itself, when it is its turn.
    package func counting<Result>(
        of application: Application,
        before deadline: ContinuousClock.Instant,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await turns.pass(of: application.id, at: application.database, before: deadline, body)
    }
}
