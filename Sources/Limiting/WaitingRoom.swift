import DequeModule
import Domain

/// The outcome of waiting for a turn.
enum Turn {
    case come
    /// There was no room to wait.
    case noRoom
    /// The turn did not come in time.
    case missed
}

/// A queue for a bounded number of concurrent operations, fair between applications and sources.
///
/// Waiters stand in one line for each application. The lines are served in turn, and no waiter waits beyond its
/// deadline. Within a line, the sources of requests take turns in the same way.
///
/// If the room is full, a new waiter takes the place of the last waiter of the application or source with the most
/// waiters. So a source that sends more than can be done delays its own requests, has them refused, and then affects no
/// others.
///
/// The number of concurrent operations adapts to how long each takes (`AdaptiveLimit`), in total and for each
/// application. An application that is alone gets three quarters of the places if places are spared, so another
/// application finds one. Beside others, the limit of an application with slow writes shrinks: a locked table blocks
/// few connections, and other applications continue.
///
/// Pure; a waiter is a value of the caller, which the caller gets back.
struct WaitingRoom<Waiter: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Arrival {
        case admitted
        case waiting
        /// The waiter has taken the place of another one, which waits no more.
        case waitingInstead(of: Waiter)
        /// There was no room to wait.
        case refused
    }

    private struct Line: Sendable {
        var held = 0
        /// The waiters by source, with nil for all unknown sources; no queue is empty.
        var queues: [String?: Deque<(waiter: Waiter, until: Instant)>] = [:]
        /// The sources with waiters, each once, in the order in which they are served.
        var sources: Deque<String?> = []
        var waiting = 0
        /// The application's limit beside other applications.
        var limit: AdaptiveLimit
        var lastSeen: Instant

        init(limit: AdaptiveLimit, lastSeen: Instant) {
            self.limit = limit
            self.lastSeen = lastSeen
        }

        mutating func append(_ waiter: Waiter, until: Instant, from source: String?) {
            if queues[source] == nil { sources.append(source) }
            queues[source, default: []].append((waiter, until))
            waiting += 1
        }

        /// Removes the first waiter of the source whose turn it is.
        mutating func popFirst() -> Waiter? {
            guard let source = sources.popFirst(), let first = queues[source]?.popFirst() else { return nil }
            waiting -= 1
            if queues[source]?.isEmpty ?? true { queues[source] = nil } else { sources.append(source) }
            return first.waiter
        }

        /// The source with the most waiters.
        var longest: (source: String?, waiting: Int)? {
            queues.max { $0.value.count < $1.value.count }.map { ($0.key, $0.value.count) }
        }

        mutating func popLast(of source: String?) -> Waiter? {
            guard let last = queues[source]?.popLast() else { return nil }
            waiting -= 1
            forgetEmptyQueues()
            return last.waiter
        }

        /// Removes the waiters whose deadline has passed.
        mutating func popExpired(at now: Instant) -> [Waiter] {
            var expired: [Waiter] = []
            for (source, queue) in queues where queue.contains(where: { $0.until <= now }) {
                expired += queue.filter { $0.until <= now }.map(\.waiter)
                queues[source] = queue.filter { $0.until > now }
            }
            guard !expired.isEmpty else { return [] }
            waiting -= expired.count
            forgetEmptyQueues()
            return expired
        }

        private mutating func forgetEmptyQueues() {
            queues = queues.filter { !$0.value.isEmpty }
            sources.removeAll { queues[$0] == nil }
        }
    }

    private(set) var limit: AdaptiveLimit
    /// The places that an application has beside others, however slow its writes.
    private let fewestOfOne: Int
    /// Whether an application that is alone leaves a quarter of the places free for others.
    private let sparesPlaces: Bool
    /// The longest wait of a waiter without a deadline of its own.
    private let patience: Duration
    /// The most waiters in the room.
    private let most: Int

    private(set) var held = 0
    private(set) var waiting = 0
    /// The applications seen recently.
    private var lines: [ApplicationID: Line] = [:]
    /// The applications with waiters, each once, in the order in which they are served.
    private var turns: Deque<ApplicationID> = []

    var applicationsWaiting: some Sequence<ApplicationID> { turns }

    private var lastLook: Instant?

    /// The time for which an application is remembered, with its limit.
    static var memory: Duration { .seconds(10) }

    init(limit: AdaptiveLimit, fewestOfOne: Int, sparesPlaces: Bool = true, patience: Duration, most: Int) {
        self.limit = limit
        self.fewestOfOne = fewestOfOne
        self.sparesPlaces = sparesPlaces
        self.patience = patience
        self.most = most
    }

    /// Returns the number of places that an application may hold.
    private func places(of line: Line) -> Int {
        let largest = sparesPlaces ? max(limit.limit - limit.limit / 4, 1) : limit.limit
        return lines.count > 1 ? min(line.limit.limit, largest) : largest
    }

    func held(by application: ApplicationID) -> Int { lines[application]?.held ?? 0 }

    /// Takes a place if one is free and the application has no waiters.
    mutating func enter(_ application: ApplicationID, at now: Instant) -> Bool {
        see(application, at: now)
        guard let line = lines[application], held < limit.limit, line.held < places(of: line), line.waiting == 0
        else { return false }
        take(application)
        return true
    }

    /// Takes a place or waits for one.
    ///
    /// - Parameters:
    ///   - waiter: The waiter, which the caller gets back.
    ///   - application: The application of the request.
    ///   - source: The source of the request; nil if unknown.
    ///   - until: The deadline of the wait; nil for the room's own limit.
    ///   - now: The current time.
    /// - Returns: Whether a place was taken, or the waiter waits or was refused.
    mutating func arrive(
        _ waiter: Waiter,
        of application: ApplicationID,
        from source: String? = nil,
        until: Instant? = nil,
        at now: Instant
    ) -> Arrival {
        if enter(application, at: now) { return .admitted }
        guard let line = lines[application] else { return .refused }
        limit.note(underWay: held)
        lines[application]?.limit.note(underWay: line.held)
        var displaced: Waiter?
        if waiting >= most {
            displaced = displace(forOneOf: application, from: source)
            guard displaced != nil else { return .refused }
        }
        if lines[application]?.waiting == 0 { turns.append(application) }
        let until = until ?? now + patience
        lines[application]?.append(waiter, until: until, from: source)
        waiting += 1
        return displaced.map(Arrival.waitingInstead) ?? .waiting
    }

    /// Removes the last waiter of a holder with at least two more waiters than the new one's; nil if there is none.
    ///
    /// An application with more waiters comes first, then a source of the same application.
    private mutating func displace(forOneOf application: ApplicationID, from source: String?) -> Waiter? {
        guard let own = lines[application],
            let crowded = turns.max(by: { lines[$0]?.waiting ?? 0 < lines[$1]?.waiting ?? 0 })
        else { return nil }
        let isOther = (lines[crowded]?.waiting ?? 0) >= own.waiting + 2
        let loser = isOther ? crowded : application
        guard let longest = lines[loser]?.longest,
            isOther || longest.waiting >= (own.queues[source]?.count ?? 0) + 2,
            let displaced = lines[loser]?.popLast(of: longest.source)
        else { return nil }
        waiting -= 1
        if lines[loser]?.waiting == 0 { turns.removeAll { $0 == loser } }
        return displaced
    }

    /// Returns a place.
    ///
    /// - Parameters:
    ///   - application: The application that held the place.
    ///   - took: How long the place was held.
    ///   - now: The current time.
    /// - Returns: The waiters whose turn has come; each holds a place.
    mutating func leave(_ application: ApplicationID, took: Duration, at now: Instant) -> [Waiter] {
        held -= 1
        lines[application]?.held -= 1
        limit.observe(took, at: now)
        lines[application]?.limit.observe(took, at: now)
        return serve()
    }

    /// Removes and returns the waiters whose deadline has passed.
    mutating func expire(at now: Instant) -> [Waiter] {
        forgetIdle(at: now)
        guard waiting > 0 else { return [] }
        var expired: [Waiter] = []
        for application in turns {
            let those = lines[application]?.popExpired(at: now) ?? []
            waiting -= those.count
            expired += those
        }
        turns.removeAll { (lines[$0]?.waiting ?? 0) == 0 }
        return expired
    }

    private mutating func serve() -> [Waiter] {
        var served: [Waiter] = []
        var passedOver = 0
        while held < limit.limit, passedOver < turns.count, let application = turns.popFirst() {
            guard let line = lines[application], line.held < places(of: line) else {
                turns.append(application)
                passedOver += 1
                continue
            }
            guard let next = lines[application]?.popFirst() else { continue }
            passedOver = 0
            waiting -= 1
            take(application)
            served.append(next)
            if line.waiting > 1 { turns.append(application) }
        }
        return served
    }

    private mutating func take(_ application: ApplicationID) {
        held += 1
        limit.note(underWay: held)
        guard var line = lines.removeValue(forKey: application) else { return }
        line.held += 1
        line.limit.note(underWay: line.held)
        lines[application] = line
    }

    private mutating func see(_ application: ApplicationID, at now: Instant) {
        guard lines[application] == nil else {
            lines[application]?.lastSeen = now
            return
        }
        forgetIdle(at: now)
        let range = min(fewestOfOne, limit.range.upperBound)...limit.range.upperBound
        lines[application] = Line(
            limit: AdaptiveLimit(range, rest: limit.rest, target: limit.target, interval: limit.interval),
            lastSeen: now
        )
    }

    private mutating func forgetIdle(at now: Instant) {
        // Ten thousand applications are not searched at every turn.
        if let lastLook, now - lastLook < .seconds(1) { return }
        lastLook = now
        lines = lines.filter { $0.value.held > 0 || $0.value.waiting > 0 || now - $0.value.lastSeen < Self.memory }
    }
}

extension WaitingRoom.Arrival: Equatable where Waiter: Equatable {}
