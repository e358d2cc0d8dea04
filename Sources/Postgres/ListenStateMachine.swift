/// What one stream of notifications does with its connection: when it asks to hear of them, and whether the other end
/// still lives.
///
/// LISTEN is repeated again and again. Where the session listens already, the server does nothing but answer, and that
/// is the sign of life.
struct ListenStateMachine {
    enum Action: Hashable {
        /// Send LISTEN.
        case listen
        /// Tell the reader that the session listens, and that it did not before.
        case announce
        /// Give the connection up.
        case drop
    }

    private enum State {
        /// There is no connection. Can transition to: asking.
        case disconnected
        /// The answer to LISTEN is due until then. Can transition to: resting, disconnected.
        case asking(until: ContinuousClock.Instant)
        /// LISTEN is sent again at that time. Can transition to: asking, disconnected.
        case resting(until: ContinuousClock.Instant)
    }

    private let pause: Duration
    private let timeout: Duration
    private var state = State.disconnected
    /// Whether nothing is missed at the moment, as far as is known.
    private(set) var isListening = false

    /// - Parameters:
    ///   - pause: Time from an answer to the next LISTEN.
    ///   - timeout: The longest wait for an answer.
    init(pause: Duration, timeout: Duration) {
        self.pause = pause
        self.timeout = timeout
    }

    /// When ``tick(now:)`` has something to do, if nothing happens before.
    var nextDeadline: ContinuousClock.Instant? {
        switch state {
        case .disconnected: nil
        case .asking(let until), .resting(let until): until
        }
    }

    /// The connection has been opened.
    mutating func connected(now: ContinuousClock.Instant) -> Action {
        state = .asking(until: now + timeout)
        return .listen
    }

    /// The server has answered LISTEN.
    ///
    /// A refusal is a sign of life, too, and takes nothing back.
    mutating func answered(isRefusal: Bool, now: ContinuousClock.Instant) -> Action? {
        guard case .asking = state else { return nil }
        state = .resting(until: now + pause)
        guard !isRefusal, !isListening else { return nil }
        isListening = true
        return .announce
    }

    /// The connection is gone.
    mutating func lost() {
        state = .disconnected
        isListening = false
    }

    /// Time has passed.
    mutating func tick(now: ContinuousClock.Instant) -> Action? {
        switch state {
        case .asking(let until) where until <= now: .drop
        case .resting(let until) where until <= now: connected(now: now)
        case .disconnected, .asking, .resting: nil
        }
    }
}
