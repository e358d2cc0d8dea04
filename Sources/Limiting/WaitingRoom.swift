import DequeModule
import Vocabulary

/// Whose turn it is at the database: so many at once as it takes, the others waiting in a line for each application, of
/// which one after the other is served, and nobody for longer than makes sense.
///
/// How many it takes is found by how long each took (`AdaptiveLimit`), in all and for each application. One that is
/// alone has three quarters of the places, so whoever else comes finds one. Beside others, one whose writes are slow
/// shrinks by itself: a table that somebody has locked holds up few connections, and the others go on.
///
/// Pure; whoever waits is a value that the caller knows, and gets back.
struct WaitingRoom<Waiter: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Arrival {
        case admitted
        case waiting
        /// No room to wait.
        case refused
    }

    private struct Line: Sendable {
        var held = 0
        var waiting: Deque<(waiter: Waiter, until: Instant)> = []
        /// Of this application beside others.
        var limit: AdaptiveLimit
        var lastSeen: Instant
    }

    private(set) var limit: AdaptiveLimit
    /// Places that an application has beside others, however slow its writes.
    private let fewestOfOne: Int
    /// How long somebody waits at most.
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

    init(limit: AdaptiveLimit, fewestOfOne: Int, patience: Duration, most: Int) {
        self.limit = limit
        self.fewestOfOne = fewestOfOne
        self.patience = patience
        self.most = most
    }

    /// How many places an application may hold.
    private func places(of line: Line) -> Int {
        let largest = max(limit.limit - limit.limit / 4, 1)
        return lines.count > 1 ? min(line.limit.limit, largest) : largest
    }

    /// Takes a place if one is free and nobody of the application waits for it.
    mutating func enter(_ application: ApplicationID, at now: Instant) -> Bool {
        see(application, at: now)
        guard let line = lines[application], held < limit.limit, line.held < places(of: line), line.waiting.isEmpty
        else { return false }
        take(application)
        return true
    }

    /// Takes a place or waits for one.
    mutating func arrive(_ waiter: Waiter, of application: ApplicationID, at now: Instant) -> Arrival {
        if enter(application, at: now) { return .admitted }
        guard let line = lines[application] else { return .refused }
        limit.note(underWay: held)
        lines[application]?.limit.note(underWay: line.held)
        guard waiting < most else { return .refused }
        if line.waiting.isEmpty { turns.append(application) }
        let until = now + patience
        lines[application]?.waiting.append((waiter, until))
        waiting += 1
        return .waiting
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
            while let first = lines[application]?.waiting.first, first.until <= now {
                lines[application]?.waiting.removeFirst()
                waiting -= 1
                expired.append(first.waiter)
            }
        }
        turns.removeAll { lines[$0]?.waiting.isEmpty ?? true }
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
            guard let next = lines[application]?.waiting.popFirst() else { continue }
            passedOver = 0
            waiting -= 1
            take(application)
            served.append(next.waiter)
            if line.waiting.count > 1 { turns.append(application) }
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
        lines = lines.filter { $0.value.held > 0 || !$0.value.waiting.isEmpty || now - $0.value.lastSeen < Self.memory }
    }
}
