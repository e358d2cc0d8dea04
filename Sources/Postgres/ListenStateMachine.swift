/// The state of one stream of notifications: when LISTEN is sent, and whether the connection still works.
///
/// LISTEN is repeated at intervals. In a session that already listens, the server only responds. The response shows
/// that the connection works.
struct ListenStateMachine {
    enum Action: Hashable {
        /// Send LISTEN.
        case listen
        /// Tell the reader that the session began to listen.
        case announce
        /// Close the connection.
        case drop
    }

    private enum State {
        /// There is no connection. Can transition to: asking.
        case disconnected
        /// The response to LISTEN must arrive before `until`. Can transition to: resting, disconnected.
        case asking(until: ContinuousClock.Instant)
        /// The connection works, and LISTEN is sent again at `until`. Can transition to: asking, disconnected.
        case resting(until: ContinuousClock.Instant)
    }

    private let pause: Duration
    private let timeout: Duration
    private var state = State.disconnected
    /// Whether the server has accepted `LISTEN` on the present connection.
    ///
    /// If so, the server sends each later notification over this connection.
    private(set) var isListening = false

    /// - Parameters:
    ///   - pause: The time from a response to the next LISTEN.
    ///   - timeout: The maximum wait for a response to LISTEN.
    init(pause: Duration, timeout: Duration) {
        self.pause = pause
        self.timeout = timeout
    }

    /// The time when ``tick(now:)`` must be called, unless another event changes the state before; nil if no call is
    /// due.
    var nextDeadline: ContinuousClock.Instant? {
        switch state {
        case .disconnected: nil
        case .asking(let until), .resting(let until): until
        }
    }

    /// Records that the connection was opened; returns that LISTEN must be sent.
    mutating func connected(now: ContinuousClock.Instant) -> Action {
        state = .asking(until: now + timeout)
        return .listen
    }

    /// Records that the server has accepted or refused LISTEN.
    ///
    /// A refusal, too, shows that the connection works, but does not change ``isListening``.
    mutating func answered(isRefusal: Bool, now: ContinuousClock.Instant) -> Action? {
        guard case .asking = state else { return nil }
        state = .resting(until: now + pause)
        guard !isRefusal, !isListening else { return nil }
        isListening = true
        return .announce
    }

    /// Records that the connection was lost.
    mutating func lost() {
        state = .disconnected
        isListening = false
    }

    /// Returns the action that is due at `now`.
    mutating func tick(now: ContinuousClock.Instant) -> Action? {
        switch state {
        case .asking(let until) where until <= now: .drop
        case .resting(let until) where until <= now: connected(now: now)
        case .disconnected, .asking, .resting: nil
        }
    }
}
