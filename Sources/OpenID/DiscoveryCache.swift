import Domain

/// Keeps an issuer's discovery document, and decides when it must be fetched again.
///
/// A pure state machine: times are arguments.
struct DiscoveryCache: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Decision: Sendable {
        case document(Discovery)
        /// The caller uses the document, and meanwhile fetches it anew.
        case documentAndFetch(Discovery)
        case fetch
        case wait
        /// The last fetch failed, and it is too early for another one.
        case unavailable(Failure)
    }

    /// The bounds of the time for which a document counts as fresh, whatever its `Cache-Control` says.
    static let freshness = (least: Duration.seconds(300), most: Duration.seconds(86_400))
    /// The age from which a document that cannot be fetched anew no longer counts.
    static let uselessAge: Duration = .seconds(7 * 86_400)
    /// The minimum time from a failed fetch to the next one, with and without a document.
    static let pause = (with: Duration.seconds(60), without: Duration.seconds(5))

    private var document: (value: Discovery, asked: Instant, freshUntil: Instant)?
    private var asked: Instant?
    private var lastFailure: (failure: Failure, time: Instant)?

    var isFetching: Bool { asked != nil }

    /// Returns the document, or what the caller must do to get it.
    ///
    /// After `fetch` and `documentAndFetch`, the caller must fetch, and report the result.
    mutating func decide(at now: Instant) -> Decision {
        if let document, now - document.asked < Self.uselessAge {
            if now < document.freshUntil || isFetching { return .document(document.value) }
            if let lastFailure, now - lastFailure.time < Self.pause.with { return .document(document.value) }
            asked = now
            return .documentAndFetch(document.value)
        }
        if isFetching { return .wait }
        if let lastFailure, now - lastFailure.time < Self.pause.without { return .unavailable(lastFailure.failure) }
        asked = now
        return .fetch
    }

    /// Replaces the document.
    ///
    /// - Parameters:
    ///   - document: The document that a fetch has brought.
    ///   - seconds: The `max-age` of the response's `Cache-Control`; nil without one.
    ///   - now: The time.
    mutating func fetched(_ document: Discovery, maxAge seconds: Int64?, at now: Instant) {
        let began = asked ?? now
        let age = seconds.map { Duration.seconds($0) } ?? Self.freshness.least
        let fresh = min(max(age, Self.freshness.least), Self.freshness.most)
        self.document = (document, began, began + fresh)
        lastFailure = nil
        asked = nil
    }

    /// Records that a fetch brought no document that can be used.
    ///
    /// A former document goes on to count.
    mutating func failed(_ failure: Failure, at now: Instant) {
        lastFailure = (failure, now)
        asked = nil
    }
}
