package import Logging
import NIOConcurrencyHelpers

/// Problems that an operator should fix, although the instance can serve requests.
///
/// A warning is logged when it appears, and the readiness check lists it. The text of a warning is fixed, so there are
/// few warnings, and none contains data of a request.
package final class Warnings: Sendable {
    private struct Entry {
        let text: String
        let stands: Bool
        var seen: ContinuousClock.Instant
        var logged: ContinuousClock.Instant
    }

    /// The time for which the readiness check lists a warning after it was last raised.
    ///
    /// It is also the minimum time between two log lines about the warning.
    package static let memory = Duration.seconds(3600)

    private let entries = NIOLockedValueBox<[Entry]>([])
    private let logger: Logger

    package init(logger: Logger) {
        self.logger = logger
    }

    /// Logs a warning and adds it to the list of the readiness check.
    ///
    /// Callers may repeat the call whenever they see the problem.
    ///
    /// - Parameters:
    ///   - text: The problem, its consequence and its remedy.
    ///   - stands: Whether the readiness check lists the warning until `withdraw` is called, however long ago it was
    ///     raised.
    ///   - now: The current time.
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

    /// Removes a warning from the list of the readiness check, even one that was raised with `stands`.
    package func withdraw(_ text: String) {
        entries.withLockedValue { entries in entries.removeAll { $0.text == text } }
    }

    /// Returns the current warnings, in the order in which they were first raised.
    package func texts(now: ContinuousClock.Instant = .now) -> [String] {
        entries.withLockedValue { entries in
            entries.filter { $0.stands || now < $0.seen + Self.memory }.map(\.text)
        }
    }
}
