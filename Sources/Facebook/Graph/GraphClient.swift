package import Curl
package import Vocabulary
import Upstream

/// Asks Facebook; each question is an extension beside its answer.
///
/// Safe to share; one is enough for all applications.
package final class GraphClient: Sendable {
    let curl: CurlClient
    package let configuration: GraphConfiguration
    private let links = Links<AppLink.Key, AppLink> { AppLink() }

    /// Makes a client; nothing is sent before the first question.
    package init(curl: CurlClient, configuration: GraphConfiguration) {
        self.curl = curl
        self.configuration = configuration
    }

    /// Asks `debug_token` and `/me` about a token, both at once.
    ///
    /// A question that failed for a passing reason is asked again after some 50 ms, twice in all for the login, inside the deadline
    /// and while that can still change the outcome. Never throws; whatever went wrong is in the evidence. When the calling
    /// task is cancelled it returns soon, with evidence that proves nothing.
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

    /// How much of an app's allowance is used, as Graph told last; nil as long as it has not.
    package func usage(of app: ProviderAppID, application: ApplicationID) -> GraphUsage? {
        knownLink(of: app, application)?.usage
    }

    /// The version of Graph that answered last, to a login or to a check; nil as long as none has said so.
    ///
    /// - Parameters:
    ///   - app: The app that asked.
    ///   - application: Whose app it is.
    ///   - version: The version that the settings ask for; an answer to another one, which they asked for before, is none.
    ///     Nil takes every answer.
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
