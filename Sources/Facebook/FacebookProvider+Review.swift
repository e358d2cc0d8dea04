package import Domain
package import Providers
import SignedTokens

extension FacebookProvider: SettingsReviewing, AppChecking, FieldChecking {
    package func endings(on day: CalendarDate) -> [String] {
        GraphVersions.ending(of: settings.graphVersion, today: day).map { [$0] } ?? []
    }

    /// Returns warnings about the Graph version and about the option `nonce`.
    ///
    /// The version is checked by the calendar and by the versions that answered this instance. The nonce gives a
    /// warning when it is `off`, so that none is required.
    package func warnings(on day: CalendarDate) -> [String] {
        let version = settings.graphVersion
        let answered = apps.compactMap { graph.answeredVersion(of: $0.id, application: application, asked: version) }
        var warnings = GraphVersions.warnings(for: version, answered: nil, today: day)
        for other in answered {
            let more = GraphVersions.warnings(for: version, answered: other, today: day)
            warnings += more.filter { !warnings.contains($0) }
        }
        if settings.options.nonce == .off {
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

    package func check(_ app: ProviderApp, deadline: ContinuousClock.Instant) async -> AppVerdict {
        let check = await graph.check(
            app: app,
            settings: settings,
            application: application,
            deadline: deadline,
            now: clock.seconds
        )
        var verdict = AppVerdict(answeredVersion: check.answeredVersion)
        switch check.outcome {
        case .right(let name): verdict.name = name
        case .wrong(let problem, let failure): verdict.problem = (problem, failure.reason)
        case .unknown(let failure): verdict.problem = (failure.message, failure.reason)
        }
        return verdict
    }

    package func unknownFields(
        among fields: String,
        of subject: Subject,
        asking app: ProviderApp,
        deadline: ContinuousClock.Instant
    ) async throws(Failure) -> [String] {
        try await graph.unknownFields(
            among: fields,
            of: subject,
            app: app,
            settings: settings,
            application: application,
            deadline: deadline,
            now: clock.seconds
        )
    }
}
