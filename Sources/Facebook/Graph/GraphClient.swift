package import Curl
import Upstream
package import Vocabulary

/// Asks Facebook; each question is an extension beside its answer.
///
/// Safe to share; one is enough for all applications.
package final class GraphClient: Sendable {
    let curl: CurlClient
    package let configuration: GraphConfiguration
    private let links = Links<AppLink.Key, AppLink> { AppLink($0) }

    /// Makes a client; nothing is sent before the first question.
    package init(curl: CurlClient, configuration: GraphConfiguration) {
        self.curl = curl
        self.configuration = configuration
    }

    /// Asks `debug_token` and `/me` about a token, both at once.
    ///
    /// A question that failed for a passing reason is asked again after some 50 ms, twice in all for the login, inside
    /// the deadline and while that can still change the outcome. Never throws; whatever went wrong is in the evidence.
    /// When the calling task is cancelled it returns soon, with evidence that is refused.
    ///
    /// - Parameters:
    ///   - token: The access token as the client sent it.
    ///   - app: The app to ask as.
    ///   - settings: Graph version and form of the proof.
    ///   - fields: Graph's field syntax, each field once, with `id` among them.
    ///   - application: Whose login it is.
    ///   - deadline: When the answer is worth nothing any more.
    ///   - now: Unix seconds, for timed proofs.
    /// - Returns: Both answers, or why there is none.
    package func evidence(
        token: Secret,
        app: ProviderApp,
        settings: FacebookSettings,
        fields: String,
        application: ApplicationID,
        deadline: ContinuousClock.Instant,
        now: Int64
    ) async -> AccessTokenEvidence {
        let exchange: Exchange
        do throws(Failure) {
            let token = try TokenText(token)
            let caller = try GraphCaller(app, settings, configuration)
            let inspection = try TokenInspectionCall.question(token, by: caller, now: now)
            let profile = try ProfileFetch.question(fields, of: token, by: caller, now: now)
            let link = link(AppLink.Key(application: application, app: app.id))
            exchange = Exchange(
                curl: curl,
                configuration: configuration,
                link: link,
                pass: try link.pass(),
                inspection: inspection,
                profile: profile,
                isGraphToken: token.isGraphToken,
                deadline: deadline
            )
        } catch {
            // Nothing was asked.
            return AccessTokenEvidence(inspection: .failed(error), profile: .failed(error))
        }
        return await exchange.evidence()
    }

    /// The version of Graph that answered last, to a login or to a check; nil as long as none has said so.
    ///
    /// - Parameters:
    ///   - app: The app that asked.
    ///   - application: Whose app it is.
    ///   - version: The version that the settings ask for; an answer to another one, which they asked for before, is
    ///     none. Nil takes every answer.
    /// - Returns: A version such as `v25.0`.
    package func answeredVersion(
        of app: ProviderAppID,
        application: ApplicationID,
        asked version: String? = nil
    ) -> String? {
        let answer = knownLink(of: app, application)?.answer
        guard let answer, version.map({ answer.asked.hasSameBytes(as: $0) }) ?? true else { return nil }
        return answer.answered
    }

    /// What was learnt about an app; nil when nothing was.
    func knownLink(of app: ProviderAppID, _ application: ApplicationID) -> AppLink? {
        links.known(AppLink.Key(application: application, app: app))
    }

    func link(_ key: AppLink.Key) -> AppLink { links.link(key) }
}

/// The questions and answers of one login.
///
/// A class, so that the two calls under way share it instead of each holding a copy while they wait.
final class Exchange: Sendable {
    let curl: CurlClient
    let configuration: GraphConfiguration
    let link: AppLink
    let pass: CircuitBreaker.Pass
    let inspection: GraphQuestion
    let profile: GraphQuestion
    let isGraphToken: Bool
    let deadline: ContinuousClock.Instant

