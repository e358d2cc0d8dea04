/// The start and the shutdown of the pool.
extension ConnectionPool {
    func run(_ continuation: Continuation<Void>) {
        switch life {
        case .closed:
            continuation.resume()
            return
        case .created:
            life = .running
            for index in 0..<pipelined { slots[index] = .wanted }
        case .running, .draining:
            break
        }
        runners.append(continuation)
    }

    func shutDown() {
        switch life {
        case .closed, .draining: return
        case .created, .running: break
        }
        for request in dispatch.shutDown() { answer(request, .failure(.shutDown)) }
        perform(leases.shutDown())
        endListening()
        for index in slots.indices {
            switch slots[index] {
            case .wanted, .connecting: closeSlot(index)
            case .open, .vacant: break
            }
        }
        life = .draining(until: now + (replyLimit ?? .seconds(3)))
    }

    /// Closes idle connections during a shutdown.
    ///
    /// Closes the pool when no connection is in use any more, or when the time for the shutdown has passed.
    func finishDraining() {
        guard case .draining(let until) = life else { return }
        var isDone = leases.leased == 0 && cleanings.isEmpty
        for index in 0..<pipelined {
            guard case .open(let connection) = slots[index] else { continue }
            if connection.isBusy { isDone = false } else { closeSlot(index) }
        }
        guard isDone || until <= now else { return }
        for index in slots.indices {
            if case .open = slots[index] { lose(index) }
            closeSlot(index)
        }
        life = .closed
        let runners = runners
        self.runners = []
        for runner in runners { runner.resume() }
    }
}
