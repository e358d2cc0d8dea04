/// Which pipelined connection a statement goes to, and which statements wait.
///
/// A *lane* is the place of one connection, counted from 0.
struct DispatchStateMachine<Request> {
    /// What becomes of a new statement.
    enum Submission: Hashable {
        case send(lane: Int)
        case wait
        case overloaded
        case shutDown
    }

    /// Why a statement that waited was given up.
    enum Expiry: Hashable {
        /// No lane was open.
        case unavailable
        /// Lanes were open, and full.
        case busy
    }

    /// Where a lane stands.
    private enum Lane {
        /// No connection. Can transition to: open.
        case closed
        /// Takes statements. Can transition to: closed, retiring.
        case open(inFlight: Int)
        /// Takes no statements and is to be closed when it is empty. Can transition to: closed.
        case retiring(inFlight: Int)
    }

    private struct Waiting {
        let request: Request
        let deadline: ContinuousClock.Instant
    }

    private let depth: Int
    private let maxWaiting: Int
    private var lanes: [Lane]
    private var queue = FIFO<Waiting>()
    private var isShutDown = false
    private(set) var inFlight = 0

    init(lanes: Int, depth: Int, maxWaiting: Int) {
        self.lanes = Array(repeating: .closed, count: lanes)
        self.depth = depth
        self.maxWaiting = maxWaiting
    }

    var waiting: Int { queue.count }

    /// When the next statement that waits has to be given up.
    var nextDeadline: ContinuousClock.Instant? { queue.first?.deadline }

    /// A new statement.
    ///
    /// It may wait until `deadline`; later submissions must not have earlier deadlines.
    mutating func submit(_ request: Request, deadline: ContinuousClock.Instant) -> Submission {
        if isShutDown { return .shutDown }
        if queue.isEmpty, let lane = leastLoaded() {
            take(lane)
            return .send(lane: lane)
        }
        guard queue.count < maxWaiting else { return .overloaded }
        queue.append(Waiting(request: request, deadline: deadline))
        return .wait
    }

    /// The lane could not send the statement after all, and nothing of it has left: it waits again, before all others.
    mutating func returned(_ request: Request, deadline: ContinuousClock.Instant, from lane: Int) {
        release(lane)
        queue.prepend(Waiting(request: request, deadline: deadline))
    }

    /// A statement on the lane has been answered.
    mutating func completed(lane: Int) {
        release(lane)
    }

    mutating func opened(lane: Int) {
        lanes[lane] = .open(inFlight: 0)
    }

    /// The lane shall take no more statements.
    ///
    /// True if it is empty and can be closed at once.
    mutating func retire(lane: Int) -> Bool {
        guard case .open(let count) = lanes[lane] else { return false }
        lanes[lane] = .retiring(inFlight: count)
        return count == 0
    }

    mutating func closed(lane: Int) {
        switch lanes[lane] {
        case .closed: break
        case .open(let count), .retiring(let count): inFlight -= count
        }
        lanes[lane] = .closed
    }

    /// The next statement that waits and the lane that has room for it.
    mutating func next() -> (request: Request, deadline: ContinuousClock.Instant, lane: Int)? {
        guard !queue.isEmpty, let lane = leastLoaded(), let waiting = queue.popFirst() else { return nil }
        take(lane)
        return (waiting.request, waiting.deadline, lane)
    }

    /// Removes a statement that waits.
    ///
    /// False if it does not wait (any more).
    mutating func cancel(where matches: (Request) -> Bool) -> Bool {
        queue.remove(where: { matches($0.request) }) != nil
    }

    /// All statements that have waited for too long, and why.
    mutating func expire(now: ContinuousClock.Instant) -> (requests: [Request], reason: Expiry) {
        var expired: [Request] = []
        while let first = queue.first, first.deadline <= now, let waiting = queue.popFirst() {
            expired.append(waiting.request)
        }
        return (expired, isAnyOpen ? .busy : .unavailable)
    }

    /// From now on every statement is refused.
    ///
    /// Returns those that waited.
    mutating func shutDown() -> [Request] {
        isShutDown = true
        return queue.removeAll().map(\.request)
    }

    private var isAnyOpen: Bool {
        lanes.contains { lane in
            guard case .open = lane else { return false }
            return true
        }
    }

    /// The open lane with the fewest statements in flight, the first of equals: at low load one connection does all
    /// the work, keeps its prepared statements warm and saves wake-ups.
    private func leastLoaded() -> Int? {
        var best: (lane: Int, count: Int)?
        for (index, lane) in lanes.enumerated() {
            guard case .open(let count) = lane, count < depth, count < best?.count ?? .max else { continue }
            best = (index, count)
        }
        return best?.lane
    }

    private mutating func take(_ lane: Int) {
        guard case .open(let count) = lanes[lane] else { return }
        lanes[lane] = .open(inFlight: count + 1)
        inFlight += 1
    }

    private mutating func release(_ lane: Int) {
        switch lanes[lane] {
        case .closed: return
        case .open(let count): lanes[lane] = .open(inFlight: count - 1)
        case .retiring(let count): lanes[lane] = .retiring(inFlight: count - 1)
        }
        inFlight -= 1
    }
}
