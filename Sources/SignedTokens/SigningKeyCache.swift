package import Domain
import Encodings

/// The cache of an issuer's key set, with the rules for fetching the set again.
///
/// Only a fetch that brought keys replaces the cached keys. A caller that is told to fetch must report the outcome by
/// `fetched` or `failed`.
///
/// A pure state machine: times are arguments.
package struct SigningKeyCache: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// The decision about the key that a token names.
    package enum Decision: Sendable {
        /// Verify with this key.
        case key(SigningKey)
        /// Verify with this key. At the same time, fetch the key set, since it is getting old.
        case keyAndFetch(SigningKey)
        /// Fetch the key set, then ask again.
        case fetch
        /// Another caller fetches the key set. Ask again afterwards.
        case wait
        /// The issuer has no such key.
        case unknown
        /// The last fetch of the key set failed, and it is too early for another fetch.
        case unavailable(Failure)
    }

    /// The age from which a login has the keys fetched again in the background.
    ///
    /// So no login waits while logins are frequent.
    static let refreshAge: Duration = .seconds(5 * 60)
    /// The age from which the keys are stale.
    ///
    /// A login then waits for new keys first.
    ///
    /// While the key set can be fetched, no login accepts a key that the issuer revoked longer ago than this.
    static let staleAge: Duration = .seconds(10 * 60)
    /// The age at which the keys expire, even if no new keys can be fetched.
    static let uselessAge: Duration = .seconds(48 * 3600)
    /// The time from a fetch that did not bring the wanted key to the next fetch.
    ///
    /// It is the same whatever key a token names.
    static let pause: Duration = .seconds(60)
    /// The time from a failed fetch to the next one while the cache has no keys.
    ///
    /// It is shorter, since every login needs a key.
    static let pauseWithoutKeys: Duration = .seconds(5)

    /// A fetch in progress.
    private struct Fetch {
        /// The id of the key that caused the fetch.
        let wanted: String
        let begin: Instant
    }

    private var keys: [SigningKey] = []
    /// The start of the fetch that brought the keys.
    ///
    /// Since then, the issuer may have revoked some of them.
    private var asked: Instant?
    private var fetch: Fetch?
    /// The end of the last fetch that did not bring the wanted key.
    private var lastMiss: Instant?
    /// The failure of the fetch at `lastMiss`; nil if that fetch brought other keys.
    private var lastFailure: Failure?

    package init() {}

    /// Whether a fetch is in progress.
    package var isFetching: Bool { fetch != nil }

    /// Returns the decision about the key that a token names.
    ///
    /// After `fetch` and `keyAndFetch`, the caller must fetch.
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
        // The last fetch failed a short time ago.
        guard mayFetch else { return .key(key) }
        fetch = Fetch(wanted: id, begin: now)
        return .fetch
    }

    /// Returns a key that has not expired; nil if there is none.
    ///
    /// The key may be stale.
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

    /// Records a fetch that brought keys.
    ///
    /// There must be at least one.
    package mutating func fetched(_ keys: [SigningKey], at now: Instant) {
        let hasBroughtIt = keys.contains { key in fetch.map { key.id.hasSameBytes(as: $0.wanted) } ?? false }
        lastMiss = hasBroughtIt ? nil : now
        lastFailure = nil
        asked = fetch?.begin ?? now
        fetch = nil
        self.keys = keys
    }

    /// Records a fetch that brought no keys.
    package mutating func failed(_ failure: Failure, at now: Instant) {
        fetch = nil
        lastMiss = now
        lastFailure = failure
    }
}
