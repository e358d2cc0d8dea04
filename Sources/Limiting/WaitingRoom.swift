import DequeModule
import Domain

/// The outcome of waiting for a turn.
enum Turn {
    case come
    /// The queue was full, and the operation was refused.
    case noRoom
    /// The deadline of the operation passed before its turn.
    case missed
}

/// A queue for a bounded number of concurrent operations.
///
/// It is fair between applications and sources. Each application has a line of waiters. The lines are served in turn,
/// and no waiter waits beyond its deadline. Within a line, the sources of requests take turns in the same way.
///
/// If the room is full, a new waiter takes the place of the last waiter of the application or source with the most
/// waiters. So a source that sends more than can be done delays only its own requests, and some of these are refused.
///
/// The number of concurrent operations adapts to how long operations take (`AdaptiveLimit`), in total and for each
/// application. If the room spares places, an application that is alone gets only three quarters of them, so that
/// another application finds one. Beside other applications, the limit of an application with slow writes shrinks. So a
/// locked table blocks few connections, and other applications continue.
///
/// Pure; a waiter is a value of the caller, and the caller gets it back.
struct WaitingRoom<Waiter: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Arrival {
        case admitted
        case waiting
        /// The waiter has taken the place of another waiter, which no longer waits.
        case waitingInstead(of: Waiter)
        /// The queue was full, and the operation was refused.
        case refused
    }

    private struct Line: Sendable {
        var held = 0
        /// The waiters by source; nil stands for all unknown sources.
        ///
        /// No queue is empty.
        var queues: [String?: Deque<(waiter: Waiter, until: Instant)>] = [:]
        /// The sources that have waiters, each once, in the order of their turns.
        var sources: Deque<String?> = []
        var waiting = 0
        /// The application's limit while there are other applications.
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

        /// Removes and returns the first waiter of the source whose turn it is.
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

        /// Removes and returns the waiters whose deadline has passed.
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
    /// The least limit of an application while there are other applications, however slow its writes are.
    private let minOfOne: Int
    /// Whether an application that is alone must leave a quarter of the places free for others.
    private let sparesPlaces: Bool
    /// How long a waiter without a deadline of its own waits.
    private let timeout: Duration
    /// The maximum number of waiters in the room.
    private let max: Int

    private(set) var held = 0
    private(set) var waiting = 0
    /// For each application with requests in the last seconds, its waiters and its limit.
    private var lines: [ApplicationID: Line] = [:]
    /// The applications that have waiters, each once, in the order of their turns.
    private var turns: Deque<ApplicationID> = []

    var applicationsWaiting: some Sequence<ApplicationID> { turns }

    private var lastLook: Instant?

    /// How long the room remembers an application and its limit.
    static var memory: Duration { .seconds(10) }

    init(limit: AdaptiveLimit, minOfOne: Int, sparesPlaces: Bool = true, timeout: Duration, max: Int) {
        self.limit = limit
        self.minOfOne = minOfOne
        self.sparesPlaces = sparesPlaces
        self.timeout = timeout
        self.max = max
    }

    /// Returns the number of places that an application may hold.
    private func places(of line: Line) -> Int {
        let largest = sparesPlaces ? Swift.max(limit.limit - limit.limit / 4, 1) : limit.limit
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
    ///   - until: The deadline of the wait; nil for the room's own timeout.
    ///   - now: The current time.
    /// - Returns: Whether the waiter got a place, waits or was refused.
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
        if waiting >= max {
            displaced = displace(forOneOf: application, from: source)
            guard displaced != nil else { return .refused }
        }
        if lines[application]?.waiting == 0 { turns.append(application) }
        let until = until ?? now + timeout
        lines[application]?.append(waiter, until: until, from: source)
        waiting += 1
        return displaced.map(Arrival.waitingInstead) ?? .waiting
    }

    /// Removes and returns a waiter in favor of a new one; nil if the new one must be refused.
    ///
    /// The removed waiter is the last one of the application with the most waiters, if that application has at least
    /// two more waiters than the application of the new one. Otherwise, it is the last one of the source with the most
    /// waiters in the same application, if that source has at least two more waiters than the source of the new one.
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

    /// Gives back the place of an operation that has ended.
    ///
    /// - Parameters:
    ///   - application: The application that held the place.
    ///   - took: How long the place was held.
    ///   - now: The current time.
    /// - Returns: The waiters whose turn has come. Each of them holds a place.
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
        let range = min(minOfOne, limit.range.upperBound)...limit.range.upperBound
        lines[application] = Line(
            limit: AdaptiveLimit(range, rest: limit.rest, target: limit.target, interval: limit.interval),
            lastSeen: now
        )
    }

    private mutating func forgetIdle(at now: Instant) {
        // There may be ten thousand applications. They are searched once a second, not at every turn.
        if let lastLook, now - lastLook < .seconds(1) { return }
        lastLook = now
        lines = lines.filter { $0.value.held > 0 || $0.value.waiting > 0 || now - $0.value.lastSeen < Self.memory }
    }
}

extension WaitingRoom.Arrival: Equatable where Waiter: Equatable {}
