package import Logging
import Providers
import Secrets
package import Vocabulary

/// What applications have set and a provider ends: a version of its API that is retired, soon will be, or is not known.
package struct Ending: Sendable {
    /// What is the matter and what to do, in sentences.
    package let text: String
    /// Whose settings say so.
    package let applications: [ApplicationID]

    /// What is the matter on a day, each thing once; nothing when the day is none of the calendar's.
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
    /// What is the matter with the settings of the providers that are on.
    package func endings(on day: CalendarDate) -> [String] {
        configuredProviders.flatMap { provider -> [String] in
            guard provider.isEnabled, let reviewing = provider as? any SettingsReviewing else { return [] }
            return reviewing.endings(on: day)
        }
    }
}

extension [Ending] {
    /// Names in a line at most; an operator who has mended those sees the others.
    private static let mostNames = 20

    package func log(to logger: Logger) {
        for ending in self {
            let names = ending.applications.map(\.text).sorted()
            logger.warning(
                "a setting comes to its end",
                metadata: [
                    "cause": "\(ending.text)", "count": "\(names.count)",
                    "applications": "\(names.prefix(Self.mostNames).joined(separator: ", "))",
                ]
            )
        }
    }
}

extension WallClock {
    /// The day in UTC; nil when the clock is beyond the calendar.
    package var today: CalendarDate? { CalendarDate(daysSince1970: Int(seconds / 86_400)) }
}
