/// The way of a statement: to a connection, over it, and back to its caller.
extension ConnectionPool {
    func submit(_ request: Request) {
        if case .cancelled = request.place {
            request.finish(.failure(.cancelled))
            return
        }
        if let lease = request.lease {
            submit(request, under: lease)
            return
        }
        request.deadline = now + configuration.leaseTimeout
        switch dispatch.submit(request, deadline: request.deadline, now: now) {
        case .send(let lane): send(request, lane: lane)
        case .wait: request.place = .waiting
        case .overloaded: request.finish(.failure(.overloaded))
        case .shutDown: request.finish(.failure(.shutDown))
        }
    }

    private func submit(_ request: Request, under lease: Lease) {
        switch leases.isAlive(place: lease.place, serial: lease.serial) {
        case nil:
            request.finish(.failure(.leaseEnded))
        case false?:
            request.finish(.failure(.connectionLost(outcomeUnknown: false)))
        case true?:
            let index = pipelined + lease.place
            guard case .open(let connection) = slots[index] else {
                request.finish(.failure(.connectionLost(outcomeUnknown: false)))
                return
            }
            send(request, on: connection, slot: index)
        }
    }

    /// Sends the statements that wait, as far as there is room.
    func sendWaiting() {
        while let (request, _, lane) = dispatch.next(now: now) { send(request, lane: lane) }
    }

    private func send(_ request: Request, lane: Int) {
        guard case .open(let connection) = slots[lane] else {
            // A lane is open only while its connection is.
            dispatch.returned(request, deadline: request.deadline, from: lane)
            request.place = .waiting
            return
        }
        send(request, on: connection, slot: lane)
    }

    func send(_ request: Request, on connection: Connection, slot index: Int) {
        switch connection.send(request, parameters: &parameters, now: now) {
        case .sent:
            request.place = .sent(slot: index)
        case .refused(let error):
            settle(request, .failure(error), slot: index)
        case .broken where index < pipelined:
            dispatch.returned(request, deadline: request.deadline, from: index)
            request.place = .waiting
            lose(index)
        case .broken:
            request.finish(.failure(.connectionLost(outcomeUnknown: false)))
            lose(index)
        case .brokenMidway:
            settle(request, .failure(.connectionLost(outcomeUnknown: !request.isInTransaction)), slot: index)
            lose(index)
        }
    }

    /// Gives the caller its answer, and the lane its room.
    private func settle(_ request: Request, _ outcome: Request.Outcome, slot index: Int) {
        switch request.origin {
        case .caller:
            if index < pipelined { dispatch.completed(lane: index, now: now) }
            request.finish(outcome)
        case .cleaning:
            cleaned(index, outcome)
        case .housekeeping:
            break
        }
    }

    /// Reads what the socket holds and answers the statements that are complete.
    func receive(_ connection: Connection, slot index: Int) {
        guard connection.fill() else {
            lose(index)
            return
        }
        while isOpen(connection, slot: index) {
            switch connection.next(now: now) {
            case .completion(let completion):
                complete(completion, on: connection, slot: index)
            case .script(let request, let outcome):
                settle(request, result(of: outcome, request), slot: index)
            case .nothing:
                // Somebody has begun a transaction on a connection that all share: it must not swallow the next ones.
                if index < pipelined, !connection.isBusy, !connection.isOutsideTransaction { lose(index) }
                return
            case .broken:
                lose(index)
            }
        }
    }

    private func complete(_ completion: Connection.Pipeline.Completion, on connection: Connection, slot index: Int) {
        let request = completion.request
        let result = result(of: completion.outcome, request)
        if case .failure(let error) = result, case .statement(let statement) = request.work {
            let isStale = isStale(error, request)
            if isStale || completion.failedToPrepare { connection.forget(statement) }
            // A shared connection is never inside a transaction, and what libpq says of it counts only while it rests.
            if isStale, !completion.isAbandoned, index < pipelined || connection.isOutsideTransaction {
                request.isUnnamed = true
                send(request, on: connection, slot: index)
                return
            }
            if error.handling == .dropConnection { retire(connection, slot: index, because: error) }
        }
        settle(request, result, slot: index)
        if connection.isRetiring, !connection.isBusy, index < pipelined, isOpen(connection, slot: index) {
            closeSlot(index)
        }
    }

    private func result(of outcome: Connection.Pipeline.Outcome, _ request: Request) -> Request.Outcome {
        switch outcome {
        case .success(let set): .success(set)
        case .failure(let set): .failure(error(of: set, request))
        case .nothing: .failure(.connectionLost(outcomeUnknown: !request.isInTransaction))
        }
    }

    /// Whether the server refused a plan that it had made earlier: it is gone (26000), or no longer gives the columns
    /// that it gave (0A000).
    ///
    /// Nothing was carried out then, and the statement as such may be right.
    private func isStale(_ error: PostgresError, _ request: Request) -> Bool {
        guard request.plan == .reused, let state = error.sqlState else { return false }
        return state == "26000" || state == "0A000"
    }

    private func error(of set: ResultSet, _ request: Request) -> PostgresError {
        guard let error = ServerError(set), !error.sqlState.endsSession else {
            return .connectionLost(outcomeUnknown: !request.isInTransaction)
        }
        return .server(error)
    }

    /// Lets the connection take no more statements.
    ///
    /// A server that has become a standby (25006) refuses writes on all of them: then all that belong to nobody go, as
    /// they come to rest, and the next ones look for another server.
    private func retire(_ connection: Connection, slot index: Int, because error: PostgresError) {
        connection.isRetiring = true
        guard index < pipelined else { return }
        _ = dispatch.retire(lane: index)
        guard error.sqlState == "25006" else { return }
        for other in 0..<pipelined where other != index {
            guard case .open(let connection) = slots[other] else { continue }
            connection.isRetiring = true
            if dispatch.retire(lane: other), !connection.isBusy { closeSlot(other) }
        }
        for place in 0..<(slots.count - pipelined) { perform(leases.retireIfIdle(place: place)) }
    }

    func cancel(_ request: Request) {
        switch request.place {
        case .outside:
            // Its submission is still to come, and with it the continuation.
            request.place = .cancelled
            return
        case .cancelled, .finished:
            return
        case .waiting:
            _ = dispatch.cancel { $0 === request }
        case .sent(let slot):
            if case .open(let connection) = slots[slot] { connection.abandon(request) }
        }
        // A slot on a lane stays taken until its reply has come and been dropped.
        request.finish(.failure(.cancelled))
    }

    /// The connection is gone, and nobody has asked for that.
    func lose(_ index: Int) {
        guard case .open(let connection) = slots[index] else { return }
        counters.connectionsLost += 1
        gate.lost(age: now - connection.since, now: now, chance: .random(in: 0...1))
        closeSlot(index)
    }

    /// Closes whatever is at the slot, and says so to the machine that it belongs to.
    ///
    /// Whoever still waits for an answer on it learns whether anything can have happened.
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
        slots[index] = index < pipelined && isRunning ? .wanted : .vacant
        if index < pipelined {
            dispatch.closed(lane: index)
        } else {
            endCleaning(index)
            perform(leases.lost(place: index - pipelined))
        }
        for orphan in orphans where orphan.request.origin == .caller {
            let outcome: Connection.Pipeline.Outcome = orphan.refusal.map { .failure($0) } ?? .nothing
            orphan.request.finish(result(of: outcome, orphan.request))
        }
    }
}
