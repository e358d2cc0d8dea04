import Vocabulary

/// Who is let in: so much under way at once as the machine takes, none of it waiting, and no application keeping
/// another out.
///
/// What tells how much the machine takes is how late a task runs that only wanted to (`AdaptiveLimit`). Who waits for a
/// provider holds a place and makes nobody late, so a provider that hangs does not shrink the limit.
///
/// Pure.
struct Entrance: Sendable {
    private(set) var limit: AdaptiveLimit
    private(set) var underWay = 0
    private var byApplication: [ApplicationID: Int] = [:]

    init(limit: AdaptiveLimit) {
        self.limit = limit
    }

    /// Lets one in, if there is a place for its application; `leave` must follow then.
    ///
    /// The last eighth is for applications that have less than their share of all, so there is a place for whoever has
    /// none.
    mutating func enter(_ application: ApplicationID) -> Bool {
        let limit = limit.limit
        let own = byApplication[application] ?? 0
        let share = limit / (byApplication.count + (own == 0 ? 1 : 0))
        guard underWay < limit - limit / 8 || underWay < limit && own < max(share, 1) else {
            self.limit.note(underWay: limit)
            return false
        }
        underWay += 1
        byApplication[application] = own + 1
        self.limit.note(underWay: underWay)
        return true
    }

    mutating func leave(_ application: ApplicationID) {
        guard let own = byApplication[application] else { return }
        underWay -= 1
        byApplication[application] = own > 1 ? own - 1 : nil
    }

    /// Notes how late a task ran.
    mutating func observe(lateness: Duration, at now: ContinuousClock.Instant) {
        limit.observe(lateness, at: now)
    }
}
