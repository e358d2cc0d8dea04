import Vocabulary

/// Who is let in: so much under way at once as the machine and the database take, and no application keeping another
/// out.
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

    /// Lets one in, if there is a place for its application; `leave` must follow then.
    ///
    /// The last eighth is for applications that have less than their share of all, so there is a place for whoever has
    /// none.
    mutating func enter(_ application: ApplicationID) -> Bool {
        let limit = limit.limit
        var share = shares.removeValue(forKey: application) ?? Share(limit: own)
        defer { if share.underWay > 0 { shares[application] = share } }
        guard underWay < limit - limit / 8 || underWay < limit && share.underWay < max(limit / (shares.count + 1), 1)
        else {
            self.limit.note(underWay: limit)
            return false
        }
        guard share.underWay < share.limit.limit else {
            share.limit.note(underWay: share.underWay)
            return false
        }
        underWay += 1
        share.underWay += 1
        self.limit.note(underWay: underWay)
        share.limit.note(underWay: share.underWay)
        return true
    }

    mutating func leave(_ application: ApplicationID) {
        guard let share = shares[application] else { return }
        underWay -= 1
        if share.underWay > 1 {
            shares[application]?.underWay -= 1
        } else {
            shares[application] = nil
        }
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
