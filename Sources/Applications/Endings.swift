package import Domain
package import Logging
import Providers
import Secrets

/// A warning that a configured version of a provider's API is near or after its end of life.
///
/// The provider has retired the version or will retire it soon. A version that the service does not know causes a
/// warning, too.
package struct Ending: Sendable {
    /// The problem and its remedy, in sentences.
    package let text: String
    /// The ids of the applications with this version in their configuration.
    package let applications: [ApplicationID]

    /// Returns the warnings about configured versions of providers' APIs that are near or after their end of life on
    /// the given day.
    ///
    /// Each warning occurs once, with the ids of all applications that it concerns. The result is empty for a day
    /// outside the calendar.
    package static func all(in loaded: [LoadedApplication], on day: CalendarDate?) -> [Ending] {
        guard let day else { return [] }
        var found: [String: [ApplicationID]] = [:]
        for loaded in loaded {
            for text in loaded.endings(on: day) { found[text, default: []].append(loaded.application.id) }
        }
        return found.sorted { $0.key < $1.key }.map { Ending(text: $0.key, applications: $0.value) }
    }
}

extension LoadedApplication {
    /// Returns the warnings about API versions in the configuration of the application's enabled providers.
    ///
    /// A version is reported when it is near or after its end of life on the given day.
    package func endings(on day: CalendarDate) -> [String] {
        configuredProviders.flatMap { provider -> [String] in
            guard provider.isEnabled, let reviewing = provider as? any SettingsReviewing else { return [] }
            return reviewing.endings(on: day)
        }
    }
}

extension [Ending] {
    /// The maximum number of applications that a log line names.
    ///
    /// Once an operator has fixed some of them, the line names others.
    private static let maxNames = 20

    package func log(to logger: Logger) {
        for ending in self {
            let names = ending.applications.map(\.text).sorted()
            logger.warning(
                "a setting comes to its end",
                metadata: [
                    "cause": "\(ending.text)", "count": "\(names.count)",
                    "applications": "\(names.prefix(Self.maxNames).joined(separator: ", "))",
                ]
            )
        }
    }
}

extension WallClock {
    /// The day in UTC; nil when the clock is outside the calendar.
    package var today: CalendarDate? { CalendarDate(daysSince1970: Int(seconds / 86_400)) }
}
