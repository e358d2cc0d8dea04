package import Vocabulary

/// An issuer's keys as far as they are known, and when to fetch them again.
///
/// Keys are replaced by a fetch that brought some, and by nothing else. A pure state machine: times are arguments, and
/// who is told to fetch says how it went by `fetched` or `failed`, whatever happens.
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
        /// The issuer has no such key.
        case unknown
        /// The issuer could not be asked.
        case unavailable(Failure)
    }

    /// Age at which the keys are fetched anew beside a login that uses one: under load no login ever waits for keys.
    static let refreshAge: Duration = .seconds(5 * 60)
    /// Age from which on a login waits for new keys first.
    ///
    /// With a key that the issuer has withdrawn nobody logs in longer than that, while the keys can be had.
    static let staleAge: Duration = .seconds(10 * 60)
    /// Age from which on keys count no more, although no others can be had.
    static let uselessAge: Duration = .seconds(48 * 3600)
    /// Time after a fetch that did not bring the key that it was for until the next one, whatever keys tokens name.
    static let pause: Duration = .seconds(60)
    /// The same while there is no key at all and every login needs one.
    static let pauseWithoutKeys: Duration = .seconds(5)

    /// A fetch that is under way.
    private struct Fetch {
        /// The key that it is for.
        let wanted: String
        let begin: Instant
    }

    private var keys: [SigningKey] = []
    /// When the fetch began that brought them: what the issuer has withdrawn since then may be among them.
    private var asked: Instant?
    private var fetch: Fetch?
    /// When a fetch last ended without the key that it was for.
    private var lastMiss: Instant?
    /// Why that fetch brought no keys at all.
    private var lastFailure: Failure?

    package init() {}

    /// Whether somebody fetches.
    package var isFetching: Bool { fetch != nil }

    /// What to do about a token; after `fetch` and `keyAndFetch` the caller fetches.
    package mutating func key(_ id: String, at now: Instant) -> Decision {
        let age = age(at: now)
        guard let key = known(id, at: now) else { return withoutKey(id, hasOthers: age < Self.uselessAge, at: now) }
        if age < Self.refreshAge { return .key(key) }
        let mayFetch = mayFetch(pause: Self.pause, at: now)
        if age < Self.staleAge {
            guard mayFetch else { return .key(key) }
            fetch = Fetch(wanted: id, begin: now)
            return .keyAndFetch(key)
        }
        if isFetching { return .wait }
        // A fetch has failed just now.
        guard mayFetch else { return .key(key) }
        fetch = Fetch(wanted: id, begin: now)
        return .fetch
    }

    /// The key of that name, as long as it counts while no others can be had.
    package func known(_ id: String, at now: Instant) -> SigningKey? {
        age(at: now) < Self.uselessAge ? keys.first { $0.id.hasSameBytes(as: id) } : nil
    }

    private func age(at now: Instant) -> Duration { asked.map { now - $0 } ?? Self.uselessAge }

    private mutating func withoutKey(_ id: String, hasOthers: Bool, at now: Instant) -> Decision {
        if isFetching { return .wait }
        let pause = hasOthers ? Self.pause : Self.pauseWithoutKeys
        guard let lastMiss, !mayFetch(pause: pause, at: now) else {
            fetch = Fetch(wanted: id, begin: now)
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
        let hasBroughtIt = keys.contains { key in fetch.map { key.id.hasSameBytes(as: $0.wanted) } ?? false }
        lastMiss = hasBroughtIt ? nil : now
        lastFailure = nil
        asked = fetch?.begin ?? now
        fetch = nil
        self.keys = keys
    }

    /// A fetch has brought none.
    package mutating func failed(_ failure: Failure, at now: Instant) {
        fetch = nil
        lastMiss = now
        lastFailure = failure
    }
}
