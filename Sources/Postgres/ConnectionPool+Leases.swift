/// The methods that lease exclusive connections, and clean their sessions afterwards.
extension ConnectionPool {
    /// The state of a session's cleaning: the server undoes the changes that the leaseholder made to the session.
    struct Cleaning {
        /// The use for which the connection was leased.
        ///
        /// If the use was `session`, cleaning also drops the session's prepared statements.
        let purpose: Lease.Purpose
        let statements: [Statement]
        var answered = 0
        /// The caller that returned the lease; nil if it does not wait for the end of the cleaning.
        let continuation: Continuation<Void>?
    }

    func lease(_ request: LeaseRequest) {
        guard !request.isCancelled else {
            answer(request, .failure(.cancelled))
            return
        }
        perform(leases.request(request, deadline: now + configuration.leaseTimeout))
    }

    private func answer(_ request: LeaseRequest, _ outcome: Result<Lease, PostgresError>) {
        counters.leases.note(outcome)
        request.finish(outcome)
    }

    func cancelLease(_ request: LeaseRequest) {
        request.isCancelled = true
        // A request that is not in the queue has its outcome already, or has not been submitted yet.
        if leases.cancel(where: { $0 === request }) { answer(request, .failure(.cancelled)) }
    }

    func perform(_ actions: [LeaseStateMachine<LeaseRequest>.Action]) {
        for action in actions {
            switch action {
            case .connect(let place):
                slots[pipelined + place] = .wanted
            case .lease(let place, let serial, let request):
                if case .open(let connection) = slots[pipelined + place] {
                    connection.isWatched = request.purpose == .transaction
                }
                answer(request, .success(Lease(place: place, serial: serial)))
            case .close(let place):
                closeSlot(pipelined + place)
            case .clean(let place):
                clean(pipelined + place)
            case .fail(let request, let failure):
                answer(request, .failure(failure.error(lastFailure)))
            }
        }
    }

    /// Takes a leased connection back, and cleans its session if needed.
    ///
    /// The session may still be inside a transaction, or its settings may have been changed.
    func returned(_ lease: Lease, _ purpose: Lease.Purpose, _ continuation: Continuation<Void>?) {
        let index = pipelined + lease.place
        var statements: [Statement] = []
        var state = LeaseStateMachine<LeaseRequest>.Return.broken
        if case .open(let connection) = slots[index], !connection.isBusy, !connection.isRetiring, !connection.isWorn {
            if !connection.isOutsideTransaction { statements.append("ROLLBACK") }
            if purpose == .session { statements.append("DISCARD ALL") }
            state = statements.isEmpty ? .clean : .dirty
        }
        let actions = leases.returned(place: lease.place, serial: lease.serial, as: state)
        if actions.contains(where: \.isCleaning) {
            cleanings[index] = Cleaning(purpose: purpose, statements: statements, continuation: continuation)
            perform(actions)
        } else {
            perform(actions)
            continuation?.resume()
        }
    }

    private func clean(_ index: Int) {
        guard case .open(let connection) = slots[index], let cleaning = cleanings[index] else { return }
        connection.isWatched = true
        if cleaning.purpose == .session { connection.forgetAll() }
        for statement in cleaning.statements where isOpen(connection, slot: index) {
            let request = Request(.statement(statement), origin: .cleaning)
            request.isUnnamed = true
            send(request, on: connection, slot: index)
        }
    }

    /// Handles the server's response to a statement that cleans a session.
    func cleaned(_ index: Int, _ outcome: Request.Outcome) {
        guard case .success = outcome else {
            lose(index)
            return
        }
        cleanings[index]?.answered += 1
        guard let cleaning = cleanings[index], cleaning.answered == cleaning.statements.count else { return }
        endCleaning(index)
        perform(leases.cleaned(place: index - pipelined))
    }

    /// Removes a session's entry in `cleanings`, and resumes the caller that waits for the end of the cleaning.
    ///
    /// Either the session is clean now, or its connection is lost.
    func endCleaning(_ index: Int) {
        cleanings.removeValue(forKey: index)?.continuation?.resume()
    }
}

extension LeaseStateMachine.Action {
    fileprivate var isCleaning: Bool {
        guard case .clean = self else { return false }
        return true
    }
}

extension LeaseStateMachine.Failure {
    fileprivate func error(_ latest: ConnectFailure?) -> PostgresError {
        switch self {
        case .overloaded: .overloaded
        case .shutDown: .shutDown
        case .unavailable: .unavailable(latest)
        case .busy: .leaseTimeout
        }
    }
}
