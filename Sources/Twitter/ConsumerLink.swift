internal import Domain
internal import NIOConcurrencyHelpers
internal import Providers

/// The circuit breaker for the requests of one consumer, shared by concurrent logins.
final class ConsumerLink: Sendable {
    /// A consumer in one application, for one kind of request.
    ///
    /// Two applications with the same consumer have separate links, so that neither can harm the other by its settings.
    struct Key: Hashable {
        let application: ApplicationID
        let consumer: String
        let question: Question
    }

    /// The kind of request.
    ///
    /// Every client with an API key can have request tokens made: their failures must not stop logins.
    enum Question {
        case account
        case requestToken
    }

    private let breaker = NIOLockedValueBox(CircuitBreaker())
    /// The gauge of the circuit breaker; nil for request tokens, which nobody watches.
    private let gauge: LinkGauge?

    init(_ key: Key) {
        gauge = key.question == .account ? LinkGauge(.twitter, key.application, app: key.consumer) : nil
    }

    /// Admits a login to send requests.
    ///
    /// - Throws: The failure of a login that is not admitted.
    func pass() throws(Failure) -> CircuitBreaker.Pass {
        try breaker.withLockedValue { $0.admit(at: .now) }.pass(to: .twitter)
    }

    /// Returns whether an admitted login may retry.
    func allowsRepeats(_ pass: CircuitBreaker.Pass) -> Bool {
        breaker.withLockedValue { $0.allowsRepeats(pass) }
    }

    /// Records the outcome of a login; nil stands for a valid response.
    func record(_ signal: HealthSignal?, of pass: CircuitBreaker.Pass) {
        breaker.withLockedValue { breaker in
            breaker.record(.init(signal, nil), of: pass, at: .now)
            gauge?.note(breaker)
        }
    }
}
