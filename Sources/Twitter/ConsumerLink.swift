internal import NIOConcurrencyHelpers
internal import Upstream
internal import Vocabulary

/// What the questions of one consumer have learnt about Twitter, shared by those under way.
final class ConsumerLink: Sendable {
    /// A consumer as one application uses it, so that two applications that share one cannot harm each other by their
    /// settings.
    struct Key: Hashable {
        let application: ApplicationID
        let consumer: String
        let question: Question
    }

    /// What is asked.
    ///
    /// Anybody with an API key may have request tokens made: however many do, logins go on.
    enum Question {
        case account
        case requestToken
    }

    private let breaker = NIOLockedValueBox(CircuitBreaker())
    /// Of logins; the other question is nobody's worry.
    private let gauge: LinkGauge?

    init(_ key: Key) {
        gauge = key.question == .account ? LinkGauge(.twitter, key.application, app: key.consumer) : nil
    }

    /// Lets a login ask.
    ///
    /// - Throws: What a login is told that may not.
    func pass() throws(Failure) -> CircuitBreaker.Pass {
        try breaker.withLockedValue { $0.admit(at: .now) }.pass(to: .twitter)
    }

    /// Whether it may ask again.
    func allowsRepeats(_ pass: CircuitBreaker.Pass) -> Bool {
        breaker.withLockedValue { $0.allowsRepeats(pass) }
    }

    /// Takes in what a login learnt; nil stands for an answer that was understood.
    func record(_ signal: HealthSignal?, of pass: CircuitBreaker.Pass) {
        breaker.withLockedValue { breaker in
            breaker.record(.init(signal, nil), of: pass, at: .now)
            gauge?.note(breaker)
        }
    }
}
