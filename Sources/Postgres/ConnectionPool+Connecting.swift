internal import CLibPQ

/// An attempt to open a connection; it tries one host after the other.
final class ConnectionAttempt {
    let slot: Int
    /// The indices of the hosts not tried yet, in order.
    var remaining: ArraySlice<Int>
    var hostIndex: Int
    var host: DatabaseHost
    /// Whether each host tried so far has failed in a way that a retry cannot repair.
    var isFinal = true
    /// The deadline for connecting to the current host.
    var deadline: ContinuousClock.Instant
    var tag: UInt64 = 0
    /// The libpq connection; nil while the host's name is being resolved.
    var handle: Handle?
    /// The socket that epoll watches.
    var watched: Int32?

    init(slot: Int, order: [Int], hosts: [DatabaseHost], deadline: ContinuousClock.Instant) {
        self.slot = slot
        remaining = order.dropFirst()
        hostIndex = order[0]
        host = hosts[order[0]]
        self.deadline = deadline
    }
}

/// The methods that open connections without blocking.
///
/// They try one host after the other, each for a limited time.
extension ConnectionPool {
    /// Begins to open the missing connections, as many as ``ReconnectGate`` permits now.
    func openWanted() {
        guard case .running = life else { return }
        for index in slots.indices {
            guard case .wanted = slots[index], gate.begin(now: now) else { continue }
            let count = configuration.hosts.count
            let order = (0..<count).map { (preferredHost + $0) % count }
            let attempt = ConnectionAttempt(slot: index, order: order, hosts: configuration.hosts, deadline: now)
            slots[index] = .connecting(attempt)
            begin(attempt)
        }
    }

    private func begin(_ attempt: ConnectionAttempt) {
        counters.connectAttempts += 1
        attempt.deadline = now + configuration.connectTimeout
        let host = attempt.host
        if host.isSocket {
            connect(attempt, addresses: [])
        } else if host.isAddress {
            connect(attempt, addresses: [host.name])
        } else {
            let index = attempt.hostIndex
            let isResolving = resolutions[index] != nil
            resolutions[index, default: []].insert(attempt.slot)
            if isResolving { return }
            let mailbox = loop.mailbox
            Resolver.resolve(host.name) { mailbox.post(.resolved(host: index, $0)) }
        }
    }

    func resolved(host: Int, _ resolution: Resolver.Resolution) {
        let addresses = resolution.addresses
        let permitted = addresses.filter(configuration.transport.permits)
        for slot in resolutions.removeValue(forKey: host) ?? [] {
            guard case .connecting(let attempt) = slots[slot], attempt.hostIndex == host, attempt.handle == nil else {
                continue
            }
            if permitted.isEmpty {
                let name = attempt.host.name
                let failure =
                    addresses.isEmpty
                    ? ConnectFailure(
                        text: "the name \(name) has no address" + (resolution.problem.map { ": \($0)" } ?? ""),
                        isFinal: resolution.isFinal
                    )
                    : ConnectFailure(text: "\(name) is not on this machine", isFinal: true)
                tryNextHost(attempt, after: failure)
            } else {
                connect(attempt, addresses: permitted)
            }
        }
    }

    private func connect(_ attempt: ConnectionAttempt, addresses: [String]) {
        let keywords = configuration.keywords(host: attempt.host, addresses: addresses)
        guard let handle = Handle(keywords: keywords) else {
            tryNextHost(attempt, after: ConnectFailure(text: "there is no memory for a connection"))
            return
        }
        attempt.handle = handle
        guard PQstatus(handle.pointer) != CONNECTION_BAD else {
            fail(attempt)
            return
        }
        // The libpq manual: before the first PQconnectPoll, behave as if it had asked to wait for writing.
        watch(attempt, handle, reading: false, writing: true)
    }

