package import Domain
package import Providers
import SignedTokens

extension FacebookProvider: SettingsReviewing, AppChecking, FieldChecking {
    package func endings(on day: CalendarDate) -> [String] {
        GraphVersions.ending(of: settings.graphVersion, today: day).map { [$0] } ?? []
    }

    /// Returns warnings about the Graph version and about the option `nonce`.
    ///
    /// The version in the settings is compared with the calendar of versions, and with the version in Graph's responses
    /// to this instance. The option `nonce` causes a warning if it is `off`.
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
                nonce is off: ID tokens that iOS SDK 18.1 refreshed are accepted with any nonce, so anyone with a \
                stolen and unused token can log in. Set it to clientMade, unless your app sends such tokens.
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
