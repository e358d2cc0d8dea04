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
        /// The response to LISTEN is due until then. Can transition to: resting, disconnected.
        case asking(until: ContinuousClock.Instant)
        /// LISTEN is sent again at that time. Can transition to: asking, disconnected.
        case resting(until: ContinuousClock.Instant)
    }

    private let pause: Duration
    private let timeout: Duration
    private var state = State.disconnected
    /// Whether the server has accepted LISTEN on the present connection.
    ///
    /// Later notifications arrive, unless the connection is broken and this is not known yet.
    private(set) var isListening = false

    /// - Parameters:
    ///   - pause: The time from a response to the next LISTEN.
    ///   - timeout: The longest wait for a response.
    init(pause: Duration, timeout: Duration) {
        self.pause = pause
        self.timeout = timeout
    }

    /// The time when ``tick(now:)`` is due if nothing happens before.
    var nextDeadline: ContinuousClock.Instant? {
        switch state {
        case .disconnected: nil
        case .asking(let until), .resting(let until): until
        }
    }

    /// Notes that the connection was opened.
    mutating func connected(now: ContinuousClock.Instant) -> Action {
        state = .asking(until: now + timeout)
        return .listen
    }

    /// Notes that the server has answered LISTEN.
    ///
    /// A refusal also shows that the connection works. It leaves ``isListening`` unchanged.
    mutating func answered(isRefusal: Bool, now: ContinuousClock.Instant) -> Action? {
        guard case .asking = state else { return nil }
        state = .resting(until: now + pause)
        guard !isRefusal, !isListening else { return nil }
        isListening = true
        return .announce
    }

    /// Notes that the connection was lost.
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
