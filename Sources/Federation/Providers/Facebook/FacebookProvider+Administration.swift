import FoundationEssentials
import Graph
import Vocabulary
import Store

extension FacebookProvider {
    static func endings(in settings: any ProviderSettings, on day: CalendarDate) -> [String] {
        guard let settings = settings as? FacebookSettings else { return [] }
        return GraphVersions.ending(of: settings.graphVersion, today: day).map { [$0] } ?? []
    }

    /// Of the version of Graph by the calendar and by what has answered this instance, and of a nonce that nobody holds anything to.
    static func warnings(
        about stored: StoredApplication.Provider,
        of application: ApplicationID,
        in administration: Administration
    ) -> [String] {
        guard let today = CalendarDate.today else { return [] }
        let options = (try? FacebookOptionsDocument.parse(stored.options)) ?? FacebookOptions()
        let version = options.graphVersion
        let answered = stored.apps.compactMap {
            administration.graph.answeredVersion(of: $0.id, application: application, asked: version)
        }
        var warnings = GraphVersions.warnings(for: version, answered: nil, today: today)
        for other in answered {
            let more = GraphVersions.warnings(for: version, answered: other, today: today)
            warnings += more.filter { !warnings.contains($0) }
        }
        if options.nonce == .off {
            warnings.append(
                """
                nonce is off: an ID token that iOS SDK 18.1 refreshed, which is bound to a key of the device, is taken whatever \
                its nonce is. Whoever gets hold of one before it was used can log in with it. Set clientMade, unless your app \
                sends such tokens.
                """
            )
        }
        return warnings
    }

    static func check(
        _ app: ProviderApp,
        of stored: StoredApplication.Provider,
        application: ApplicationID,
        inSchema schema: String,
        in administration: Administration
    ) async -> AppVerdict {
        let options = (try? FacebookOptionsDocument.parse(stored.options)) ?? FacebookOptions()
        let check = await administration.graph.check(
            app: app,
            settings: FacebookSettings(enabled: stored.enabled, apps: [], options: options),
            application: application,
            deadline: .now + Administration.providerPatience,
            now: Int64(Date().timeIntervalSince1970)
        )
        var verdict = AppVerdict(answeredVersion: check.answeredVersion)
        switch check.outcome {
        case .right(let name): verdict.name = name
        case .wrong(let problem, let failure): verdict.problem = (problem, failure.reason)
        case .unknown(let failure): verdict.problem = (failure.message, failure.reason)
        }
        if options.pkce == .auto, let warning = await warning(ofLostChallenge: app.id, in: schema, administration) {
            verdict.warnings.append(warning)
        }
        return verdict
    }

    /// Nothing when the database cannot be asked.
    private static func warning(
        ofLostChallenge app: ProviderAppID,
        in schema: String,
        _ administration: Administration
    ) async -> String? {
        let hash = Digest.sha256(app.text)
        guard let until = try? await administration.store.lostChallenge(of: hash, inSchema: schema) else { return nil }
        let time = Date(timeIntervalSince1970: Double(until / 1000)).ISO8601Format()
        return """
            Facebook has forgotten the code_challenge of a login dialog of the app \(app): until \(time) its dialogs are opened without. \
            When that goes on, set pkce to off; to on, when somebody tampers with dialogs.
            """
    }
}
