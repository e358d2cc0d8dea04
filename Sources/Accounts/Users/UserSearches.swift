package import Applications
import Domain
import Encodings
import Limiting
package import Logging
import NIOConcurrencyHelpers
package import Store

/// Searches the users of an application.
///
/// Reports slow searches to operators, with the properties for which an index would help.
package struct UserSearches: Sendable {
    let store: Store
    let logger: Logger
    private let limits: Limits.Searches
    private let turns: FairQueue
    private let memory = NIOLockedValueBox(SlowSearches())

    /// The duration in milliseconds above which a search counts as slow and is reported.
    private static let long: Int64 = 250
    private static let maxWaiting = 256

    package init(store: Store, limits: Limits.Searches, logger: Logger) {
        self.store = store
        self.limits = limits
        self.logger = logger
        turns = FairQueue(
            width: limits.atOnce,
            max: Self.maxWaiting,
            refusal: Failure(.overloaded, "Too many searches are running. Try again shortly.", retryAfter: 1)
        )
    }

    /// Returns the users that match a query.
    ///
    /// - Throws: `query_too_slow`, `query_too_large`; `overloaded` if too many searches are running;
    ///   `store_unavailable`.
    func users(matching query: UserQuery, of application: Application) async throws(Failure) -> [User] {
        try await telling(query, application) { () throws(Failure) in
            try await store.users(matching: query, of: application)
        }
    }

    /// Returns the number of users that match a filter.
    ///
    /// - Throws: The same errors as `users(matching:of:)`.
    func userCount(matching filter: UserFilter?, of application: Application) async throws(Failure) -> Int64 {
        var query = UserQuery(limit: 1)
        query.filter = filter
        return try await telling(query, application) { () throws(Failure) in
            try await store.userCount(matching: filter, of: application)
        }
    }

    /// Returns the users that match a query, with the details that Firebase's administrators see.
    ///
    /// - Throws: The same errors as `users(matching:of:)`.
    func accounts(matching query: UserQuery, of application: Application) async throws(Failure) -> [AccountDetails] {
        try await telling(query, application) { () throws(Failure) in
            try await store.accounts(matching: query, of: application)
        }
    }

    /// Returns the ids of the users with the given e-mail addresses (`Store.users(withEmails:limit:of:)`).
    ///
    /// - Throws: The same errors as `users(matching:of:)`.
    func users(
        withEmails emails: [String],
        limit: Int64,
        of application: Application
    ) async throws(Failure) -> [ObjectID] {
        try await telling(UserQuery(limit: limit), application) { () throws(Failure) in
            try await store.users(withEmails: emails, limit: limit, of: application)
        }
    }

    private func telling<Value: Sendable>(
        _ query: UserQuery,
        _ application: Application,
        _ search: () async throws(Failure) -> SearchResult<Value>
    ) async throws(Failure) -> Value {
        do throws(Failure) {
            let result = try await inTurn(application, search)
            if result.milliseconds > Self.long { await tell(query, application, result.milliseconds, "done") }
            return result.value
        } catch {
            if error.reason == .queryTooSlow, let milliseconds = error.details["milliseconds"]?.integer {
                await tell(query, application, milliseconds, error.reason.rawValue)
            }
            throw error
        }
    }

    /// Waits until the queue of searches admits a search, then runs it.
    ///
    /// The queue limits the number of concurrent searches in each database, and lets the applications take turns.
    ///
    /// A search waits at most for the limit `timeout`. If its application has no running search, the search may have to
    /// wait for the searches of other applications, too. Then it waits longer, by twice the time limit of a search.
    private func inTurn<Value: Sendable>(
        _ application: Application,
        _ search: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let (id, database) = (application.id, application.database)
        let others = turns.isIdle(id, at: database) ? limits.time * 2 : .zero
        return try await turns.pass(of: id, at: database, before: .now + limits.timeout + others, search)
    }

    private func tell(
        _ query: UserQuery,
        _ application: Application,
        _ milliseconds: Int64,
        _ outcome: String
    ) async {
        let properties = query.propertiesToIndex
        let search = SlowSearches.Search(application: application.id, properties: properties)
        let due = memory.withLockedValue { $0.note(search, milliseconds: milliseconds, at: .now) }
        if due.line {
            var metadata: Logger.Metadata = [
                "application": "\(application.id)", "ms": "\(milliseconds)", "outcome": "\(outcome)",
            ]
            if !properties.isEmpty { metadata["index"] = "\(properties.map(\.text).joined(separator: ", "))" }
            logger.notice("slow search", metadata: metadata)
        }
        guard let tally = due.tally, !properties.isEmpty else { return }
        do throws(Failure) {
            try await store.noteSlowSearches(tally, by: properties, of: application.id)
        } catch {
            logger.warning("a slow search could not be noted", metadata: ["cause": "\(error.cause ?? error.message)"])
        }
    }
}

/// Collects the slow searches of users, and decides when operators are told of them.
///
/// For each application and set of searched properties, the log gets at most one line an hour, and a row of the
/// database is updated at most once a minute.
struct SlowSearches {
    struct Search: Hashable {
        let application: ApplicationID
        let properties: [PropertyName]
    }

    /// What to do now about a slow search: log a line, write counts to the database, both or nothing.
    struct Due {
        let line: Bool
        /// The counts that are not written to the database yet; nil if nothing is to be written now.
        let tally: SlowSearchTally?
    }

    private struct Entry {
        var told: ContinuousClock.Instant
        var written: ContinuousClock.Instant?
        var tally = SlowSearchTally()
    }

    private var entries: [Search: Entry] = [:]

    /// The maximum number of entries, one for each application and set of searched properties.
    ///
    /// Clients choose the properties of a search. Without a maximum, they could fill the memory.
    private static let max = 1000

    mutating func note(_ search: Search, milliseconds: Int64, at now: ContinuousClock.Instant) -> Due {
        if entries.count >= Self.max, entries[search] == nil {
            entries = entries.filter { now - $0.value.told < .seconds(3600) }
            guard entries.count < Self.max else { return Due(line: false, tally: nil) }
        }
        var entry = entries[search] ?? Entry(told: now - .seconds(3600))
        entry.tally.add(milliseconds)
        let line = now - entry.told >= .seconds(3600)
        if line { entry.told = now }
        var tally: SlowSearchTally?
        if entry.written.map({ now - $0 >= .seconds(60) }) ?? true {
            tally = entry.tally
            entry.tally = SlowSearchTally()
            entry.written = now
        }
        entries[search] = entry
        return Due(line: line, tally: tally)
    }
}
