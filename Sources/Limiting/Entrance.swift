import Vocabulary

/// Who is let in: so much under way at once as the machine and the database take, and no application keeping another
/// out, nor one source the others of its application.
///
/// How much the machine takes is told by how late a task runs that only wanted to, and how much of an application the
/// database takes by how long its writes wait for their turn (`AdaptiveLimit`). Who would not come to write is told so
/// before a provider is asked about them. Who waits for a provider holds a place, makes nobody late and stands in no
/// line, so a provider that hangs shrinks nothing.
///
/// Pure.
struct Entrance: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// An application of which something is under way.
    private struct Share: Sendable {
        var underWay = 0
        /// Of these, by source, as far as that is known.
        var sources: [String: Int] = [:]
        /// By how long its writes wait.
        var limit: AdaptiveLimit
    }

    /// By how late tasks run.
    private(set) var limit: AdaptiveLimit
    /// What each application begins with.
    ///
    /// What one has learnt is forgotten when nothing of it is under way any more: nothing stands in its line then.
    private let own: AdaptiveLimit
    private(set) var underWay = 0
    private var shares: [ApplicationID: Share] = [:]

    init(limit: AdaptiveLimit, own: AdaptiveLimit) {
        self.limit = limit
        self.own = own
    }

    /// Lets one in, if there is a place for its application and its source; `leave` must follow then.
    ///
    /// The last eighth of all places is for applications that have less than their share, and the last eighth of an
    /// application's for sources that have less than theirs. So there is a place for whoever has none, also where
    /// another one has been alone.
    ///
    /// - Parameters:
    ///   - application: Whose place it is.
    ///   - source: Where the request comes from; nil where that is not known, which counts for no source.
    /// - Returns: Whether there was a place.
    mutating func enter(_ application: ApplicationID, from source: String?) -> Bool {
        let limit = limit.limit
        var share = shares.removeValue(forKey: application) ?? Share(limit: own)
        defer { if share.underWay > 0 { shares[application] = share } }
        let free = max(limit - limit / 8 - underWay, 0)
        let most = max(share.underWay + free, Self.share(of: limit, beside: shares.count))
        let places = min(share.limit.limit, most)
        guard underWay < limit, share.underWay < places, hasPlace(source, in: share, of: places) else {
            if share.limit.limit < most {
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

    /// What one has of the places beside others; beside nobody as beside one who may come.
    private static func share(of places: Int, beside others: Int) -> Int { max(places / (max(others, 1) + 1), 1) }

    mutating func leave(_ application: ApplicationID, from source: String?) {
        guard var share = shares.removeValue(forKey: application) else { return }
        underWay -= 1
        share.underWay -= 1
        if let source, let held = share.sources[source] { share.sources[source] = held > 1 ? held - 1 : nil }
        if share.underWay > 0 { shares[application] = share }
    }

    /// Notes how late a task ran.
    mutating func observe(lateness: Duration, at now: Instant) {
        limit.observe(lateness, at: now)
    }

    /// Notes how long a write of an application has waited for its turn, or until it was refused.
    mutating func observe(wait: Duration, of application: ApplicationID, at now: Instant) {
        guard let underWay = shares[application]?.underWay else { return }
        // Where nobody comes any more, it is those who came that the line is of.
        shares[application]?.limit.note(underWay: underWay)
        shares[application]?.limit.observe(wait, at: now)
    }

    /// Notes that of all applications but these nobody waits for a turn to write.
    ///
    /// So only a line that stands on end shrinks a limit, and one that shrank grows where nothing is written.
    mutating func observe(nobodyWaitingBut waiting: Set<ApplicationID>, at now: Instant) {
        for application in shares.keys where !waiting.contains(application) {
            shares[application]?.limit.observe(.zero, at: now)
        }
    }
}
