package import Curl
package import Domain
import Encodings
import Providers

/// Sends requests to Facebook's Graph API.
///
/// Each kind of request is a method in an extension, in the file that also reads the response. All applications share
/// one client.
package final class GraphClient: Sendable {
    let curl: CurlClient
    package let configuration: GraphConfiguration
    private let links = Links<AppLink.Key, AppLink> { AppLink($0) }

    /// Creates a client.
    ///
    /// The first request opens the first connection.
    package init(curl: CurlClient, configuration: GraphConfiguration) {
        self.curl = curl
        self.configuration = configuration
    }

    /// Sends `debug_token` and the request for the profile, `/me`, concurrently.
    ///
    /// A request that failed for a temporary reason is retried after some 50 ms. A login has at most two retries,
    /// counted over both requests. No retry begins after the deadline, or if it can no longer change the outcome. The
    /// method never throws: the evidence contains the failures. If the calling task is cancelled, the method returns
    /// soon, and its evidence will be refused.
    ///
    /// - Parameters:
    ///   - token: The access token as the client sent it.
    ///   - app: The app whose credentials are sent to Graph.
    ///   - settings: The Graph version and the form of the proof.
    ///   - fields: The fields in Graph's syntax, each field once, including `id`.
    ///   - application: The application of the login.
    ///   - deadline: The moment by which the requests must be done.
    ///   - now: The current time in Unix seconds, for timed proofs.
    /// - Returns: Both responses, or the failures.
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
            // No request was sent.
            return AccessTokenEvidence(inspection: .failed(error), profile: .failed(error))
        }
        return await exchange.evidence()
    }

    /// Returns the Graph version that responded last, to any request for the app; nil if no response named a version.
    ///
    /// - Parameters:
    ///   - app: The app of the request.
    ///   - application: The application of the app.
    ///   - version: The version in the settings. A response to a request for another version is ignored. With nil, no
    ///     response is ignored.
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

    /// Returns what the service knows about Graph for an app; nil if no request was sent for the app.
    func knownLink(of app: ProviderAppID, _ application: ApplicationID) -> AppLink? {
        links.known(AppLink.Key(application: application, app: app))
    }

    func link(_ key: AppLink.Key) -> AppLink { links.link(key) }
}

/// The requests of one login, and the rules for their retries.
///
/// The type is a class, so that the two concurrent requests share one object. Otherwise, each would keep a copy while
/// it waits.
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

    /// The maximum number of retries in one login, counted over both requests.
    ///
    /// If one request in ten fails for a temporary reason, then only four logins in a thousand fail with these retries.
    private static let maxRepeats = 2

    /// Sends the requests and records the outcome for the circuit breaker.
    func evidence() async -> AccessTokenEvidence {
        let answers = await run()
        link.record(answers.outcome, of: pass)
        return answers.evidence
    }

    /// Sends both requests, then retries those whose retry may still change the outcome.
    private func run() async -> Answers {
        var answers = await ask(after: nil)
        var repeats = Self.maxRepeats
        while repeats > 0, answers.wantsInspection || answers.wantsProfile, link.allowsRepeats(pass),
            await RetryBackoff.pause(before: deadline)
        {
            repeats -= (answers.wantsInspection ? 1 : 0) + (answers.wantsProfile ? 1 : 0)
            answers = await ask(after: answers)
        }
        return answers
    }

    /// Sends `debug_token` and the request for the profile concurrently.
    ///
    /// With `last`, sends only the requests whose retry may still change the outcome, and keeps the other outcomes of
    /// `last`. One method does both, since a suspended task keeps 640 bytes for each `async let` of its function.
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

/// The outcomes of the two requests of a login.
struct Answers: Sendable {
    let inspection: Result<AccessTokenEvidence.Inspection, ProviderFault>
    let profile: Result<JSONObject, ProviderFault>

    /// Whether `debug_token` failed for a temporary reason, and its retry may still change the outcome of the login.
    ///
    /// The retry changes nothing if `/me` failed in a way that is not retried. It may change something even if `/me`
    /// refused the token, since the token may belong to another of the application's apps.
    var wantsInspection: Bool {
        guard case .failure(let fault) = inspection, fault.signal == .transient else { return false }
        switch profile {
        case .success: return true
        case .failure(let other): return other.signal == .transient || other.signal == .answered
        }
    }

    /// Whether `/me` failed for a temporary reason, and its retry may still change the outcome of the login.
    ///
    /// The retry changes nothing if `debug_token` refused the token or failed in a way that is not retried.
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
