import DequeModule
import Vocabulary

/// What comes of waiting for a turn.
enum Turn {
    case come
    /// There was no room to wait.
    case noRoom
    /// The turn did not come in time.
    case missed
}

/// Whose turn it is at something that does a bounded number at once.
///
/// The others wait in a line for each application, of which one after the other is served, and nobody for longer than
/// makes sense. Within a line, the sources of requests take turns in the same way.
///
/// Where the room is full, whoever has fewest waiting takes the place of the last one of whoever has most: a source
/// that sends more than is done makes its own requests wait and be refused, and then those of nobody else.
///
/// How many are served at once is found by how long each took (`AdaptiveLimit`), in all and for each application. One
/// that is alone has three quarters of the places where places are spared, so whoever else comes finds one. Beside
/// others, one whose writes are slow shrinks by itself: a table that somebody has locked holds up few connections, and
/// the others go on.
///
/// Pure; whoever waits is a value that the caller knows, and gets back.
struct WaitingRoom<Waiter: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Arrival {
        case admitted
        case waiting
        /// In the place of somebody who waits no more.
        case waitingInstead(of: Waiter)
        /// No room to wait.
        case refused
    }

    private struct Line: Sendable {
        var held = 0
        /// Who waits, by source, nil being that of all that is not known; no queue is empty.
        var queues: [String?: Deque<(waiter: Waiter, until: Instant)>] = [:]
        /// The sources of which somebody waits, each once, in the order in which they are served.
        var sources: Deque<String?> = []
        var waiting = 0
        /// Of this application beside others.
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

        /// The first of the source whose turn it is.
        mutating func popFirst() -> Waiter? {
            guard let source = sources.popFirst(), let first = queues[source]?.popFirst() else { return nil }
            waiting -= 1
            if queues[source]?.isEmpty ?? true { queues[source] = nil } else { sources.append(source) }
            return first.waiter
        }

        /// The source of which most wait.
        var longest: (source: String?, waiting: Int)? {
            queues.max { $0.value.count < $1.value.count }.map { ($0.key, $0.value.count) }
        }

        /// The last of a source.
        mutating func popLast(of source: String?) -> Waiter? {
            guard let last = queues[source]?.popLast() else { return nil }
            waiting -= 1
            forgetEmptyQueues()
            return last.waiter
        }

        /// Those who wait no longer.
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
    /// Places that an application has beside others, however slow its writes.
    private let fewestOfOne: Int
    /// Whether an application that is alone leaves a quarter of the places free, for whoever comes.
    private let sparesPlaces: Bool
    /// How long somebody waits at most who says nothing of it.
    private let patience: Duration
    /// How many wait at most.
    private let most: Int

    private(set) var held = 0
    private(set) var waiting = 0
    /// The applications that were here of late.
    private var lines: [ApplicationID: Line] = [:]
    /// The applications of which somebody waits, each once, in the order in which they are served.
    private var turns: Deque<ApplicationID> = []

    /// The applications of which somebody waits.
    var applicationsWaiting: some Sequence<ApplicationID> { turns }

    private var lastLook: Instant?

    /// How long an application is remembered, with what is known of its writes.
    static var memory: Duration { .seconds(10) }

    init(limit: AdaptiveLimit, fewestOfOne: Int, sparesPlaces: Bool = true, patience: Duration, most: Int) {
        self.limit = limit
        self.fewestOfOne = fewestOfOne
        self.sparesPlaces = sparesPlaces
        self.patience = patience
        self.most = most
    }

    /// How many places an application may hold.
    private func places(of line: Line) -> Int {
        let largest = sparesPlaces ? max(limit.limit - limit.limit / 4, 1) : limit.limit
        return lines.count > 1 ? min(line.limit.limit, largest) : largest
    }

    /// Places that an application holds.
    func held(by application: ApplicationID) -> Int { lines[application]?.held ?? 0 }

    /// Takes a place if one is free and nobody of the application waits for it.
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
    ///   - waiter: Whom the caller gets back.
    ///   - application: Whose place it would be.
    ///   - source: Where the request comes from; nil where that is not known.
    ///   - until: When it waits no longer; nil: as long as everybody.
    ///   - now: The moment.
    /// - Returns: What comes of it.
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

    /// Sends the last one away of whoever has at least two more waiting than who comes; nil where nobody has.
    ///
    /// First an application that has, then a source of the same application.
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

    /// Gives a place back.
    ///
    /// - Parameters:
    ///   - application: Whose it was.
    ///   - took: How long it was held.
    ///   - now: The moment.
    /// - Returns: Those whose turn it is now; each holds a place.
    mutating func leave(_ application: ApplicationID, took: Duration, at now: Instant) -> [Waiter] {
        held -= 1
        lines[application]?.held -= 1
        limit.observe(took, at: now)
        lines[application]?.limit.observe(took, at: now)
        return serve()
    }

    /// Those who have waited for too long; they are not served any more.
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
        // Ten thousand applications are not looked through at every turn.
        if let lastLook, now - lastLook < .seconds(1) { return }
        lastLook = now
        lines = lines.filter { $0.value.held > 0 || $0.value.waiting > 0 || now - $0.value.lastSeen < Self.memory }
    }
}

extension WaitingRoom.Arrival: Equatable where Waiter: Equatable {}
