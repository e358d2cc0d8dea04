/// The methods that manage connections for `LISTEN`, one for each stream of notifications.
extension ConnectionPool {
    /// A stream of notifications, which has a connection of its own.
    struct Listener {
        let subscription: Subscription
        var machine: ListenStateMachine
    }

    /// Opens a connection for a stream of notifications, since a task has begun to read the stream.
    func listen(_ subscription: Subscription) {
        // A subscription that ended before this message was read stays ended.
        guard !subscription.isEnded else { return }
        switch life {
        case .created, .running: break
        case .draining, .closed:
            subscription.end()
            return
        }
        let machine = ListenStateMachine(pause: configuration.listenPause, timeout: configuration.listenTimeout)
        let listener = Listener(subscription: subscription, machine: machine)
        if let free = listeners.firstIndex(where: { $0 == nil }) {
            listeners[free] = listener
            slots[slot(ofListener: free)] = .wanted
        } else {
            listeners.append(listener)
            slots.append(.wanted)
        }
    }

    /// Closes the connection of a stream of notifications that is no longer read.
    func unlisten(_ subscription: Subscription) {
        guard let index = listeners.firstIndex(where: { $0?.subscription === subscription }) else { return }
        listeners[index] = nil
        closeSlot(slot(ofListener: index))
    }

    /// Ends all streams of notifications, and closes their connections.
    func endListening() {
        for index in listeners.indices {
            listeners[index]?.subscription.end()
            listeners[index] = nil
            closeSlot(slot(ofListener: index))
        }
    }

    /// Closes the connections of all listeners, since their server has become a standby, which refuses writes.
    ///
    /// The listeners connect again, perhaps to another server.
    func listenElsewhere() {
        for index in listeners.indices { lose(slot(ofListener: index)) }
    }

    /// Sends `LISTEN` on the connection that was opened for a stream of notifications.
    func listenerConnected(_ index: Int) {
        perform(listeners[index]?.machine.connected(now: now), listener: index)
    }

    /// Handles the server's response to the `LISTEN` of a stream of notifications.
    func listenerAnswered(_ index: Int, _ outcome: Request.Outcome) {
        var isRefusal = false
        if case .failure(let error) = outcome {
            guard error.handling != .dropConnection else {
                lose(slot(ofListener: index))
                return
            }
            isRefusal = true
        }
        perform(listeners[index]?.machine.answered(isRefusal: isRefusal, now: now), listener: index)
    }

    /// Checks the deadline of each stream of notifications.
    ///
    /// Sends the periodic `LISTEN` when it is due, and closes a connection whose response to `LISTEN` is overdue.
    func expireListeners() {
        for index in listeners.indices { perform(listeners[index]?.machine.tick(now: now), listener: index) }
    }

    /// Puts the notifications that have arrived on a connection into the stream that the connection serves.
    func deliver(from connection: Connection, listener index: Int) {
        guard let subscription = listeners[index]?.subscription else { return }
        connection.takeNotifications { subscription.put(.received(payload: $0)) }
    }

    private func perform(_ action: ListenStateMachine.Action?, listener index: Int) {
        guard let action, let subscription = listeners[index]?.subscription else { return }
        let slot = slot(ofListener: index)
        switch action {
        case .listen:
            guard case .open(let connection) = slots[slot] else { return }
            let request = Request(.statement("LISTEN \(identifier: subscription.channel)"), origin: .listener)
            request.isUnnamed = true
            send(request, on: connection, slot: slot)
        case .announce: subscription.put(.listening)
        case .drop: lose(slot)
        }
    }
}
