package import Vocabulary

/// Decides which logins may ask a provider as one app: all, none, or one to try whether it works again.
///
/// Two things open it. The provider does not answer (`unavailable`): then waiting for it costs every login its whole
/// time, and asking adds to its load. Or it says that we ask too much (`rateLimited`). Both end the same way: at most
/// one login per second, and one at a time, goes through as a probe, and when it gets an answer the breaker is closed
/// again.
///
/// It opens after eight logins in a row whose questions failed although each was asked twice. A run, not a share of the
/// last calls: while half of the logins still succeed, opening would take that half away, too, and whatever ends in an
/// outage brings a run soon. Eight, because when a tenth of all calls hangs, which nothing repeats, a fifth of the
/// logins fails: five in a row then come every 4 000 logins, eight every 600 000.
///
/// A pure state machine; times are arguments, and what a login tells about an earlier state is ignored.
package struct CircuitBreaker: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// Why the breaker is open.
    package enum Reason: Sendable, Equatable {
        case unavailable
        case rateLimited
    }

    /// What a login may do.
    package enum Decision: Sendable, Equatable {
        /// Ask, and tell the outcome with `record`, whatever it is.
        case pass(Pass)
        /// Do not ask; seconds after which another try makes sense.
        case refused(Reason, retryAfter: Int)
    }

    /// The permission of one login.
    package struct Pass: Sendable, Equatable {
        /// Whether it is the one login that tries.
        package let isProbe: Bool
        fileprivate let generation: UInt64
    }

    /// What a login learnt about the provider.
    package enum Outcome: Sendable, Equatable {
        case answered
        case failed
        case limited(RateLimit)
        /// Nothing: its caller went away, or our own limits stopped it.
        case abandoned
    }

    private enum State {
        /// Every login passes. Goes to `open` after a run of failures or a rate limit.
        case closed(failures: Int)
        /// No login passes until `probe`. Goes to `halfOpen` with the first one after it.
        case open(Reason, probe: Instant, advice: Instant)
        /// One login is trying. Goes to `closed` when it gets an answer, otherwise back to `open`.
        case halfOpen(Reason, since: Instant, advice: Instant)
    }

    /// Logins in a row that open the breaker.
    package static let longestRun = 8
    /// Least time between two probes.
    static let probeInterval: Duration = .seconds(1)
    /// Longest time that a rate limit keeps us from probing.
    static let longestSilence = 60

    private var state = State.closed(failures: 0)
    /// Counts the changes of state, so that a pass of an earlier one is known as such.
    private var generation: UInt64 = 0

    package init() {}

    /// Whether a login may ask; a `pass` has to be returned by `record`.
    package mutating func admit(at now: Instant) -> Decision {
        switch state {
        case .closed:
            return .pass(Pass(isProbe: false, generation: generation))
        case .open(let reason, let probe, let advice):
            guard now >= probe else {
                return .refused(reason, retryAfter: Self.seconds(from: now, to: max(probe, advice)))
            }
            enter(.halfOpen(reason, since: now, advice: advice))
            return .pass(Pass(isProbe: true, generation: generation))
        case .halfOpen(let reason, _, let advice):
            return .refused(reason, retryAfter: Self.seconds(from: now, to: advice))
        }
    }

    /// Whether every login passes.
    package var isClosed: Bool {
        if case .closed = state { true } else { false }
    }

    /// Whether a login may still repeat a question: not as a probe, and not when the breaker has opened since it began.
    package func allowsRepeats(_ pass: Pass) -> Bool {
        !pass.isProbe && pass.generation == generation
    }

    /// Takes in what a login learnt.
    package mutating func record(_ outcome: Outcome, of pass: Pass, at now: Instant) {
        guard pass.generation == generation else { return }
        switch state {
        case .closed(let failures):
            recordClosed(outcome, failures: failures, at: now)
        case .halfOpen(let reason, let since, let advice):
            switch outcome {
            case .answered: enter(.closed(failures: 0))
            case .failed: openUnavailable(at: now)
            case .limited(let limit): openLimited(limit, at: now)
            case .abandoned: enter(.open(reason, probe: since + Self.probeInterval, advice: advice))
            }
        case .open:
            // No pass is given out in this state.
            break
        }
    }

    private mutating func recordClosed(_ outcome: Outcome, failures: Int, at now: Instant) {
        switch outcome {
        case .answered:
            state = .closed(failures: 0)
        case .failed where failures + 1 >= Self.longestRun:
            openUnavailable(at: now)
        case .failed:
            state = .closed(failures: failures + 1)
        case .limited(let limit):
            openLimited(limit, at: now)
        case .abandoned:
            break
        }
    }

    private mutating func openUnavailable(at now: Instant) {
        let probe = now + Self.probeInterval
        enter(.open(.unavailable, probe: probe, advice: probe))
    }

    private mutating func openLimited(_ limit: RateLimit, at now: Instant) {
        let silence = min(max(limit.seconds ?? 1, 1), Self.longestSilence)
        enter(
            .open(
                .rateLimited,
                probe: now + .seconds(silence),
                advice: now + .seconds(limit.seconds ?? RateLimit.defaultSeconds)
            )
        )
    }

    private mutating func enter(_ next: State) {
        state = next
        generation &+= 1
    }

    /// Whole seconds, at least one.
    private static func seconds(from now: Instant, to then: Instant) -> Int {
        let (seconds, rest) = (then - now).components
        return Int(max(1, rest > 0 ? seconds + 1 : seconds))
    }
}

extension CircuitBreaker.Decision {
    /// The pass.
    ///
    /// - Throws: What a login is told that has none.
    package func pass(to service: UpstreamService) throws(Failure) -> CircuitBreaker.Pass {
        switch self {
        case .pass(let pass): return pass
        case .refused(.unavailable, let retryAfter):
            throw .unavailable(
                service,
                retryAfter: retryAfter,
                cause: "\(service.api): circuit breaker is open"
            )
        case .refused(.rateLimited, let retryAfter):
            throw .limited(service, retryAfter: retryAfter, cause: "\(service.api): rate limit is in force")
        }
    }
}

extension CircuitBreaker.Outcome {
    /// What two questions say together; nil stands for an answer that was understood.
    package init(_ one: HealthSignal?, _ other: HealthSignal?) {
        self = .answered
        for signal in [one, other] {
            switch (signal, self) {
            case (.limited(let limit), .limited(let known)):
                self = .limited(max(limit, known))
            case (.limited(let limit), _):
                self = .limited(limit)
            case (.transient, .answered), (.failed, .answered), (.transient, .abandoned), (.failed, .abandoned):
                self = .failed
            case (.untold, .answered):
                self = .abandoned
            case (_, _):
                break
            }
        }
    }
}
