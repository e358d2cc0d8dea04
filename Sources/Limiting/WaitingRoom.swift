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

/// A queue that decides which operations may run at the same time, and which wait or are refused.
///
/// A running operation holds a place. The number of places is limited, and so is the number of waiting operations
/// (waiters).
///
/// The queue is fair between applications and sources. Each application has a line of waiters. The lines are served in
/// turn, and no waiter waits beyond its deadline. Within a line, the sources of requests take turns in the same way.
///
/// If the queue is full, a new waiter replaces the last waiter of the application or source with the most waiters. A
/// source that sends too many requests thus delays only its own requests, and some of these are refused.
///
/// The number of places adapts to how long operations take (`AdaptiveLimit`), in total and for each application. With
/// `sparesPlaces`, an application that is alone gets only three quarters of the places, so that another application
/// finds one. While there are other applications, the limit of an application with slow writes shrinks. A locked table
/// thus blocks few connections, and other applications continue.
///
/// This type reads no clock and resumes no waiter: the caller passes the time, and gets back each waiter whose turn has
/// come.
struct WaitingRoom<Waiter: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Arrival {
        case admitted
        case waiting
        /// The new operation waits in place of another waiter, which is removed from the queue and must be refused.
        case waitingInstead(of: Waiter)
        /// The queue was full, and the operation was refused.
        case refused
    }

    private struct Line: Sendable {
        var held = 0
        /// The application's waiting operations, in one queue for each source.
        ///
        /// The key nil stands for all unknown sources. A source without waiting operations has no entry.
        var queues: [String?: Deque<(waiter: Waiter, until: Instant)>] = [:]
        /// The sources that have waiters, each once, in the order of their turns.
        var sources: Deque<String?> = []
        var waiting = 0
        /// The maximum number of running operations of the application while other applications use the queue.
        ///
        /// It adapts to how long the operations take.
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
    /// The limit on the running operations of one application is at least this number, even if its writes are slow.
    ///
    /// The limit applies only while there are other applications.
    private let minOfOne: Int
    /// Whether an application may hold at most three quarters of the places for running operations.
    ///
    /// If true, an application that arrives later finds a place at once, even if another one was alone before.
    private let sparesPlaces: Bool
    /// How long an operation waits for its turn if the caller gives no deadline.
    private let timeout: Duration
    /// The maximum number of operations that wait in the queue.
    private let max: Int

    private(set) var held = 0
    private(set) var waiting = 0
    /// For each application, its waiting operations and its limit.
    ///
    /// An application stays in the table for some seconds after its last operation.
    private var lines: [ApplicationID: Line] = [:]
    /// The applications that have waiters, each once, in the order of their turns.
    private var turns: Deque<ApplicationID> = []

    var applicationsWaiting: some Sequence<ApplicationID> { turns }

    private var lastLook: Instant?

    /// How long the queue remembers an application and its adapted limit after the last request of the application.
    static var memory: Duration { .seconds(10) }

    init(limit: AdaptiveLimit, minOfOne: Int, sparesPlaces: Bool = true, timeout: Duration, max: Int) {
        self.limit = limit
        self.minOfOne = minOfOne
        self.sparesPlaces = sparesPlaces
        self.timeout = timeout
        self.max = max
    }

    /// Returns how many operations an application may run at the same time.
    private func places(of line: Line) -> Int {
        let largest = sparesPlaces ? Swift.max(limit.limit - limit.limit / 4, 1) : limit.limit
        return lines.count > 1 ? min(line.limit.limit, largest) : largest
    }

    func held(by application: ApplicationID) -> Int { lines[application]?.held ?? 0 }

    /// Takes a place for an operation if one is free and the application has no waiting operations.
    ///
    /// - Returns: Whether the operation may run now.
    mutating func enter(_ application: ApplicationID, at now: Instant) -> Bool {
        see(application, at: now)
        guard let line = lines[application], held < limit.limit, line.held < places(of: line), line.waiting == 0
        else { return false }
        take(application)
        return true
    }

    /// Takes a place for an operation, or puts the operation into the queue.
    ///
    /// - Parameters:
    ///   - waiter: A value for the waiting operation. The caller gets it back when the operation may run, or must be
    ///     refused.
    ///   - application: The application of the operation.
    ///   - source: The source of the request; nil if unknown.
    ///   - until: The deadline of the wait; nil for the timeout of the queue.
    ///   - now: The current time.
    /// - Returns: Whether the operation may run now, waits or is refused.
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

    /// Removes and returns a waiter from the full queue to make room for a new one; nil if the new one must be refused.
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

    /// Gives back the place of an operation that has ended, and gives free places to waiting operations.
    ///
    /// - Parameters:
    ///   - application: The application that held the place.
    ///   - took: How long the place was held.
    ///   - now: The current time.
    /// - Returns: The waiters whose turn has come. Each of them now holds a place, so its operation may run.
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
