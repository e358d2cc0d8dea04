/// Connections that listen, one for each stream of notifications.
extension ConnectionPool {
    /// A stream of notifications, at a slot of its own.
    struct Listener {
        let subscription: Subscription
        var machine: ListenStateMachine
    }

    /// Somebody has begun to read.
    func listen(_ subscription: Subscription) {
        // One that has ended sooner than its beginning was heard of stays ended.
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

    /// Nobody reads any more.
    func unlisten(_ subscription: Subscription) {
        guard let index = listeners.firstIndex(where: { $0?.subscription === subscription }) else { return }
        listeners[index] = nil
        closeSlot(slot(ofListener: index))
    }

    /// Ends all streams.
    func endListening() {
        for index in listeners.indices {
            listeners[index]?.subscription.end()
            listeners[index] = nil
            closeSlot(slot(ofListener: index))
        }
    }

    /// Another server is to be listened to, since this one takes no writes any more.
    func listenElsewhere() {
        for index in listeners.indices { lose(slot(ofListener: index)) }
    }

    /// The connection of the listener has been opened.
    func listenerConnected(_ index: Int) {
        perform(listeners[index]?.machine.connected(now: now), listener: index)
    }

    /// The LISTEN of the listener has been answered.
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

    /// Asks and gives up whatever it is time for.
    func expireListeners() {
        for index in listeners.indices { perform(listeners[index]?.machine.tick(now: now), listener: index) }
    }

    /// Passes on what the connection has heard.
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
