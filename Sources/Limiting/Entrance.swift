import Domain

/// Decides which requests an instance admits, so that they do not exceed the capacity of machine and database.
///
/// It is fair: no application keeps another one out, and no source keeps out the other sources of its application.
///
/// Two limits adapt to load (`AdaptiveLimit`). The limit of the instance shrinks when scheduled tasks start late, since
/// the machine is then overloaded. The limit of an application shrinks when its database writes wait long for their
/// turn. A request that would not get its turn to write is thus refused before the service asks a provider.
///
/// A request that waits for a provider counts as under way, but delays no task and no write. A provider that does not
/// respond therefore shrinks no limit.
///
/// This type reads no clock: the caller passes the time.
struct Entrance: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The requests of one application that are under way, and the limit on them.
    private struct Share: Sendable {
        var underWay = 0
        /// The number of the application's requests under way, by source.
        ///
        /// Requests of unknown sources are not included.
        var sources: [String: Int] = [:]
        /// The limit on the application's concurrent requests.
        ///
        /// It adapts to how long the application's database writes wait for their turn.
        var limit: AdaptiveLimit
    }

    /// The limit on all concurrent requests of the instance.
    ///
    /// It adapts to how late scheduled tasks start.
    private(set) var limit: AdaptiveLimit
    /// The limit on the concurrent requests of an application at first, and whenever none of its requests are under
    /// way.
    ///
    /// Without requests under way, none of its writes wait.
    private let own: AdaptiveLimit
    private(set) var underWay = 0
    private var shares: [ApplicationID: Share] = [:]

    init(limit: AdaptiveLimit, own: AdaptiveLimit) {
        self.limit = limit
        self.own = own
    }

    /// Admits a request if there is a place for its application and its source.
    ///
    /// A place stands for one concurrent request. The caller gives it back by `leave`.
    ///
    /// The last eighth of all places is only for applications that have fewer places than their share. The last eighth
    /// of an application's places is only for sources that have fewer than their share. An application or a source
    /// without a place therefore finds one, even if another one was alone before and has taken all that it could get.
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

    /// Returns the share of one application or source: the number of places for concurrent requests that it may have.
    ///
    /// `others` is the number of other applications or sources. If it is 0, the calculation assumes one, so that a
    /// place is left for it.
    private static func share(of places: Int, beside others: Int) -> Int { max(places / (max(others, 1) + 1), 1) }

    mutating func leave(_ application: ApplicationID, from source: String?) {
        guard var share = shares.removeValue(forKey: application) else { return }
        underWay -= 1
        share.underWay -= 1
        if let source, let held = share.sources[source] { share.sources[source] = held > 1 ? held - 1 : nil }
        if share.underWay > 0 { shares[application] = share }
    }

    /// Adapts the limit on all concurrent requests of the instance to how late a scheduled task started.
    mutating func observe(lateness: Duration, at now: Instant) {
        limit.observe(lateness, at: now)
    }

    /// Records how long a write of an application waited for its turn, and adapts the limit of the application.
    mutating func observe(wait: Duration, of application: ApplicationID, at now: Instant) {
        guard let underWay = shares[application]?.underWay else { return }
        // The waiting writes belong to requests under way. If no new requests arrive, their number is what the limit
        // restricts.
        shares[application]?.limit.note(underWay: underWay)
        shares[application]?.limit.observe(wait, at: now)
    }

    /// Records a wait of zero for each application that has no waiting writes.
    ///
    /// An application's limit therefore shrinks only if its writes wait all the time. A shrunk limit grows again while
    /// the application writes nothing.
    mutating func observe(nobodyWaitingBut waiting: Set<ApplicationID>, at now: Instant) {
        for application in shares.keys where !waiting.contains(application) {
            shares[application]?.limit.observe(.zero, at: now)
        }
    }
}
