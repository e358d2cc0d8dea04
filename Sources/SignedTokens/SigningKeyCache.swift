package import Domain
import Encodings

/// The cache of an issuer's key set, and the rules for fetching it again.
///
/// Only a fetch that brought keys replaces the cached keys. A pure state machine: times are arguments. A caller that is
/// told to fetch must report the outcome by `fetched` or `failed`.
package struct SigningKeyCache: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// The decision on a token's key.
    package enum Decision: Sendable {
        /// Verify with this key.
        case key(SigningKey)
        /// Verify with this key, and refresh the key set at the same time, since it is getting old.
        case keyAndFetch(SigningKey)
        /// Fetch the key set, then call again.
        case fetch
        /// A fetch is in progress; call again after it.
        case wait
        /// The issuer has no such key.
        case unknown
        /// The key set could not be fetched.
        case unavailable(Failure)
    }

    /// The age at which a login's use refreshes the keys without waiting, so that under load no login ever waits.
    static let refreshAge: Duration = .seconds(5 * 60)
    /// The age at which the keys are stale: a login waits for new keys first.
    ///
    /// No login accepts a key that the issuer has revoked for longer than this, while the key set can be fetched.
    static let staleAge: Duration = .seconds(10 * 60)
    /// The age at which the keys expire, even though no new keys can be fetched.
    static let uselessAge: Duration = .seconds(48 * 3600)
    /// The time from a fetch that did not bring the wanted key until the next fetch, whatever keys tokens name.
    static let pause: Duration = .seconds(60)
    /// The time from a failed fetch until the next one while there is no key at all and every login needs one.
    static let pauseWithoutKeys: Duration = .seconds(5)

    /// A fetch in progress.
    private struct Fetch {
        /// The id of the key that the fetch is for.
        let wanted: String
        let begin: Instant
    }

    private var keys: [SigningKey] = []
    /// The start of the fetch that brought the keys: the issuer may have revoked some of them since then.
    private var asked: Instant?
    private var fetch: Fetch?
    /// The end of the last fetch that did not bring the wanted key.
    private var lastMiss: Instant?
    /// The failure of that fetch, if it brought no keys at all.
    private var lastFailure: Failure?

    package init() {}

    /// Whether a fetch is in progress.
    package var isFetching: Bool { fetch != nil }

    /// Returns the decision on a token's key; after `fetch` and `keyAndFetch` the caller must fetch.
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
        // A fetch has just failed.
        guard mayFetch else { return .key(key) }
        fetch = Fetch(wanted: id, begin: now)
        return .fetch
    }

    /// Returns a key that has not expired, which may be stale; nil when there is none.
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

    /// Records a fetch that brought these keys, at least one.
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
