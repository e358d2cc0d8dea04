/// Which pipelined connection a statement goes to, and which statements wait.
///
/// A *lane* is the place of one connection, counted from 0. Statements of an affinity keep to lanes of their own
/// (``LaneShares``) unless these are closed, full, held up, or busier than others by more than a plan is worth.
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
        /// Takes statements; was answered last, or began to work, at `progress`, and slowly if the last answer took
        /// longer than a stall. Can transition to: closed, retiring.
        case open(inFlight: Int, progress: ContinuousClock.Instant, isSlow: Bool)
        /// Takes no statements and is to be closed when it is empty. Can transition to: closed.
        case retiring(inFlight: Int)
    }

    private struct Waiting {
        let request: Request
        let affinity: Affinity?
        let deadline: ContinuousClock.Instant
    }

    /// A lane that has been working for this long without an answer is held up by a slow statement or a lock.
    ///
    /// So are those behind it: others are taken first, however loaded. So is a lane whose last answer took as long:
    /// where all statements are slow, each answer would otherwise draw everything that comes next onto its lane.
    private static var stall: Duration { .milliseconds(20) }

    /// So many more statements on the own lanes than on another one take longer than it takes that one to learn a new
    /// statement.
    private static var imbalance: Int { 8 }

    private let depth: Int
    private let maxWaiting: Int
    private var lanes: [Lane]
    private var shares: LaneShares
    private var queue = FIFO<Waiting>()
    private var isShutDown = false
    private(set) var inFlight = 0

    init(lanes: Int, depth: Int, maxWaiting: Int) {
        self.lanes = Array(repeating: .closed, count: lanes)
        shares = LaneShares(lanes: lanes)
        self.depth = depth
        self.maxWaiting = maxWaiting
    }

    var waiting: Int { queue.count }

    /// When the next statement that waits has to be given up.
    var nextDeadline: ContinuousClock.Instant? { queue.first?.deadline }

    /// A new statement.
    ///
    /// It may wait until `deadline`; later submissions must not have earlier deadlines.
    mutating func submit(
        _ request: Request,
        near affinity: Affinity? = nil,
        deadline: ContinuousClock.Instant,
        now: ContinuousClock.Instant
    ) -> Submission {
        if isShutDown { return .shutDown }
        if let affinity { shares.note(affinity) }
        if queue.isEmpty, let lane = lane(for: affinity, now: now) {
            take(lane, now: now)
            return .send(lane: lane)
        }
        guard queue.count < maxWaiting else { return .overloaded }
        queue.append(Waiting(request: request, affinity: affinity, deadline: deadline))
        return .wait
    }

    /// The lane could not send the statement after all, and nothing of it has left: it waits again, before all others.
    mutating func returned(
        _ request: Request,
        near affinity: Affinity? = nil,
        deadline: ContinuousClock.Instant,
        from lane: Int
    ) {
        release(lane, now: nil)
        queue.prepend(Waiting(request: request, affinity: affinity, deadline: deadline))
    }

    /// A statement on the lane has been answered.
    mutating func completed(lane: Int, now: ContinuousClock.Instant) {
        release(lane, now: now)
    }

    mutating func opened(lane: Int, now: ContinuousClock.Instant) {
        lanes[lane] = .open(inFlight: 0, progress: now, isSlow: false)
    }

    /// The lane shall take no more statements.
    ///
    /// True if it is empty and can be closed at once.
    mutating func retire(lane: Int) -> Bool {
        guard case .open(let count, _, _) = lanes[lane] else { return false }
        lanes[lane] = .retiring(inFlight: count)
        return count == 0
    }

    mutating func closed(lane: Int) {
        switch lanes[lane] {
        case .closed: break
        case .open(let count, _, _), .retiring(let count): inFlight -= count
        }
        lanes[lane] = .closed
    }

    /// The next statement that waits and the lane that has room for it.
    mutating func next(
        now: ContinuousClock.Instant
    ) -> (request: Request, deadline: ContinuousClock.Instant, lane: Int)? {
        guard let first = queue.first, let lane = lane(for: first.affinity, now: now), let waiting = queue.popFirst()
        else { return nil }
        take(lane, now: now)
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
        return (expired, open > 0 ? .busy : .unavailable)
    }

    /// From now on every statement is refused.
    ///
    /// Returns those that waited.
    mutating func shutDown() -> [Request] {
        isShutDown = true
        return queue.removeAll().map(\.request)
    }

    /// The number of lanes that take statements.
    var open: Int {
        lanes.count { lane in
            guard case .open = lane else { return false }
            return true
        }
    }

    /// The open lane with the fewest statements in flight that is not held up, the first of equals; among the own ones
    /// of the affinity if that is not much worse.
    ///
    /// At low load one connection does all the work, keeps its prepared statements warm and saves wake-ups.
    private func lane(for affinity: Affinity?, now: ContinuousClock.Instant) -> Int? {
        guard let affinity else { return leastLoaded(now: now) { $0 }?.lane }
        let width = shares.width(of: affinity)
        func distance(_ lane: Int) -> Int { shares.distance(of: lane, from: affinity) }
        guard let best = leastLoaded(now: now, distance) else { return nil }
        guard let own = leastLoaded(now: now, { distance($0) < width ? distance($0) : nil }),
            best.isStalled || !own.isStalled, own.count <= best.count + Self.imbalance
        else { return best.lane }
        return own.lane
    }

    /// The best of the lanes that have a rank; of equals the one with the lowest.
    private func leastLoaded(
        now: ContinuousClock.Instant,
        _ rank: (Int) -> Int?
    ) -> (lane: Int, isStalled: Bool, count: Int)? {
        var best: (lane: Int, isStalled: Bool, count: Int, rank: Int)?
        for (index, lane) in lanes.enumerated() {
            guard case .open(let count, let progress, let isSlow) = lane, count < depth, let rank = rank(index) else {
                continue
            }
            let isStalled = count > 0 && (isSlow || progress + Self.stall < now)
            if let best, (best.isStalled ? 1 : 0, best.count, best.rank) <= (isStalled ? 1 : 0, count, rank) {
                continue
            }
            best = (index, isStalled, count, rank)
        }
        return best.map { ($0.lane, $0.isStalled, $0.count) }
    }

    private mutating func take(_ lane: Int, now: ContinuousClock.Instant) {
        guard case .open(let count, let progress, let isSlow) = lanes[lane] else { return }
        lanes[lane] = .open(inFlight: count + 1, progress: count == 0 ? now : progress, isSlow: isSlow)
        inFlight += 1
    }

    private mutating func release(_ lane: Int, now: ContinuousClock.Instant?) {
        switch lanes[lane] {
        case .closed: return
        case .open(let count, let progress, let isSlow):
            let slow = now.map { progress + Self.stall < $0 } ?? isSlow
            lanes[lane] = .open(inFlight: count - 1, progress: now ?? progress, isSlow: slow)
        case .retiring(let count): lanes[lane] = .retiring(inFlight: count - 1)
        }
        inFlight -= 1
    }
}
