package import Domain

/// The circuit breaker for the requests of an app.
///
/// While it is closed, it admits all logins. While it is open, it admits no login, except one at a time as a probe.
///
/// Two events open it. The first: the provider does not respond (`unavailable`). Each login would wait in vain, and its
/// requests would add to the provider's load. The second: the provider reports a rate limit (`rateLimited`). In both
/// cases, the breaker admits at most one probe per second. A response to a probe closes the breaker.
///
/// The breaker opens after eight failed logins in a row, each with its retries. The share of failed logins does not
/// count: if half of the logins fail, opening the breaker would make the other half fail, too. A real outage soon
/// causes eight failures in a row.
///
/// The reason for eight: a login sends two requests, and a request that hangs is not retried. So if a tenth of all
/// requests hangs, a fifth of the logins fails. Then five failures in a row occur once in 4 000 logins, and eight once
/// in 600 000.
///
/// The breaker is a pure state machine: times are arguments. If the state has changed since a login was admitted, the
/// login's outcome is ignored.
package struct CircuitBreaker: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// Why the circuit breaker is open, which means that it does not admit every login.
    package enum Reason: Sendable, Equatable {
        case unavailable
        case rateLimited
    }

    /// The decision whether a login may send requests.
    package enum Decision: Sendable, Equatable {
        /// The login may send requests. It must report its outcome by `record` in every case.
        case pass(Pass)
        /// The login may not send requests. A retry makes sense after these seconds.
        case refused(Reason, retryAfter: Int)
    }

    /// What a login receives if the circuit breaker admits it.
    package struct Pass: Sendable, Equatable {
        /// Whether the login is a probe, which shows whether the provider works again.
        package let isProbe: Bool
        fileprivate let generation: UInt64
    }

    /// What the outcome of a login shows about the provider's health.
    package enum Outcome: Sendable, Equatable {
        case answered
        case failed
        case limited(RateLimit)
        /// Nothing is known, since the client disconnected or a limit of this service stopped the login.
        case abandoned
    }

    private enum State {
        /// Every login is admitted. The next state is `open`, after failures in a row or a rate limit.
        case closed(failures: Int)
        /// No login is admitted before `probe`. The first login after that time makes the state `halfOpen`.
        case open(Reason, probe: Instant, advice: Instant)
        /// One login probes. If the probe gets a response, the next state is `closed`, otherwise `open`.
        case halfOpen(Reason, since: Instant, advice: Instant)
    }

    /// The number of failed logins in a row that opens the breaker.
    package static let longestRun = 8
    /// The minimum time between two logins that probe whether the provider works again.
    static let probeInterval: Duration = .seconds(1)
    /// The maximum time, in seconds, for which a provider's rate limit delays the next probe.
    static let longestSilence = 60

    private var state = State.closed(failures: 0)
    /// The number of changes of the breaker's state so far.
    ///
    /// Each admitted login remembers this number. If it has changed since, the login was admitted in an earlier state.
    private var generation: UInt64 = 0

    package init() {}

    /// Decides whether a login may send requests.
    ///
    /// After `pass`, the login must call `record`.
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

    /// Whether the circuit breaker is closed, which means that it admits every login.
    package var isClosed: Bool {
        if case .closed = state { true } else { false }
    }

    /// Returns whether a login that the circuit breaker has admitted may retry a request.
    ///
    /// A probe may not. A login that was admitted before the breaker opened may not either.
    package func allowsRepeats(_ pass: Pass) -> Bool {
        !pass.isProbe && pass.generation == generation
    }

    /// Records the outcome of a login, which may open or close the circuit breaker.
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
            // No login is admitted in this state.
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

    /// Returns the time between two instants in whole seconds, rounded up, at least one.
    private static func seconds(from now: Instant, to then: Instant) -> Int {
        let (seconds, rest) = (then - now).components
        return Int(max(1, rest > 0 ? seconds + 1 : seconds))
    }
}

extension CircuitBreaker.Decision {
    /// Returns the pass of a login that the circuit breaker has admitted.
    ///
    /// - Throws: The failure of the login, if the circuit breaker did not admit it.
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
    /// Creates the outcome of a login from what its two requests show about the provider's health.
    ///
    /// A nil argument means that the provider sent a valid response to that request.
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
