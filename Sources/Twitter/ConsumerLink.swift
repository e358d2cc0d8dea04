internal import Domain
internal import NIOConcurrencyHelpers
internal import Providers

/// The circuit breaker for requests that a consumer (Twitter's word for an app) signs.
///
/// Concurrent logins share it.
final class ConsumerLink: Sendable {
    /// The key under which a circuit breaker is kept: a consumer in one application, and a kind of request.
    ///
    /// If two applications have the same consumer, each has a circuit breaker of its own. So the settings of one cannot
    /// harm the other.
    struct Key: Hashable {
        let application: ApplicationID
        let consumer: String
        let question: Question
    }

    /// The kind of request to Twitter; each kind has a circuit breaker of its own.
    ///
    /// Every client with an API key can make the service fetch OAuth request tokens. If these requests fail, logins
    /// must go on.
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

    /// Asks the circuit breaker whether a request may be sent to Twitter.
    ///
    /// - Throws: The failure to report if the circuit breaker refuses the request.
    func pass() throws(Failure) -> CircuitBreaker.Pass {
        try breaker.withLockedValue { $0.admit(at: .now) }.pass(to: .twitter)
    }

    /// Returns whether a request that may be sent may also be retried.
    func allowsRepeats(_ pass: CircuitBreaker.Pass) -> Bool {
        breaker.withLockedValue { $0.allowsRepeats(pass) }
    }

    /// Records what a request has shown about Twitter's health; nil means that Twitter sent a valid response.
    func record(_ signal: HealthSignal?, of pass: CircuitBreaker.Pass) {
        breaker.withLockedValue { breaker in
            breaker.record(.init(signal, nil), of: pass, at: .now)
            gauge?.note(breaker)
        }
    }
}
