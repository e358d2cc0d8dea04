import Domain

/// The admission of requests up to the capacity of machine and database.
///
/// It is fair to applications and sources. No application keeps another one out, and no source keeps out the other
/// sources of its application. The lateness of scheduled tasks measures the capacity of the machine. How long an
/// application's writes wait for their turn measures the capacity of the database for this application
/// (`AdaptiveLimit`). A request that would not get its turn to write is refused before a provider is asked.
///
/// A request that waits for a provider counts as under way. But it delays no task and no write. So a provider that
/// hangs shrinks no limit.
///
/// Pure; times are arguments.
struct Entrance: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// An application with requests under way.
    private struct Share: Sendable {
        var underWay = 0
        /// The number of the application's requests under way, by source.
        ///
        /// Requests of unknown sources are not included.
        var sources: [String: Int] = [:]
        /// The application's limit, which adapts to the wait of its writes.
        var limit: AdaptiveLimit
    }

    /// The limit of the instance, which adapts to the lateness of tasks.
    private(set) var limit: AdaptiveLimit
    /// The initial limit of each application.
    ///
    /// When an application has no more requests under way, its adapted limit is dropped. Then none of its writes wait.
    private let own: AdaptiveLimit
    private(set) var underWay = 0
    private var shares: [ApplicationID: Share] = [:]

    init(limit: AdaptiveLimit, own: AdaptiveLimit) {
        self.limit = limit
        self.own = own
    }

    /// Admits a request if there is a place for its application and its source.
    ///
    /// The caller gives the place back by `leave`. The last eighth of all places is for applications below their share.
    /// The last eighth of an application's places is for sources below their share. So an application or a source
    /// without a place gets one, even if another one was alone before and took all it could get.
    ///
    /// - Parameters:
    ///   - application: The application of the request.
    ///   - source: The source of the request; nil if unknown. A request of an unknown source counts for no source.
    /// - Returns: Whether there was a place.
    mutating func enter(_ application: ApplicationID, from source: String?) -> Bool {
        let limit = limit.limit
        var share = shares.removeValue(forKey: application) ?? Share(limit: own)
        defer { if share.underWay > 0 { shares[application] = share } }
        let free = max(limit - limit / 8 - underWay, 0)
        let highest = max(share.underWay + free, Self.share(of: limit, beside: shares.count))
        let places = min(share.limit.limit, highest)
        guard underWay < limit, share.underWay < places, hasPlace(source, in: share, of: places) else {
            if share.limit.limit < highest {
                share.limit.note(underWay: share.limit.limit)
            } else {
                self.limit.note(underWay: limit)
            }
            return false
        }
        underWay += 1
        share.underWay += 1
        if let source { share.sources[source, default: 0] += 1 }
        self.limit.note(underWay: underWay)
        share.limit.note(underWay: share.underWay)
        return true
    }

    private func hasPlace(_ source: String?, in share: Share, of places: Int) -> Bool {
        guard let source, share.underWay >= places - places / 8 else { return true }
        let held = share.sources[source]
        return held ?? 0 < Self.share(of: places, beside: share.sources.count - (held == nil ? 0 : 1))
    }

    /// Returns the number of places that one of several holders may have.
    ///
    /// If there are no other holders, the calculation assumes one, so that a place is left for it.
    private static func share(of places: Int, beside others: Int) -> Int { max(places / (max(others, 1) + 1), 1) }

    mutating func leave(_ application: ApplicationID, from source: String?) {
        guard var share = shares.removeValue(forKey: application) else { return }
        underWay -= 1
        share.underWay -= 1
        if let source, let held = share.sources[source] { share.sources[source] = held > 1 ? held - 1 : nil }
        if share.underWay > 0 { shares[application] = share }
    }

    /// Adapts the limit of the instance to how late a scheduled task started.
    mutating func observe(lateness: Duration, at now: Instant) {
        limit.observe(lateness, at: now)
    }

    /// Notes how long a write of an application waited until its turn or its refusal.
    mutating func observe(wait: Duration, of application: ApplicationID, at now: Instant) {
        guard let underWay = shares[application]?.underWay else { return }
        // The waiting writes belong to requests under way. If no new requests arrive, their number is what the limit
        // restricts.
        shares[application]?.limit.note(underWay: underWay)
        shares[application]?.limit.observe(wait, at: now)
    }

    /// Notes a wait of zero for each application without waiting writes.
    ///
    /// So an application's limit shrinks only if its writes wait all the time. A shrunk limit grows again while the
    /// application writes nothing.
    mutating func observe(nobodyWaitingBut waiting: Set<ApplicationID>, at now: Instant) {
        for application in shares.keys where !waiting.contains(application) {
            shares[application]?.limit.observe(.zero, at: now)
        }
    }
}
