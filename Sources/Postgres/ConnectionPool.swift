/// The actor that owns every connection and carries out the decisions of the state machines.
///
/// The actor runs only on the thread of its ``EventLoop``. Callers post statements as messages, and the loop delivers
/// the messages in bulk at each turn. If each statement were a call of the actor, it would switch executors twice.
actor ConnectionPool {
    /// The state of an element of `slots`, which holds at most one connection.
    ///
    /// In `slots`, pipelined connections come first, then exclusive connections, then those for notifications.
    enum Slot {
        case vacant
        /// A connection is to be opened as soon as ``ReconnectGate`` permits.
        case wanted
        case connecting(ConnectionAttempt)
        case open(Connection)
    }

    /// The part of the pool that uses the connection at an index of `slots`.
    ///
    /// A *lane* is a connection for pipelined statements, a *place* one that callers lease, and a *listener* one for a
    /// stream of notifications. The number counts the connections of the same kind from 0.
    enum Owner {
        case lane(Int)
        case place(Int)
        case listener(Int)
    }

    /// The stage of the pool's life, from its creation to the end of its shutdown.
    enum Life {
        /// ``PostgresClient/run()`` has not been called yet. Can transition to: running, closed.
        case created
        /// The pool opens connections and runs statements. Can transition to: draining.
        case running
        /// The pool shuts down. It waits for the responses to statements that were sent, but at most until `until`. Can
        /// transition to: closed.
        case draining(until: ContinuousClock.Instant)
        case closed
    }

    nonisolated let loop: EventLoop
    nonisolated let configuration: PostgresConfiguration

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let pipelined: Int
    let exclusive: Int
    var slots: [Slot]
    var dispatch: DispatchStateMachine<Request>
    var leases: LeaseStateMachine<LeaseRequest>
    /// The streams of notifications.
    ///
    /// When a stream ends, its element becomes nil, until a new stream reuses the index.
    var listeners: [Listener?] = []
    var gate = ReconnectGate()
    var life = Life.created
    var runners: [Continuation<Void>] = []
    var parameters = ParameterBuffer()
    /// The sessions that are being cleaned after a lease, by the connection's index in `slots`.
    var cleanings: [Int: Cleaning] = [:]
    /// For each host whose name is being resolved, the connections that wait for its addresses.
    ///
    /// The key is the host's index, and the value has the connections' indices in `slots`. At most one thread resolves
    /// each host.
    var resolutions: [Int: Set<Int>] = [:]
    /// The index of the host to which the last successful attempt connected.
    ///
    /// The next attempt tries this host first.
    var preferredHost = 0
    var counters = PostgresStatus()
    /// The reason why the latest attempt to connect failed.
    var lastFailure: ConnectFailure?
    /// The time when the current turn of the event loop began.
    var now = ContinuousClock.now

    private var lastTag: UInt64 = 0

    private init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
        loop = EventLoop()
        pipelined = min(max(1, configuration.pipelinedConnections), 100)
        exclusive = min(max(1, configuration.exclusiveConnections), 100)
        slots = Array(repeating: .vacant, count: pipelined + exclusive)
        dispatch = DispatchStateMachine(
            lanes: pipelined,
            depth: max(1, configuration.pipelineDepth),
            maxWaiting: max(1, configuration.maxQueued)
        )
        leases = LeaseStateMachine(places: exclusive, maxWaiting: max(1, configuration.maxQueued))
    }

    /// Creates a pool and starts the thread of its event loop.
    ///
    /// The pool opens no connection yet.
    static func start(_ configuration: PostgresConfiguration) -> ConnectionPool {
        let pool = ConnectionPool(configuration)
        pool.loop.start(pool)
        return pool
    }

    /// Closes all connections on the thread of the event loop.
    ///
    /// A libpq connection must be closed on this thread. The deinitializer is isolated, since the last reference to the
    /// pool can be dropped on any thread.
    isolated deinit {
        for index in slots.indices { closeSlot(index) }
    }

    /// Posts a message to the event loop.
    nonisolated func post(_ message: PoolMessage) {
        loop.mailbox.post(message)
    }

    var status: PostgresStatus {
        var status = counters
        for (index, slot) in slots.enumerated() {
            guard case .open = slot else { continue }
            switch owner(of: index) {
            case .lane: status.pipelinedOpen += 1
            case .place: status.exclusiveOpen += 1
            case .listener: break
            }
        }
        status.listening = listeners.count { $0?.machine.isListening == true }
        status.leased = leases.leased
        status.queuedStatements = dispatch.waiting
        status.statementsInFlight = dispatch.inFlight
        status.queuedLeases = leases.waiting
        return status
    }

    /// Runs one turn of the loop: ready sockets first, then messages, then expired deadlines.
    ///
    /// - Returns: The time when the next turn is due if nothing happens before.
    func turn(events: [Poller.Event], messages: [PoolMessage]) -> ContinuousClock.Instant? {
        now = .now
        for event in events { handle(event) }
        for message in messages { handle(message) }
        sendWaiting()
        expire()
        openWanted()
        flush()
        finishDraining()
        return nextDeadline()
    }

    private func handle(_ message: PoolMessage) {
        switch message {
        case .run(let continuation): run(continuation)
        case .shutDown: shutDown()
        case .submit(let request): submit(request)
        case .cancel(let request): cancel(request)
        case .lease(let request): lease(request)
        case .cancelLease(let request): cancelLease(request)
        case .returned(let lease, let purpose, let continuation): returned(lease, purpose, continuation)
        case .listen(let subscription): listen(subscription)
        case .unlisten(let subscription): unlisten(subscription)
        case .resolved(let host, let resolution): resolved(host: host, resolution)
        }
    }

    private func handle(_ event: Poller.Event) {
        let index = Int(event.tag & 0xFFFF_FFFF)
        switch slots[index] {
        case .open(let connection) where connection.tag == event.tag:
            if event.isReadable { receive(connection, slot: index) }
            if event.isWritable, isOpen(connection, slot: index), !connection.flush(loop.poller) { lose(index) }
        case .connecting(let attempt) where attempt.tag == event.tag:
            advance(attempt)
        default:
            // The socket was closed earlier in this turn.
            break
        }
    }

    /// Whether the connection is still open; `slots` has it at this index until it is closed.
    func isOpen(_ connection: Connection, slot index: Int) -> Bool {
        guard case .open(let current) = slots[index] else { return false }
        return current === connection
    }

    /// Returns a new tag under which epoll reports a socket.
    ///
    /// The tag was never used before. Its lower 32 bits are the connection's index in `slots`.
    func nextTag(slot: Int) -> UInt64 {
        lastTag += 1
        return lastTag << 32 | UInt64(slot)
    }

    func owner(of slot: Int) -> Owner {
        if slot < pipelined { return .lane(slot) }
        if slot < pipelined + exclusive { return .place(slot - pipelined) }
        return .listener(slot - pipelined - exclusive)
    }

    func slot(ofListener index: Int) -> Int { pipelined + exclusive + index }

    private func flush() {
        for index in slots.indices {
            guard case .open(let connection) = slots[index], connection.needsFlush else { continue }
            if !connection.flush(loop.poller) { lose(index) }
        }
    }

    /// The maximum wait for the response to the oldest request in flight on a connection; nil if there is no limit.
    var replyLimit: Duration? {
        configuration.statementTimeout > .zero ? configuration.statementTimeout + .seconds(1) : nil
    }

    private func expire() {
        if let deadline = dispatch.nextDeadline, deadline <= now {
            let (requests, reason) = dispatch.expire(now: now)
            for request in requests {
                answer(request, .failure(reason == .unavailable ? .unavailable(lastFailure) : .leaseTimeout))
            }
        }
        if let deadline = leases.nextDeadline, deadline <= now { perform(leases.expire(now: now)) }
        expireListeners()
        for index in slots.indices {
            switch slots[index] {
            case .connecting(let attempt) where attempt.deadline <= now:
                tryNextHost(
                    attempt,
                    after: ConnectFailure(text: "connecting to \(attempt.host.name) took too long")
                )
            case .open(let connection) where connection.isBusy && connection.isWatched:
                if let limit = replyLimit, connection.oldestSince + limit <= now { lose(index) }
            case .open, .connecting, .vacant, .wanted:
                break
            }
        }
    }

    private func nextDeadline() -> ContinuousClock.Instant? {
        var next: ContinuousClock.Instant?
        func consider(_ instant: ContinuousClock.Instant?) {
            guard let instant else { return }
            next = next.map { min($0, instant) } ?? instant
        }
        consider(dispatch.nextDeadline)
        consider(leases.nextDeadline)
        for listener in listeners { consider(listener?.machine.nextDeadline) }
        if case .draining(let until) = life { consider(until) }
        for slot in slots {
            switch slot {
            case .connecting(let attempt): consider(attempt.deadline)
            case .open(let connection):
                if let limit = replyLimit, connection.isBusy, connection.isWatched {
                    consider(connection.oldestSince + limit)
                }
            case .wanted: consider(gate.nextAttempt)
            case .vacant: break
            }
        }
        return next
    }
}
