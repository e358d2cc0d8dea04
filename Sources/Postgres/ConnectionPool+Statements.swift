/// The methods that send a statement on a connection, and pass the server's response back to the caller.
extension ConnectionPool {
    func submit(_ request: Request) {
        request.began = now
        if case .cancelled = request.place {
            answer(request, .failure(.cancelled))
            return
        }
        if let lease = request.lease {
            submit(request, under: lease)
            return
        }
        request.deadline = now + configuration.leaseTimeout
        switch dispatch.submit(request, near: request.affinity, deadline: request.deadline, now: now) {
        case .send(let lane): send(request, lane: lane)
        case .wait: request.place = .waiting
        case .overloaded: answer(request, .failure(.overloaded))
        case .shutDown: answer(request, .failure(.shutDown))
        }
    }

    /// Finishes a request with its outcome, unless it is finished already.
    ///
    /// The outcome enters the statistics if a caller made the request. The pool's own requests are not counted.
    func answer(_ request: Request, _ outcome: Request.Outcome) {
        if case .finished = request.place { return }
        if request.origin == .caller {
            counters.statements.note(outcome)
            if let began = request.began { counters.statementTimes.note(now - began) }
        }
        request.finish(outcome)
    }

    private func submit(_ request: Request, under lease: Lease) {
        switch leases.isAlive(place: lease.place, serial: lease.serial) {
        case nil:
            answer(request, .failure(.leaseEnded))
        case false?:
            answer(request, .failure(.connectionLost(outcomeUnknown: false)))
        case true?:
            let index = pipelined + lease.place
            guard case .open(let connection) = slots[index] else {
                answer(request, .failure(.connectionLost(outcomeUnknown: false)))
                return
            }
            send(request, on: connection, slot: index)
        }
    }

    /// Sends queued statements while a pipelined connection can take another one.
    func sendWaiting() {
        while let (request, _, lane) = dispatch.next(now: now) { send(request, lane: lane) }
    }

    private func send(_ request: Request, lane: Int) {
        guard case .open(let connection) = slots[lane] else {
            // A lane is open only while its connection is.
            dispatch.returned(request, near: request.affinity, deadline: request.deadline, from: lane)
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
            dispatch.returned(request, near: request.affinity, deadline: request.deadline, from: index)
            request.place = .waiting
            lose(index)
        case .broken:
            answer(request, .failure(.connectionLost(outcomeUnknown: false)))
            lose(index)
        case .brokenMidway:
            settle(request, .failure(.connectionLost(outcomeUnknown: !request.isInTransaction)), slot: index)
            lose(index)
        }
    }

    /// Finishes a request with its outcome.
    ///
    /// The pipelined connection that carried the request may then take another one.
    private func settle(_ request: Request, _ outcome: Request.Outcome, slot index: Int) {
        switch request.origin {
        case .caller:
            if index < pipelined { dispatch.completed(lane: index, now: now) }
            answer(request, outcome)
        case .cleaning:
            cleaned(index, outcome)
        case .listener:
            if case .listener(let listener) = owner(of: index) { listenerAnswered(listener, outcome) }
        case .housekeeping:
            break
        }
    }

    /// Reads from the socket, and finishes the statements whose responses have arrived in full.
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
                let result = result(of: outcome, request)
                if case .failure(.tooLarge) = result { connection.isRetiring = true }
                settle(request, result, slot: index)
            case .nothing:
                switch owner(of: index) {
                case .lane:
                    // A statement has opened a transaction on a shared connection. Later statements must not become
                    // part of that transaction.
                    if !connection.isBusy, !connection.isOutsideTransaction { lose(index) }
                case .place: break
                case .listener(let listener): deliver(from: connection, listener: listener)
                }
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
            if completion.failedToPrepare { connection.forget(statement, of: request) }
            if let staleness = staleness(of: error, request) {
                switch staleness {
                case .gone: connection.forget(statement, of: request)
                case .outdated: connection.expire(statement, of: request)
                }
                // libpq's transaction status is valid only when nothing is in flight. A shared connection needs no
                // check, since it is never inside a transaction.
                if index < pipelined || connection.isOutsideTransaction {
                    guard completion.isAbandoned else {
                        request.isUnnamed = true
                        send(request, on: connection, slot: index)
                        return
                    }
                } else {
                    expireExclusivePlans()
                }
            }
            if error.endsConnection { retire(connection, slot: index, because: error) }
        }
        settle(request, result, slot: index)
        if connection.isWorn { renew(connection, slot: index) }
        if connection.isRetiring, !connection.isBusy, index < pipelined, isOpen(connection, slot: index) {
            closeSlot(index)
        }
    }

    func result(of outcome: Connection.Pipeline.Outcome, _ request: Request) -> Request.Outcome {
        switch outcome {
        case .success(let set):
            set.excess(overRow: configuration.rowBytes, overAll: configuration.resultBytes)
                .map { .failure(.tooLarge($0)) } ?? .success(set)
        case .failure(let set): .failure(error(of: set, request))
        case .nothing: .failure(.connectionLost(outcomeUnknown: !request.isInTransaction))
        }
    }

    /// The reason why a plan that the server made earlier is unusable.
    private enum Staleness {
        /// The server no longer has the plan (26000).
        case gone
        /// The plan no longer returns the same columns (0A000).
        case outdated
    }

    /// Returns why the server could not use a plan that it had made earlier; nil if the error has another cause.
    ///
    /// If the result is not nil, the server has not run the statement, and the statement itself may be correct.
    private func staleness(of error: PostgresError, _ request: Request) -> Staleness? {
        guard request.plan == .reused else { return nil }
        switch error.sqlState {
        case "26000": return .gone
        case "0A000": return .outdated
        default: return nil
        }
    }

    /// Marks all prepared statements of the exclusive connections as stale, so that transactions prepare them again.
    ///
    /// A transaction that met an outdated plan is retried from its beginning, perhaps on another connection. Without
    /// the marks, it could fail again for every other outdated plan.
    private func expireExclusivePlans() {
        for place in 0..<exclusive {
            if case .open(let connection) = slots[pipelined + place] { connection.expireAll() }
        }
    }

    private func error(of set: ResultSet, _ request: Request) -> PostgresError {
        guard let error = ServerError(set), !error.sqlState.endsSession else {
            return .connectionLost(outcomeUnknown: !request.isInTransaction)
        }
        return .server(error)
    }

    func cancel(_ request: Request) {
        switch request.place {
        case .outside:
            // The message that submits the request has not been read yet. It has the continuation.
            request.place = .cancelled
            return
        case .cancelled, .finished:
            return
        case .waiting:
            _ = dispatch.cancel { $0 === request }
        case .sent(let slot):
            if case .open(let connection) = slots[slot] { connection.abandon(request) }
        }
        // The room on a lane stays taken until the response has arrived and been dropped.
        answer(request, .failure(.cancelled))
    }
}