    init(
        curl: CurlClient,
        configuration: GraphConfiguration,
        link: AppLink,
        pass: CircuitBreaker.Pass,
        inspection: GraphQuestion,
        profile: GraphQuestion,
        isGraphToken: Bool,
        deadline: ContinuousClock.Instant
    ) {
        self.curl = curl
        self.configuration = configuration
        self.link = link
        self.pass = pass
        self.inspection = inspection
        self.profile = profile
        self.isGraphToken = isGraphToken
        self.deadline = deadline
    }

    /// Repetitions of one login, of both questions together.
    ///
    /// With one call in ten failing, four logins in a thousand fail.
    private static let maxRepeats = 2

    /// Asks, and tells the breaker how it went.
    func evidence() async -> AccessTokenEvidence {
        let answers = await run()
        link.record(answers.outcome, of: pass)
        return answers.evidence
    }

    /// Asks, and asks again what may still help.
    private func run() async -> Answers {
        var answers = await ask(after: nil)
        var repeats = Self.maxRepeats
        while repeats > 0, answers.wantsInspection || answers.wantsProfile, link.allowsRepeats(pass),
            await Repetition.pause(before: deadline)
        {
            repeats -= (answers.wantsInspection ? 1 : 0) + (answers.wantsProfile ? 1 : 0)
            answers = await ask(after: answers)
        }
        return answers
    }

    /// Asks both questions at once: the first time, and again where that may still help.
    ///
    /// One place for both, since a task that waits keeps 640 bytes for each `async let` that its function has.
    private func ask(after last: Answers?) async -> Answers {
        async let inspected = inspect(after: last)
        async let fetched = fetch(after: last)
        return await Answers(inspection: inspected, profile: fetched)
    }

    private func inspect(after last: Answers?) async -> Result<AccessTokenEvidence.Inspection, ProviderFault> {
        if let last, !last.wantsInspection { return last.inspection }
        do throws(ProviderFault) {
            let reply = try await inspection.ask(curl, configuration, until: deadline, of: link)
            return .success(try TokenInspectionCall.answer(reply, isGraphToken: isGraphToken))
        } catch {
            return .failure(error)
        }
    }

    private func fetch(after last: Answers?) async -> Result<JSONObject, ProviderFault> {
        if let last, !last.wantsProfile { return last.profile }
        do throws(ProviderFault) {
            let reply = try await profile.ask(curl, configuration, until: deadline, of: link)
            return .success(try ProfileFetch.answer(reply, isGraphToken: isGraphToken))
        } catch {
            return .failure(error)
        }
    }
}

/// What the two questions of a login came to.
struct Answers: Sendable {
    let inspection: Result<AccessTokenEvidence.Inspection, ProviderFault>
    let profile: Result<JSONObject, ProviderFault>

    /// Whether asking `debug_token` again may help: unless `/me` is lost for good by a fault of Graph's.
    ///
    /// When `/me` refused the token it is worth asking still, since the token may belong to another app of ours.
    var wantsInspection: Bool {
        guard case .failure(let fault) = inspection, fault.signal == .transient else { return false }
        switch profile {
        case .success: return true
        case .failure(let other): return other.signal == .transient || other.signal == .answered
        }
    }

    /// Whether asking `/me` again may help: unless `debug_token` has refused the token or is lost for good.
    var wantsProfile: Bool {
        guard case .failure(let fault) = profile, fault.signal == .transient else { return false }
        switch inspection {
        case .success(.token(let token)): return token.isValid
        case .success: return false
        case .failure(let other): return other.signal == .transient
        }
    }

    var outcome: CircuitBreaker.Outcome { .init(inspection.fault?.signal, profile.fault?.signal) }

    var evidence: AccessTokenEvidence {
        let inspection: AccessTokenEvidence.Inspection =
            switch inspection {
            case .success(let verdict): verdict
            case .failure(let fault): .failed(fault.failure)
            }
        let profile: AccessTokenEvidence.Profile =
            switch profile {
            case .success(let user): .user(user)
            case .failure(let fault): .failed(fault.failure)
            }
        return AccessTokenEvidence(inspection: inspection, profile: profile)
    }
}

extension Result where Failure == ProviderFault {
    fileprivate var fault: ProviderFault? {
        guard case .failure(let fault) = self else { return nil }
        return fault
    }
}
