internal import Domain
internal import NIOConcurrencyHelpers
internal import Providers

/// The circuit breaker for the requests of one consumer.
///
/// Concurrent logins share it.
final class ConsumerLink: Sendable {
    /// The key of a circuit breaker: a consumer in one application, and a kind of request.
    ///
    /// If two applications have the same consumer, each has a circuit breaker of its own. So neither can harm the other
    /// by its settings.
    struct Key: Hashable {
        let application: ApplicationID
        let consumer: String
        let question: Question
    }

    /// The kind of request.
    ///
    /// Each kind has a circuit breaker of its own.
    ///
    /// Every client with an API key can cause requests for request tokens. Their failures must not stop logins.
    enum Question {
        case account
        case requestToken
    }

    private let breaker = NIOLockedValueBox(CircuitBreaker())
    /// The gauge of the circuit breaker; nil for request tokens, which have no gauge.
    private let gauge: LinkGauge?

    init(_ key: Key) {
        gauge = key.question == .account ? LinkGauge(.twitter, key.application, app: key.consumer) : nil
    }

    /// Decides whether a login may send requests.
    ///
    /// - Throws: The failure to report if the circuit breaker refuses the login.
    func pass() throws(Failure) -> CircuitBreaker.Pass {
        try breaker.withLockedValue { $0.admit(at: .now) }.pass(to: .twitter)
    }

    /// Returns whether a login that may send requests may also retry them.
    func allowsRepeats(_ pass: CircuitBreaker.Pass) -> Bool {
        breaker.withLockedValue { $0.allowsRepeats(pass) }
    }

    /// Records the outcome of a login.
    ///
    /// Nil means that Twitter sent a valid response.
    func record(_ signal: HealthSignal?, of pass: CircuitBreaker.Pass) {
        breaker.withLockedValue { breaker in
            breaker.record(.init(signal, nil), of: pass, at: .now)
            gauge?.note(breaker)
        }
    }
}
