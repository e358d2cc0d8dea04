import Domain
import NIOConcurrencyHelpers
import Providers

/// The circuit breaker for questions to one former system.
///
/// Concurrent logins share it.
final class FormerLink: Sendable {
    /// The key under which a circuit breaker is kept.
    ///
    /// If two applications have the same former system, each has a circuit breaker of its own. So the settings of one
    /// cannot harm the other. Changed settings get a new one.
    struct Key: Hashable {
        let application: ApplicationID
        let source: PasswordSource
    }

    private let breaker = NIOLockedValueBox(CircuitBreaker())
    private let gauge: LinkGauge

    init(_ key: Key) {
        gauge = LinkGauge(.password, key.application, app: key.source.kind.rawValue)
    }

    /// Asks the circuit breaker whether a question may be sent.
    ///
    /// - Throws: The failure to report if the circuit breaker refuses the question.
    func pass() throws(Failure) -> CircuitBreaker.Pass {
        try breaker.withLockedValue { $0.admit(at: .now) }.pass(to: .formerSystem)
    }

    /// Records what a question has shown about the former system's health; nil means that it sent a valid response.
    func record(_ signal: HealthSignal?, of pass: CircuitBreaker.Pass) {
        breaker.withLockedValue { breaker in
            breaker.record(.init(signal, nil), of: pass, at: .now)
            gauge.note(breaker)
        }
    }
}
