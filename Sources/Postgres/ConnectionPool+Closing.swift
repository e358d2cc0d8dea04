/// The methods that close connections and notify the callers that use them.
extension ConnectionPool {
    /// Marks a connection for closing, because of an error that the server returned.
    ///
    /// A pipelined connection takes no more statements, and closes once it is idle. A leased connection closes when its
    /// lease is returned. The error 25006 on a pipelined connection means that the server has become a standby, which
    /// refuses writes. The pool then also closes all other connections that are not leased, so that their replacements
    /// may connect to another server.
    func retire(_ connection: Connection, slot index: Int, because error: PostgresError) {
        connection.isRetiring = true
        guard index < pipelined else { return }
        _ = dispatch.retire(lane: index)
        guard error.sqlState == "25006" else { return }
        for other in 0..<pipelined where other != index {
            guard case .open(let connection) = slots[other] else { continue }
            connection.isRetiring = true
            if dispatch.retire(lane: other), !connection.isBusy { closeSlot(other) }
        }
        for place in 0..<exclusive { perform(leases.retireIfIdle(place: place)) }
        listenElsewhere()
    }

    /// Marks a pipelined connection for replacement, since its server process has cached too much data of discarded
    /// statements.
    ///
    /// The connection is closed once it is idle. Only one connection is replaced at a time: the method does nothing
    /// unless all pipelined connections are open and take statements.
    func renew(_ connection: Connection, slot index: Int) {
        guard index < pipelined, !connection.isRetiring, dispatch.open == pipelined else { return }
        connection.isRetiring = true
        _ = dispatch.retire(lane: index)
    }

    /// Closes a connection that has broken, and counts it as lost.
    func lose(_ index: Int) {
        guard case .open(let connection) = slots[index] else { return }
        counters.connectionsLost += 1
        gate.lost(age: now - connection.since, now: now, chance: .random(in: 0...1))
        closeSlot(index)
    }

    /// Closes the connection at an index of `slots`, and notifies the state machine that uses the connection.
    ///
    /// Callers that still wait for a response on the connection get an error. The error tells whether their statements
    /// may have had an effect.
    func closeSlot(_ index: Int) {
        var orphans: [Connection.Pipeline.Orphan] = []
        switch slots[index] {
        case .vacant, .wanted: break
        case .connecting(let attempt):
            abandon(attempt)
            gate.withdrawn()
        case .open(let connection):
            loop.poller.remove(connection.socket)
            orphans = connection.orphans()
        }
        var isRunning = false
        if case .running = life { isRunning = true }
        switch owner(of: index) {
        case .lane(let lane):
            slots[index] = isRunning ? .wanted : .vacant
            dispatch.closed(lane: lane)
        case .place(let place):
            slots[index] = .vacant
            endCleaning(index)
            perform(leases.lost(place: place))
        case .listener(let listener):
            slots[index] = isRunning && listeners[listener] != nil ? .wanted : .vacant
            listeners[listener]?.machine.lost()
        }
        for orphan in orphans where orphan.request.origin == .caller {
            let outcome: Connection.Pipeline.Outcome = orphan.refusal.map { .failure($0) } ?? .nothing
            answer(orphan.request, result(of: outcome, orphan.request))
        }
    }
}
