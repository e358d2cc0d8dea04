/// The state of the exclusive connections: which are leased, and which callers wait for a lease.
///
/// A *place* is the position of one connection, counted from 0. Connections are opened when a caller waits, and stay
/// open.
struct LeaseStateMachine<Waiter> {
    enum Action {
        case connect(place: Int)
        /// Give the waiter a lease of the connection with the index `place`, under a serial number.
        case lease(place: Int, serial: UInt64, to: Waiter)
        case close(place: Int)
        /// Undo all changes to the session of the connection with the index `place`.
        case clean(place: Int)
        /// Tell the waiter that it gets no lease, and why.
        case fail(Waiter, Failure)
    }

    enum Failure: Hashable {
        case overloaded
        case shutDown
        /// The time limit passed, and no connection was open.
        case unavailable
        /// The time limit passed, and all connections were leased.
        case busy
    }

    /// The state of the session when a lease is returned.
    enum Return: Hashable {
        /// The session is unchanged.
        case clean
        /// The session works but has to be cleaned.
        case dirty
        /// The session must not be used again.
        case broken
    }

    /// The state of a place, the position of one exclusive connection.
    private enum Place {
        /// No connection. Can transition to: connecting.
        case vacant
        /// A connection is being opened. Can transition to: idle, leased, vacant.
        case connecting
        /// A connection is open and not leased. Can transition to: leased, vacant.
        case idle
        /// A caller has leased the connection. Can transition to: idle, leased (to the next waiter), cleaning, vacant;
        /// broken when the connection is lost.
        case leased(serial: UInt64)
        /// Leased, but the connection is lost. Can transition to: vacant, when the lease is returned.
        case broken(serial: UInt64)
        /// Being cleaned. Can transition to: idle, leased, vacant.
        case cleaning

        var isOpen: Bool {
            switch self {
            case .vacant, .connecting, .broken: false
            case .idle, .leased, .cleaning: true
            }
        }

        var willBeIdle: Bool {
            switch self {
            case .connecting, .cleaning: true
            case .vacant, .idle, .leased, .broken: false
            }
        }
    }

    private struct Waiting {
        let waiter: Waiter
        let deadline: ContinuousClock.Instant
    }

    private let maxWaiting: Int
    private var places: [Place]
    private var queue = FIFO<Waiting>()
    private var lastSerial: UInt64 = 0
    private var isShutDown = false

    init(places: Int, maxWaiting: Int) {
        self.places = Array(repeating: .vacant, count: places)
        self.maxWaiting = maxWaiting
    }

    var waiting: Int { queue.count }

    var nextDeadline: ContinuousClock.Instant? { queue.first?.deadline }

    /// The number of leases that have not been returned.
    var leased: Int {
        places.count { place in
            switch place {
            case .leased, .broken: true
            case .vacant, .connecting, .idle, .cleaning: false
            }
        }
    }

    /// Whether the connection of a lease is open; nil if the lease with this serial number has ended.
    func isAlive(place: Int, serial: UInt64) -> Bool? {
        guard places.indices.contains(place) else { return nil }
        switch places[place] {
        case .leased(serial): return true
        case .broken(serial): return false
        default: return nil
        }
    }

    /// Requests a lease for a waiter, which waits until `deadline`.
    ///
    /// Later requests must not have earlier deadlines.
    mutating func request(_ waiter: Waiter, deadline: ContinuousClock.Instant) -> [Action] {
        if isShutDown { return [.fail(waiter, .shutDown)] }
        guard queue.count < maxWaiting else { return [.fail(waiter, .overloaded)] }
        queue.append(Waiting(waiter: waiter, deadline: deadline))
        return serve()
    }

    /// Records that the connection with the index `place` was opened, and leases it if a caller waits.
    mutating func connected(place: Int) -> [Action] {
        guard case .connecting = places[place] else { return [.close(place: place)] }
        places[place] = .idle
        return serve()
    }

