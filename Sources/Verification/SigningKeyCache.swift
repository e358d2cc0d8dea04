package import Identity

/// Facebook's keys as far as they are known, and when to fetch them again.
///
/// Keys are replaced by a fetch that brought some, and by nothing else. A pure state machine: times are arguments, and who is told
/// to fetch says how it went by `fetched` or `failed`, whatever happens.
package struct SigningKeyCache: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// What to do about a token that names a key.
    package enum Decision: Sendable {
        /// Verify with this key.
        case key(SigningKey)
        /// Verify with this key, and fetch the keys beside that: they come of age.
        case keyAndFetch(SigningKey)
        /// Fetch the keys, and ask again after that.
        case fetch
        /// Somebody fetches them; ask again after that.
        case wait
        /// Facebook has no such key.
        case unknown
        /// Facebook could not be asked.
        case unavailable(Failure)
    }

    /// Age at which the keys are fetched anew beside a login that uses one.
    static let refreshAge: Duration = .seconds(12 * 3600)
    /// Age from which on a login waits for new keys first.
    ///
    /// With a key that Facebook has withdrawn nobody logs in longer than that.
    static let staleAge: Duration = .seconds(24 * 3600)
    /// Age from which on keys count no more, although no others can be had.
    static let uselessAge: Duration = .seconds(48 * 3600)
    /// Time after a fetch that did not bring the key that it was for until the next one, whatever keys tokens name.
    static let pause: Duration = .seconds(60)
    /// The same while there is no key at all and every login needs one.
    static let pauseWithoutKeys: Duration = .seconds(5)

    private var keys: [SigningKey] = []
    private var fetchedAt: Instant?
    /// The key that somebody fetches the keys for.
    private var wanted: String?
    /// When a fetch last ended without the key that it was for.
    private var lastMiss: Instant?
    /// Why that fetch brought no keys at all.
    private var lastFailure: Failure?

    package init() {}

    /// Whether somebody fetches.
    package var isFetching: Bool { wanted != nil }

    /// What to do about a token; after `fetch` and `keyAndFetch` the caller fetches.
    package mutating func key(_ id: String, at now: Instant) -> Decision {
        let age = fetchedAt.map { now - $0 } ?? Self.uselessAge
        guard age < Self.uselessAge, let key = keys.first(where: { $0.id.hasSameBytes(as: id) }) else {
            return withoutKey(id, hasOthers: age < Self.uselessAge, at: now)
        }
        if age < Self.refreshAge { return .key(key) }
        let mayFetch = mayFetch(pause: Self.pause, at: now)
        if age < Self.staleAge {
            guard mayFetch else { return .key(key) }
            wanted = id
            return .keyAndFetch(key)
        }
        if isFetching { return .wait }
        guard mayFetch else { return .key(key) }
        wanted = id
        return .fetch
    }

    private mutating func withoutKey(_ id: String, hasOthers: Bool, at now: Instant) -> Decision {
        if isFetching { return .wait }
        let pause = hasOthers ? Self.pause : Self.pauseWithoutKeys
        guard let lastMiss, !mayFetch(pause: pause, at: now) else {
            wanted = id
            return .fetch
        }
        guard let lastFailure else { return .unknown }
        let rest = (lastMiss + pause - now).components
        return .unavailable(
            Failure(
                lastFailure.reason,
                lastFailure.message,
                retryAfter: Int(rest.seconds) + (rest.attoseconds > 0 ? 1 : 0),
                cause: lastFailure.cause
            )
        )
    }

    private func mayFetch(pause: Duration, at now: Instant) -> Bool {
        !isFetching && lastMiss.map { now - $0 >= pause } ?? true
    }

    /// A fetch has brought these keys, at least one.
    package mutating func fetched(_ keys: [SigningKey], at now: Instant) {
        let hasBroughtIt = keys.contains { key in wanted.map { key.id.hasSameBytes(as: $0) } ?? false }
        wanted = nil
        lastMiss = hasBroughtIt ? nil : now
        lastFailure = nil
        fetchedAt = now
        self.keys = keys
    }

    /// A fetch has brought none.
    package mutating func failed(_ failure: Failure, at now: Instant) {
        wanted = nil
        lastMiss = now
        lastFailure = failure
    }
}
