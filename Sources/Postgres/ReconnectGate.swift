/// Decides when a client may next try to open a connection, for all its connections together.
///
/// While the state of the server is unknown, only one attempt is made at a time. Once an attempt succeeds, all other
/// connections may be opened concurrently. After a failure all connections wait for the backoff: 50 ms at first, then
/// twice as long each time, up to 2 s. A random part of up to a half is subtracted from each wait. So a server that
/// refuses connections gets one attempt at a time, and fewer than ten in the first second.
struct ReconnectGate {
    private enum State {
        /// The state of the server is unknown. Can transition to: probing.
        case unproven
        /// One attempt is under way. Can transition to: open, waiting.
        case probing
        /// The last attempt succeeded. Can transition to: waiting, unproven.
        case open
        /// The last attempt failed. Can transition to: probing, at `until`; open, when an attempt that began earlier
        /// succeeds.
        case waiting(until: ContinuousClock.Instant)
    }

    private static let shortest: Duration = .milliseconds(50)
    private static let longest: Duration = .seconds(2)
    /// A connection that breaks before it is this old counts as a failed attempt to connect.
    ///
    /// Otherwise a server that accepts connections and closes them immediately would get attempts without a pause.
    private static let proof: Duration = .seconds(2)

    private var state = State.unproven
    private var failures = 0

    /// Begins an attempt if one may begin now, and returns whether it did.
    mutating func begin(now: ContinuousClock.Instant) -> Bool {
        switch state {
        case .open:
            return true
        case .unproven:
            state = .probing
            return true
        case .waiting(let until) where until <= now:
            state = .probing
            return true
        case .probing, .waiting:
            return false
        }
    }

    /// The end of the wait after a failed attempt; nil if there is no wait.
    ///
    /// At this time ``begin(now:)`` should be called again.
    var nextAttempt: ContinuousClock.Instant? {
        guard case .waiting(let until) = state else { return nil }
        return until
    }

    mutating func succeeded() {
        state = .open
    }

    /// Records that an attempt failed, and starts the wait before the next attempt.
    ///
    /// `chance`, a random number from 0 to 1, decides how much the wait is shortened. If a wait has already begun,
    /// because another attempt failed, nothing changes.
    mutating func failed(now: ContinuousClock.Instant, chance: Double) {
        if case .waiting = state { return }
        failures += 1
        let factor = 1 << min(failures - 1, 10)
        let full = min(Self.shortest * factor, Self.longest)
        state = .waiting(until: now + full - full / 2 * chance)
    }

    /// Records that an attempt was given up before it succeeded or failed.
    mutating func withdrawn() {
        if case .probing = state { state = .unproven }
    }

    /// Records that a connection broke after it had been open for `age`.
    ///
    /// If `age` is less than two seconds, this counts as a failed attempt, and starts a wait. `chance`, a random number
    /// from 0 to 1, decides how much the wait is shortened.
    mutating func lost(age: Duration, now: ContinuousClock.Instant, chance: Double) {
        guard case .open = state else { return }
        if age < Self.proof {
            failed(now: now, chance: chance)
        } else {
            failures = 0
            state = .unproven
        }
    }
}
