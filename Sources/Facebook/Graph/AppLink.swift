import Curl
import Domain
import Encodings
import NIOConcurrencyHelpers
import Providers

/// What the service knows about Graph for one app: its circuit breaker, the version that responded, and the usage of
/// the app's rate limit.
///
/// Concurrent logins share one object.
final class AppLink: Sendable {
    /// The key under which an `AppLink` is kept: a Facebook app in one application.
    ///
    /// If two applications use the same app, each has an `AppLink` of its own. So the settings of one cannot harm the
    /// other.
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

    /// The requested version of Graph and the version that responded.
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

    /// Asks the circuit breaker whether a login may send requests for the app to Graph.
    ///
    /// - Throws: The failure to report if the circuit breaker refuses the login.
    func pass() throws(Failure) -> CircuitBreaker.Pass {
        try state.withLockedValue { $0.breaker.admit(at: .now) }.pass(to: .facebook)
    }

    /// Returns whether a login that may send requests may also retry them.
    func allowsRepeats(_ pass: CircuitBreaker.Pass) -> Bool {
        state.withLockedValue { $0.breaker.allowsRepeats(pass) }
    }

    /// Records what a login has learnt about Graph's health.
    func record(_ outcome: CircuitBreaker.Outcome, of pass: CircuitBreaker.Pass) {
        state.withLockedValue { state in
            state.breaker.record(outcome, of: pass, at: .now)
            breakerGauge.note(state.breaker)
        }
    }

    /// Returns how fast background work may send requests.
    func backgroundPace() -> BackgroundPace {
        state.withLockedValue { $0.breaker.isClosed ? $0.background.pace(at: .now) : .none }
    }

    /// Records the outcome of a background request.
    ///
    /// The outcome affects only other background requests, not logins.
    func noteInBackground(_ signal: HealthSignal?) {
        state.withLockedValue { $0.background.note(signal, at: .now) }
    }

    /// The version that responded last, with the version that was requested.
    var answer: Answer? { state.withLockedValue { $0.answer } }

    /// Records the Graph version and the usage of the rate limit from the headers of a response.
    ///
    /// Most responses repeat the headers of the previous response, so `X-App-Usage` is parsed only after a change.
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
    /// Records the usage of the rate limit.
    ///
    /// - Returns: Whether the header is valid and differs from the previous one.
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

/// The sender of requests to Graph: an app with its secret, and the settings of the application.
struct GraphCaller {
    let app: ProviderApp
    let settings: FacebookSettings
    let configuration: GraphConfiguration

    /// Creates the sender, and checks that the app's secret can be sent.
    ///
    /// The secret must be printable ASCII without spaces, and not empty.
    ///
    /// - Throws: `provider_misconfigured`.
    init(_ app: ProviderApp, _ settings: FacebookSettings, _ configuration: GraphConfiguration) throws(Failure) {
        let secret = app.secret.reveal().utf8
        guard !secret.isEmpty, secret.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Failure(
                .providerMisconfigured,
                "The secret of the Facebook app is missing or has invalid characters. The operator must set it.",
                retryAfter: 60
            )
        }
        self.app = app
        self.settings = settings
        self.configuration = configuration
    }

    /// The app token: the app id and the app secret, separated by `|`.
    var appToken: String { app.id.text + "|" + app.secret.reveal() }

    /// Returns the `appsecret_proof` for a token.
    ///
    /// `now` is the current time in Unix seconds, for timed proofs.
    func proof(of token: String, now: Int64) -> AppSecretProof {
        AppSecretProof(of: token, secret: app.secret, form: settings.proof, now: now)
    }

    /// Returns the path to an endpoint in the Graph version of the application.
    ///
    /// A path without a version would mean the oldest version that the app may use.
    func target(_ endpoint: String...) -> Target {
        Target(configuration.basePath, [settings.graphVersion] + endpoint)
    }

    /// Returns a request that a token authorizes.
    ///
    /// - Throws: `tooLong` if the target is too long to send; `provider_misconfigured` if it is not valid.
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

    /// Returns a form request to `oauth/access_token`, with the app id and the app secret.
    ///
    /// The body contains both, so that no URL does.
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
