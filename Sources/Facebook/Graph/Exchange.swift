import Curl
import Vocabulary
import Upstream

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
        async let inspected = inspect()
        async let fetched = fetch()
        var answers = await Answers(inspection: inspected, profile: fetched)
        var repeats = Self.maxRepeats
        while repeats > 0, answers.wantsInspection || answers.wantsProfile, link.allowsRepeats(pass),
            await Repetition.pause(before: deadline)
        {
            let last = answers
            async let inspected = last.wantsInspection ? inspect() : last.inspection
            async let fetched = last.wantsProfile ? fetch() : last.profile
            repeats -= (last.wantsInspection ? 1 : 0) + (last.wantsProfile ? 1 : 0)
            answers = await Answers(inspection: inspected, profile: fetched)
        }
        return answers
    }

    private func inspect() async -> Result<AccessTokenEvidence.Inspection, ProviderFault> {
        do throws(ProviderFault) {
            let reply = try await inspection.ask(curl, configuration, until: deadline, of: link)
            return .success(try TokenInspectionCall.answer(reply, isGraphToken: isGraphToken))
        } catch {
            return .failure(error)
        }
    }

    private func fetch() async -> Result<JSONObject, ProviderFault> {
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
