/// Assigns statements to pipelined connections, and keeps the queue of waiting statements.
///
/// A *lane* is the position of one pipelined connection, counted from 0. Each ``Affinity`` (a group of statements about
/// the same tables) has some lanes of its own; ``LaneShares`` decides how many. Its statements use another lane only if
/// its own lanes are closed, full, stalled or much busier. If they are much busier, planning the statement anew on the
/// other lane takes less time than waiting.
struct DispatchStateMachine<Request> {
    /// The decision about a new statement.
    enum Submission: Hashable {
        case send(lane: Int)
        case wait
        case overloaded
        case shutDown
    }

    /// The reason why no connection took a statement before its deadline.
    enum Expiry: Hashable {
        /// No lane was open.
        case unavailable
        /// All open lanes were full.
        case busy
    }

    /// The state of a lane, the position of one pipelined connection.
    private enum Lane {
        /// No connection. Can transition to: open.
        case closed
        /// Takes statements. `progress` is the time of the last response, or of the first statement on an idle lane.
        /// `isSlow` tells that the last response took longer than `stall`. Can transition to: closed, retiring.
        case open(inFlight: Int, progress: ContinuousClock.Instant, isSlow: Bool)
        /// Takes no statements and is closed once it is empty. Can transition to: closed.
        case retiring(inFlight: Int)
    }

    private struct Waiting {
        let request: Request
        let affinity: Affinity?
        let deadline: ContinuousClock.Instant
    }

    /// The time without a response after which a pipelined connection with statements in flight counts as stalled.
    ///
    /// A slow statement, or one that waits for a lock, delays all statements behind it. So new statements go to
    /// connections that are not stalled, even if more statements are in flight there. A connection also counts as
    /// stalled if its last response took longer than this time. Otherwise, when all statements are slow, the connection
    /// of the latest response would get all new statements.
    private static var stall: Duration { .milliseconds(20) }

    /// The largest accepted difference in load between an affinity's own connection and the least loaded connection.
    ///
    /// The load is the number of statements in flight. If the difference is larger, a new statement goes to the least
    /// loaded connection: planning it anew there takes less time than waiting.
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

    /// The deadline of the first statement in the queue.
    var nextDeadline: ContinuousClock.Instant? { queue.first?.deadline }

    /// Submits a new statement.
    ///
    /// The statement may wait until `deadline`. Later submissions must not have earlier deadlines.
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

    /// Puts a statement back at the front of the queue.
    ///
    /// The statement's connection was lost before any part of the statement was sent.
    mutating func returned(
        _ request: Request,
        near affinity: Affinity? = nil,
        deadline: ContinuousClock.Instant,
        from lane: Int
    ) {
        release(lane, now: nil)
        queue.prepend(Waiting(request: request, affinity: affinity, deadline: deadline))
    }

    /// Records that the server has answered a statement on a lane (a pipelined connection), which may now take another
    /// one.
    mutating func completed(lane: Int, now: ContinuousClock.Instant) {
        release(lane, now: now)
    }

    mutating func opened(lane: Int, now: ContinuousClock.Instant) {
        lanes[lane] = .open(inFlight: 0, progress: now, isSlow: false)
    }

    /// Assigns no more statements to a lane (a pipelined connection).
    ///
    /// Returns true if no statement is in flight on the lane. Its connection can then be closed immediately.
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

    /// Removes the next statement from the queue, and returns it with the lane (pipelined connection) to send it on.
    ///
    /// Nil if the queue is empty or no lane can take the statement.
    mutating func next(
        now: ContinuousClock.Instant
    ) -> (request: Request, deadline: ContinuousClock.Instant, lane: Int)? {
        guard let first = queue.first, let lane = lane(for: first.affinity, now: now), let waiting = queue.popFirst()
        else { return nil }
        take(lane, now: now)
        return (waiting.request, waiting.deadline, lane)
    }

    /// Removes a statement from the queue.
    ///
    /// Returns false if the statement is not in the queue (any more).
    mutating func cancel(where matches: (Request) -> Bool) -> Bool {
        queue.remove(where: { matches($0.request) }) != nil
    }

    /// Removes from the queue all statements whose deadline has passed, and returns them with the reason.
    mutating func expire(now: ContinuousClock.Instant) -> (requests: [Request], reason: Expiry) {
        var expired: [Request] = []
        while let first = queue.first, first.deadline <= now, let waiting = queue.popFirst() {
            expired.append(waiting.request)
        }
        return (expired, open > 0 ? .busy : .unavailable)
    }

    /// Refuses all statements from now on.
    ///
    /// Returns the statements in the queue.
    mutating func shutDown() -> [Request] {
        isShutDown = true
        return queue.removeAll().map(\.request)
    }

    /// The number of lanes (pipelined connections) that take statements.
    var open: Int {
        lanes.count { lane in
            guard case .open = lane else { return false }
            return true
        }
    }

    /// Chooses the lane (pipelined connection) for a statement; nil if no open lane has room.
    ///
    /// The best lane is not stalled, and has the fewest statements in flight; among equal lanes, the first is the best.
    /// So at low load one connection does all the work: the server has its prepared statements cached, and fewer
    /// threads must be woken. A lane of the statement's affinity is chosen even if it is not the best, unless it is
    /// stalled or much busier than the best.
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

    /// Returns the best of the lanes (pipelined connections) that have room, except those for which `rank` returns nil.
    ///
    /// Lanes that are not stalled are better, then lanes with fewer statements in flight, then lanes of a lower rank.
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
