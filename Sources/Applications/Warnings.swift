package import Logging
import NIOConcurrencyHelpers

/// What an operator should change, and what keeps no instance from serving: logged when it shows, and listed by
/// readiness.
///
/// Each is a fixed text, so that there are few, and nothing of a request is in them.
package final class Warnings: Sendable {
    private struct Entry {
        let text: String
        let stands: Bool
        var seen: ContinuousClock.Instant
        var logged: ContinuousClock.Instant
    }

    /// How long a warning is listed after it was raised for the last time, and how long the log is not told again.
    package static let memory = Duration.seconds(3600)

    private let entries = NIOLockedValueBox<[Entry]>([])
    private let logger: Logger

    package init(logger: Logger) {
        self.logger = logger
    }

    /// Says that something is so; as often as it is seen.
    ///
    /// - Parameters:
    ///   - text: What is wrong, what comes of it, and what to do.
    ///   - stands: Whether it stays so while the process runs.
    ///   - now: The time.
    package func raise(_ text: String, stands: Bool = false, now: ContinuousClock.Instant = .now) {
        let isNews = entries.withLockedValue { entries in
            guard let index = entries.firstIndex(where: { $0.text == text }) else {
                entries.append(Entry(text: text, stands: stands, seen: now, logged: now))
                return true
            }
            entries[index].seen = now
            guard entries[index].logged + Self.memory <= now else { return false }
            entries[index].logged = now
            return true
        }
        if isNews { logger.warning("\(text)") }
    }

    /// Says that something is so no more, whatever was said of how long it stands.
    package func withdraw(_ text: String) {
        entries.withLockedValue { entries in entries.removeAll { $0.text == text } }
    }

    /// Those that count now, in the order in which they were raised first.
    package func texts(now: ContinuousClock.Instant = .now) -> [String] {
        entries.withLockedValue { entries in
            entries.filter { $0.stands || now < $0.seen + Self.memory }.map(\.text)
        }
    }
}
