import Curl
import NIOConcurrencyHelpers
import Providers
import Upstream
import Vocabulary

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
    private let breakerGauge: LinkGauge
    private let usageGauges: UsageGauges

    init(_ key: Key) {
        breakerGauge = LinkGauge(.facebook, key.application, app: key.app.text)
        usageGauges = UsageGauges(key)
    }

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
        state.withLockedValue { state in
            state.breaker.record(outcome, of: pass, at: .now)
            breakerGauge.note(state.breaker)
        }
    }

    /// How fast work in the background may ask.
    func backgroundPace() -> BackgroundPace {
        state.withLockedValue { $0.breaker.isClosed ? $0.background.pace(at: .now) : .none }
    }

    /// Takes in what a question of the background came to; logins go on as before.
    func noteInBackground(_ signal: HealthSignal?) {
        state.withLockedValue { $0.background.note(signal, at: .now) }
    }

    /// The version that answered last.
    var answer: Answer? { state.withLockedValue { $0.answer } }

    /// Takes in what the headers of a reply say; most say the same as those before.
    func note(_ reply: GraphReply, asked: String) {
        let (usage, version) = (reply.usageHeader, reply.versionHeader)
        state.withLockedValue { state in
            if let usage, state.note(usageHeader: usage), let usage = state.usage { usageGauges.note(usage) }
            if let version { state.note(version: version, asked: asked) }
        }
        if let usage = reply.businessUsageHeader { usageGauges.note(businessUsage: usage) }
    }
}

extension AppLink.State {
    /// - Returns: Whether it says something else than the one before.
    fileprivate mutating func note(usageHeader header: String) -> Bool {
        let isNew = !header.utf8.elementsEqual(usageHeader)
        if isNew {
            guard let usage = GraphUsage(header: header) else { return false }
            usageHeader = Array(header.utf8)
            self.usage = usage
        }
        if let percent = usage?.highest { background.note(usage: percent, at: .now) }
        return isNew
    }

    fileprivate mutating func note(version: String, asked: String) {
        if let answer, answer.answered.hasSameBytes(as: version), answer.asked.hasSameBytes(as: asked) { return }
        if GraphVersions.isVersion(version) { answer = AppLink.Answer(asked: asked, answered: version) }
    }
}

/// Who asks Graph, and how: an app with its secret, by the settings of the application that it belongs to.
struct GraphCaller {
    let app: ProviderApp
    let settings: FacebookSettings
    let configuration: GraphConfiguration

    /// Takes an app whose secret can be sent: printable ASCII without spaces, and not empty.
    ///
    /// - Throws: `provider_misconfigured`.
    init(_ app: ProviderApp, _ settings: FacebookSettings, _ configuration: GraphConfiguration) throws(Failure) {
        let secret = app.secret.reveal().utf8
        guard !secret.isEmpty, secret.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Failure(
                .providerMisconfigured,
                "The secret of the Facebook app is missing or has characters that no secret has. The operator has to set it.",
                retryAfter: 60
            )
        }
        self.app = app
        self.settings = settings
        self.configuration = configuration
    }

    /// The token of the app itself.
    var appToken: String { app.id.text + "|" + app.secret.reveal() }

    /// The proof of a token; `now` in Unix seconds, for timed proofs.
    func proof(of token: String, now: Int64) -> AppSecretProof {
        AppSecretProof(of: token, secret: app.secret, form: settings.proof, now: now)
    }

    /// The path to an endpoint, in the application's version of Graph; without one it is the oldest that the app may
    /// use.
    func target(_ endpoint: String...) -> Target {
        Target(configuration.basePath, [settings.graphVersion] + endpoint)
    }

    /// The question at a target, asked with a token.
    ///
    /// - Throws: `tooLong` when the target is too long to be sent, `provider_misconfigured` when it is none.
    func question(
        _ call: ProviderCall,
        _ target: Target,
        bearer: String,
        tooLong: Failure? = nil
    ) throws(Failure) -> GraphQuestion {
        do throws(CurlError) {
            let url = try configuration.base.withTarget(target.text)
            return GraphQuestion(call: call, url: url, bearer: Secret(bearer), version: settings.graphVersion)
        } catch {
            if case .invalidRequest(.urlTooLong) = error, let tooLong { throw tooLong }
            throw ProviderFault(error, of: .facebook).failure
        }
    }

    /// The question by a form to `oauth/access_token`, in which the app names itself and its secret, so that neither is
    /// in a URL.
    ///
    /// - Throws: `provider_misconfigured`.
    func question(
        _ call: ProviderCall,
        ofGrant type: String,
        _ fill: (inout Parameters) -> Void
    ) throws(Failure) -> GraphQuestion {
        var form = Parameters()
        form.add("grant_type", type)
        form.add("client_id", app.id.text)
        form.add("client_secret", app.secret.reveal())
        fill(&form)
        do throws(CurlError) {
            let url = try configuration.base.withTarget(target("oauth", "access_token").text)
            return GraphQuestion(call: call, url: url, bearer: nil, version: settings.graphVersion, form: form)
        } catch {
            throw ProviderFault(error, of: .facebook).failure
        }
    }
}
