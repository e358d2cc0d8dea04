internal import Identity

/// What the logins of one app have learnt about Graph, shared by those under way.
final class AppLink: Sendable {
    /// An app as one application uses it.
    ///
    /// Two applications that share an app learn separately, so that neither can harm the
    /// other by its settings.
    struct Key: Hashable {
        let application: ApplicationID
        let app: FacebookAppID
    }

    private struct State: Sendable {
        var breaker = CircuitBreaker()
        var usage: GraphUsage?
    }

    private let state = Guarded(State())

    /// Whether a login may ask.
    func admit() -> CircuitBreaker.Admission {
        state.withLock { $0.breaker.admit(at: .now) }
    }

    /// Whether it may ask again.
    func allowsRepeats(_ pass: CircuitBreaker.Pass) -> Bool {
        state.withLock { $0.breaker.allowsRepeats(pass) }
    }

    /// Takes in what a login learnt.
    func record(_ outcome: CircuitBreaker.Outcome, of pass: CircuitBreaker.Pass) {
        state.withLock { $0.breaker.record(outcome, of: pass, at: .now) }
    }

    /// The usage that Graph told last.
    var usage: GraphUsage? {
        get { state.withLock(\.usage) }
        set { state.withLock { $0.usage = newValue } }
    }
}

extension CircuitBreaker.Outcome {
    /// What two questions say together; nil stands for an answer that was understood.
    init(_ one: Significance?, _ other: Significance?) {
        self = .answered
        for significance in [one, other] {
            switch (significance, self) {
            case (.limited(let limit), .limited(let known)):
                self = .limited(limit.scope == .app ? limit : known)
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

extension Failure {
    /// What a login is told that may not ask.
    init(refused reason: CircuitBreaker.Reason, retryAfter: Int) {
        switch reason {
        case .unavailable: self = .unavailable(retryAfter: retryAfter, cause: "Graph: circuit breaker is open")
        case .rateLimited: self = .limited(retryAfter: retryAfter, cause: "Graph: rate limit is in force")
        }
    }
}
