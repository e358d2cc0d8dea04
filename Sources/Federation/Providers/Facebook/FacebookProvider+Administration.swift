import FoundationEssentials
import Graph
import Identity
import Store

extension FacebookProvider {
    /// Of the version of Graph by the calendar and by what has answered this instance, and of a nonce that nobody holds anything to.
    static func warnings(
        about stored: StoredApplication.Provider,
        of application: ApplicationID,
        in administration: Administration
    ) -> [String] {
        let days = Int(Date().timeIntervalSince1970 / 86_400)
        guard let today = CalendarDate(daysSince1970: days) else { return [] }
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
        return verdict
    }
}
