package import Domain
import Encodings

/// Keeps the key set (JWKS) of an issuer of ID tokens, and decides when it must be fetched again.
///
/// Only a fetch that brought keys replaces the cached keys. If the decision tells a caller to fetch, the caller must
/// report the result by `fetched` or `failed`.
///
/// The cache is a pure state machine: times are arguments.
package struct SigningKeyCache: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// The decision about the key that a token names.
    package enum Decision: Sendable {
        /// The caller verifies the token with this key.
        case key(SigningKey)
        /// The caller verifies the token with this key, and meanwhile fetches the key set, since it is getting old.
        case keyAndFetch(SigningKey)
        /// The caller fetches the key set, then asks the cache again.
        case fetch
        /// Another caller is fetching the key set; this caller waits, then asks the cache again.
        case wait
        /// The issuer has no such key.
        case unknown
        /// The last fetch of the key set failed, and it is too early for another fetch.
        case unavailable(Failure)
    }

    /// The age of the keys from which a login starts a new fetch in the background.
    ///
    /// So no login waits for a fetch while logins are frequent.
    static let refreshAge: Duration = .seconds(5 * 60)
    /// The age from which the keys are stale.
    ///
    /// A login that needs a stale key first waits for a fetch.
    ///
    /// So as long as fetches succeed, no login accepts a key that the issuer revoked longer ago than this.
    static let staleAge: Duration = .seconds(10 * 60)
    /// The age at which the keys expire, even if no new keys can be fetched.
    ///
    /// Until then, a login may use a stale key if the last fetch has failed.
    static let uselessAge: Duration = .seconds(48 * 3600)
    /// The minimum time between two fetches, if the first of them did not bring the wanted key.
    ///
    /// It applies even if another token names another key.
    static let pause: Duration = .seconds(60)
    /// The minimum time from a failed fetch to the next one while the cache has no keys.
    ///
    /// It is shorter than `pause`, since every login needs a key.
    static let pauseWithoutKeys: Duration = .seconds(5)

    /// A fetch of the key set that is in progress.
    private struct Fetch {
        /// The id of the key that caused the fetch.
        ///
        /// A token named this key, and the cached key was missing or old.
        let wanted: String
        let begin: Instant
    }

    private var keys: [SigningKey] = []
    /// The time at which the fetch that brought the cached keys began.
    ///
    /// Since then, the issuer may have revoked some of them.
    private var asked: Instant?
    private var fetch: Fetch?
    /// The time at which the last fetch ended, if it did not bring the wanted key; nil if it did.
    private var lastMiss: Instant?
    /// The failure of the fetch at `lastMiss`; nil if that fetch brought other keys.
    private var lastFailure: Failure?

    package init() {}

    /// Whether a fetch is in progress.
    package var isFetching: Bool { fetch != nil }

    /// Returns the cached key that a token names, or what the caller must do to get it.
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

    /// Returns what the caller must do after the cached key with an id did not verify a signature.
    ///
    /// The issuer may have given the id to another key. So the keys are fetched, but not more often than once in
    /// ``pause``: anybody can send a token with a wrong signature.
    ///
    /// - Returns: `fetch`, `wait`; or `unknown` if the cached keys are young enough.
    package mutating func renewedKey(_ id: String, at now: Instant) -> Decision {
        if isFetching { return .wait }
        guard age(at: now) >= Self.pause, mayFetch(pause: Self.pause, at: now) else { return .unknown }
        fetch = Fetch(wanted: id, begin: now)
        return .fetch
    }

    /// Returns the cached key with an id, even if it is stale; nil if there is none or it has expired.
    ///
    /// An empty id stands for the only key of the issuer.
    package func known(_ id: String, at now: Instant) -> SigningKey? {
        guard age(at: now) < Self.uselessAge else { return nil }
        if id.utf8.isEmpty { return keys.count == 1 ? keys[0] : nil }
        return keys.first { $0.id.hasSameBytes(as: id) }
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

    /// Replaces the cached keys by the keys that a fetch has brought: at least one.
    package mutating func fetched(_ keys: [SigningKey], at now: Instant) {
        let hasBroughtIt =
            fetch.map { fetch in
                fetch.wanted.utf8.isEmpty ? keys.count == 1 : keys.contains { $0.id.hasSameBytes(as: fetch.wanted) }
            } ?? false
        lastMiss = hasBroughtIt ? nil : now
        lastFailure = nil
        asked = fetch?.begin ?? now
        fetch = nil
        self.keys = keys
    }

    /// Records that a fetch of the key set brought no keys.
    package mutating func failed(_ failure: Failure, at now: Instant) {
        fetch = nil
        lastMiss = now
        lastFailure = failure
    }
}