    /// Continues an attempt whose socket is ready.
    func advance(_ attempt: ConnectionAttempt) {
        guard let handle = attempt.handle else { return }
        // libpq may close this socket and open another one with the same number. So epoll must forget this one first.
        unwatch(attempt)
        switch PQconnectPoll(handle.pointer) {
        case PGRES_POLLING_READING: watch(attempt, handle, reading: true, writing: false)
        case PGRES_POLLING_WRITING: watch(attempt, handle, reading: false, writing: true)
        case PGRES_POLLING_OK: established(attempt, handle)
        default: fail(attempt)
        }
    }

    private func watch(_ attempt: ConnectionAttempt, _ handle: Handle, reading: Bool, writing: Bool) {
        attempt.tag = nextTag(slot: attempt.slot)
        let socket = handle.socket
        guard socket >= 0, loop.poller.add(socket, tag: attempt.tag, reading: reading, writing: writing) else {
            fail(attempt)
            return
        }
        attempt.watched = socket
    }

    private func unwatch(_ attempt: ConnectionAttempt) {
        if let socket = attempt.watched { loop.poller.remove(socket) }
        attempt.watched = nil
    }

    private func established(_ attempt: ConnectionAttempt, _ handle: Handle) {
        let index = attempt.slot
        let connection = Connection(
            handle,
            tag: nextTag(slot: index),
            preparing: Connection.Preparing(
                isEnabled: configuration.preparedStatements,
                kept: configuration.preparedBytes,
                discarded: configuration.discardedBytes
            ),
            now: now
        )
        guard let connection,
            loop.poller.add(connection.socket, tag: connection.tag, reading: true, writing: false)
        else {
            fail(attempt)
            return
        }
        gate.succeeded()
        preferredHost = attempt.hostIndex
        slots[index] = .open(connection)
        switch owner(of: index) {
        case .lane(let lane):
            dispatch.opened(lane: lane, now: now)
            sendWaiting()
        case .place(let place):
            perform(leases.connected(place: place))
        case .listener(let listener):
            // The listener's state machine detects overdue responses itself, by a limit for LISTEN.
            connection.isWatched = false
            listenerConnected(listener)
        }
    }

    /// Stops trying the current host because of the error that libpq reports, and tries the next host.
    private func fail(_ attempt: ConnectionAttempt) {
        let message = attempt.handle?.failure ?? ""
        tryNextHost(attempt, after: ConnectFailure(libpq: message, hiding: configuration.password?.text))
    }

    /// Stops trying the current host, and tries the next one.
    ///
    /// If there is no further host, the whole attempt has failed.
    func tryNextHost(_ attempt: ConnectionAttempt, after failure: ConnectFailure) {
        counters.connectFailures += 1
        counters.lastConnectFailure = failure.text
        lastFailure = failure
        attempt.isFinal = attempt.isFinal && failure.isFinal
        abandon(attempt)
        if let next = attempt.remaining.popFirst() {
            attempt.hostIndex = next
            attempt.host = configuration.hosts[next]
            begin(attempt)
            return
        }
        gate.failed(now: now, chance: .random(in: 0...1))
        switch owner(of: attempt.slot) {
        case .lane, .listener:
            slots[attempt.slot] = .wanted
        case .place(let place):
            slots[attempt.slot] = .vacant
            perform(leases.connectFailed(place: place))
        }
        if configuration.givesUpAtRefusals, attempt.isFinal { giveUpWaiting() }
    }

    /// Every host has failed permanently: resumes all callers that wait for a connection, and throws the error to them.
    private func giveUpWaiting() {
        let never = now + .seconds(1 << 30)
        for request in dispatch.expire(now: never).requests { answer(request, .failure(.unavailable(lastFailure))) }
        perform(leases.expire(now: never))
    }

    /// Closes the socket and the libpq connection to the current host.
    func abandon(_ attempt: ConnectionAttempt) {
        unwatch(attempt)
        attempt.handle = nil
        resolutions[attempt.hostIndex]?.remove(attempt.slot)
    }
}
