import Providers
import Vocabulary
import NIOConcurrencyHelpers
import Upstream

/// What the logins of one app have learnt about Graph, shared by those under way.
final class AppLink: Sendable {
    /// An app as one application uses it.
    ///
    /// Two applications that share an app learn separately, so that neither can harm the
    /// other by its settings.
    struct Key: Hashable {
        let application: ApplicationID
        let app: ProviderAppID
    }

    fileprivate struct State: Sendable {
        var breaker = CircuitBreaker()
        var background = BackgroundGate()
        var usage: GraphUsage?
        var usageHeader: [UInt8] = []
        var answer: Answer?
    }

    /// Which version answered to which.
    struct Answer: Sendable {
        let asked: String
        let answered: String
    }

    private let state = NIOLockedValueBox(State())

    /// Lets a login ask.
    ///
    /// - Throws: What a login is told that may not.
    func pass() throws(Failure) -> CircuitBreaker.Pass {
        try state.withLockedValue { $0.breaker.admit(at: .now) }.pass(to: .facebook)
    }

    /// Whether it may ask again.
    func allowsRepeats(_ pass: CircuitBreaker.Pass) -> Bool {
        state.withLockedValue { $0.breaker.allowsRepeats(pass) }
    }

    /// Takes in what a login learnt.
    func record(_ outcome: CircuitBreaker.Outcome, of pass: CircuitBreaker.Pass) {
        state.withLockedValue { $0.breaker.record(outcome, of: pass, at: .now) }
    }

    /// How fast work in the background may ask.
    func backgroundPace() -> BackgroundPace {
        state.withLockedValue { $0.breaker.isOpen ? $0.background.pace(at: .now) : .none }
    }

    /// Takes in what a question of the background came to; logins go on as before.
    func noteInBackground(_ signal: HealthSignal?) {
        state.withLockedValue { $0.background.note(signal, at: .now) }
    }

    /// The usage that Graph told last.
    var usage: GraphUsage? { state.withLockedValue { $0.usage } }

    /// The version that answered last.
    var answer: Answer? { state.withLockedValue { $0.answer } }

    /// Takes in what the headers of a reply say; most say the same as those before.
    func note(_ reply: GraphReply, asked: String) {
        let (usage, version) = (reply.usageHeader, reply.versionHeader)
        state.withLockedValue { state in
            if let usage { state.note(usageHeader: usage) }
            if let version { state.note(version: version, asked: asked) }
        }
    }
}

extension AppLink.State {
    fileprivate mutating func note(usageHeader header: String) {
        if !header.utf8.elementsEqual(usageHeader) {
            guard let usage = GraphUsage(header: header) else { return }
            usageHeader = Array(header.utf8)
            self.usage = usage
        }
        if let percent = usage?.highest { background.note(usage: percent, at: .now) }
    }

    fileprivate mutating func note(version: String, asked: String) {
        if let answer, answer.answered.hasSameBytes(as: version), answer.asked.hasSameBytes(as: asked) { return }
        if GraphVersions.isVersion(version) { answer = AppLink.Answer(asked: asked, answered: version) }
    }
}