    /// Records that the connection with the index `place` could not be opened.
    ///
    /// Another attempt follows if a caller still waits.
    mutating func connectFailed(place: Int) -> [Action] {
        guard case .connecting = places[place] else { return [] }
        places[place] = .vacant
        return serve()
    }

    /// Records that the connection with the index `place` was lost.
    mutating func lost(place: Int) -> [Action] {
        switch places[place] {
        case .leased(let serial):
            places[place] = .broken(serial: serial)
            return []
        case .broken, .vacant:
            return []
        case .connecting, .idle, .cleaning:
            places[place] = .vacant
            return serve()
        }
    }

    /// Closes the connection with the index `place` if it is idle.
    ///
    /// A leased connection stays open.
    mutating func retireIfIdle(place: Int) -> [Action] {
        guard case .idle = places[place] else { return [] }
        places[place] = .vacant
        return [.close(place: place)]
    }

    /// Takes back the lease of the connection with the index `place`.
    ///
    /// Does nothing if the lease with this serial number has ended.
    mutating func returned(place: Int, serial: UInt64, as state: Return) -> [Action] {
        switch (isAlive(place: place, serial: serial), state) {
        case (nil, _):
            return []
        case (true?, .clean) where !isShutDown:
            places[place] = .idle
            return serve()
        case (true?, .dirty) where !isShutDown:
            places[place] = .cleaning
            return [.clean(place: place)]
        case (true?, _):
            places[place] = .vacant
            return [.close(place: place)] + serve()
        case (false?, _):
            places[place] = .vacant
            return serve()
        }
    }

    /// Records that the session of the connection with the index `place` was cleaned.
    ///
    /// The connection can then be leased again.
    mutating func cleaned(place: Int) -> [Action] {
        guard case .cleaning = places[place] else { return [] }
        if isShutDown {
            places[place] = .vacant
            return [.close(place: place)]
        }
        places[place] = .idle
        return serve()
    }

    /// Removes a waiter.
    ///
    /// Returns false if the waiter is not in the queue (any more).
    mutating func cancel(where matches: (Waiter) -> Bool) -> Bool {
        queue.remove(where: { matches($0.waiter) }) != nil
    }

    /// Removes all waiters whose deadline has passed; returns for each an action that tells it why it gets no lease.
    mutating func expire(now: ContinuousClock.Instant) -> [Action] {
        let reason: Failure = places.contains(where: { $0.isOpen }) ? .busy : .unavailable
        var actions: [Action] = []
        while let first = queue.first, first.deadline <= now, let waiting = queue.popFirst() {
            actions.append(.fail(waiting.waiter, reason))
        }
        return actions
    }

    /// Refuses all leases from now on.
    ///
    /// Existing leases stay valid until they are returned.
    mutating func shutDown() -> [Action] {
        isShutDown = true
        var actions: [Action] = queue.removeAll().map { .fail($0.waiter, .shutDown) }
        for index in places.indices {
            switch places[index] {
            case .idle, .connecting:
                places[index] = .vacant
                actions.append(.close(place: index))
            case .vacant, .leased, .broken, .cleaning:
                break
            }
        }
        return actions
    }

    /// Leases idle connections to waiters.
    ///
    /// Requests a new connection for each waiter that remains, up to the maximum number of connections.
    private mutating func serve() -> [Action] {
        var actions: [Action] = []
        for index in places.indices {
            guard case .idle = places[index], let waiting = queue.popFirst() else { continue }
            lastSerial += 1
            places[index] = .leased(serial: lastSerial)
            actions.append(.lease(place: index, serial: lastSerial, to: waiting.waiter))
        }
        var missing = queue.count - places.count { $0.willBeIdle }
        for index in places.indices where missing > 0 {
            guard case .vacant = places[index] else { continue }
            places[index] = .connecting
            missing -= 1
            actions.append(.connect(place: index))
        }
        return actions
    }
}
