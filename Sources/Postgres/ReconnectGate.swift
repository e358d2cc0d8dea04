/// When the next attempt to connect may be made, for all connections of a client together.
///
/// As long as nothing is known of the server, one attempt at a time is made; once it succeeds, all others may connect
/// at once. After a failure everybody waits, twice as long each time, between 50 ms and 2 s, less up to a half by
/// chance. So a server that refuses sees at most one attempt at once and fewer than ten in its first second.
struct ReconnectGate {
    private enum State {
        /// Nothing is known. Can transition to: probing.
        case unproven
        /// One attempt is under way. Can transition to: open, waiting.
        case probing
        /// The last attempt succeeded. Can transition to: waiting, unproven.
        case open
        /// The last attempt failed. Can transition to: probing, when the time has come; open, when one that had begun
        /// before succeeds.
        case waiting(until: ContinuousClock.Instant)
    }

    private static let shortest: Duration = .milliseconds(50)
    private static let longest: Duration = .seconds(2)
    /// A connection that breaks sooner than this was no success: a server that accepts and hangs up must not be
    /// hammered either.
    private static let proof: Duration = .seconds(2)

    private var state = State.unproven
    private var failures = 0

    /// Whether an attempt may begin now; if so, it has begun.
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

    /// When ``begin(now:)`` should be asked again; nil if an attempt under way or nobody's wish decides.
    var nextAttempt: ContinuousClock.Instant? {
        guard case .waiting(let until) = state else { return nil }
        return until
    }

    mutating func succeeded() {
        state = .open
    }

    /// An attempt failed.
    ///
    /// `chance` is between 0 and 1. Of several that were under way together the first one counts.
    mutating func failed(now: ContinuousClock.Instant, chance: Double) {
        if case .waiting = state { return }
        failures += 1
        let factor = 1 << min(failures - 1, 10)
        let full = min(Self.shortest * factor, Self.longest)
        state = .waiting(until: now + full - full / 2 * chance)
    }

    /// An attempt ended without saying anything of the server.
    mutating func withdrawn() {
        if case .probing = state { state = .unproven }
    }

    /// A connection that had been open for `age` broke.
    ///
    /// `chance` is between 0 and 1.
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
