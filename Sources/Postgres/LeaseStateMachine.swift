/// Who has which of the exclusive connections, and who waits for one.
///
/// A *place* is the place of one connection, counted from 0. Connections are opened when somebody waits and are kept.
struct LeaseStateMachine<Waiter> {
    enum Action {
        /// Open a connection for the place.
        case connect(place: Int)
        /// Hand the place to the waiter, with the serial number by which it will be known.
        case lease(place: Int, serial: UInt64, to: Waiter)
        /// Close the connection of the place.
        case close(place: Int)
        /// Bring the session of the place back to how it began.
        case clean(place: Int)
        /// Nobody serves this waiter.
        case fail(Waiter, Failure)
    }

    enum Failure: Hashable {
        case overloaded
        case shutDown
        /// The time limit passed, with no connection open.
        case unavailable
        /// The time limit passed, with all connections lent.
        case busy
    }

    /// In which state a lease is returned.
    enum Return: Hashable {
        /// The session is as it was.
        case clean
        /// The session works but has to be cleaned.
        case dirty
        /// The session must not be used again.
        case broken
    }

    /// Where a place stands.
    private enum Place {
        /// No connection. Can transition to: connecting.
        case vacant
        /// A connection is being opened. Can transition to: idle, leased, vacant.
        case connecting
        /// Can transition to: leased, vacant.
        case idle
        /// Can transition to: idle, leased (to the next), cleaning, vacant; broken when the connection is lost.
        case leased(serial: UInt64)
        /// Lent, but the connection is gone. Can transition to: vacant, when it is returned.
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

    /// Whether the place is lent under that serial number, and if so, whether its connection still lives.
    func isAlive(place: Int, serial: UInt64) -> Bool? {
        guard places.indices.contains(place) else { return nil }
        switch places[place] {
        case .leased(serial): return true
        case .broken(serial): return false
        default: return nil
        }
    }

    /// Somebody asks for a lease and waits until `deadline`; later requests must not have earlier deadlines.
    mutating func request(_ waiter: Waiter, deadline: ContinuousClock.Instant) -> [Action] {
        if isShutDown { return [.fail(waiter, .shutDown)] }
        guard queue.count < maxWaiting else { return [.fail(waiter, .overloaded)] }
        queue.append(Waiting(waiter: waiter, deadline: deadline))
        return serve()
    }

    /// The connection of the place has been opened.
    mutating func connected(place: Int) -> [Action] {
        guard case .connecting = places[place] else { return [.close(place: place)] }
        places[place] = .idle
        return serve()
    }

    /// The connection of the place could not be opened.
    ///
    /// Another attempt follows if somebody still waits.
    mutating func connectFailed(place: Int) -> [Action] {
        guard case .connecting = places[place] else { return [] }
        places[place] = .vacant
        return serve()
    }

    /// The connection of the place is gone.
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

    /// The place shall not be lent again; nothing happens if it is lent now.
    mutating func retireIfIdle(place: Int) -> [Action] {
        guard case .idle = places[place] else { return [] }
        places[place] = .vacant
        return [.close(place: place)]
    }

    /// A lease is returned.
    ///
    /// What is not lent under that serial number is ignored.
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

    /// The session of the place is as it was when it began.
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
    /// False if it does not wait (any more).
    mutating func cancel(where matches: (Waiter) -> Bool) -> Bool {
        queue.remove(where: { matches($0.waiter) }) != nil
    }

    /// Gives up those who have waited for too long.
    mutating func expire(now: ContinuousClock.Instant) -> [Action] {
        let reason: Failure = places.contains(where: { $0.isOpen }) ? .busy : .unavailable
        var actions: [Action] = []
        while let first = queue.first, first.deadline <= now, let waiting = queue.popFirst() {
            actions.append(.fail(waiting.waiter, reason))
        }
        return actions
    }

    /// From now on nobody gets a lease.
    ///
    /// Leases that are out stay until they are returned.
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

    /// Gives idle places to those who wait, and asks for as many connections as there are still waiters.
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
