import Dispatch
package import Logging
import NIOConcurrencyHelpers
import Synchronization

/// The log level of this process: it logs events of this level and of higher ones.
///
/// An operator may change the level for a limited time.
package final class LogLevel: Sendable {
    /// The current level, and the time at which the configured level returns.
    package struct State: Sendable, Equatable {
        package let level: Logger.Level
        /// The time at which the configured level returns, in Unix milliseconds.
        ///
        /// Nil if the current level is the configured one.
        package let until: Int64?
    }

    /// The configured level.
    ///
    /// It is in force unless an operator has changed the level.
    package let configured: Logger.Level
    private let levels = Logger.Level.allCases
    /// The index of the current level in `levels`.
    ///
    /// It is an atomic, since every log statement reads it.
    private let position: Synchronization.Atomic<Int>
    private let change = NIOLockedValueBox((number: 0, until: Int64?.none))
    /// The queue on which the configured level is restored when the time of a change is over.
    let queue = DispatchQueue(label: "log level")

    package init(_ configured: Logger.Level = .info) {
        self.configured = configured
        position = .init(Self.position(of: configured))
    }

    package var current: Logger.Level { levels[position.load(ordering: .relaxed)] }

    package var state: State {
        change.withLockedValue { State(level: current, until: $0.until) }
    }

    /// Changes the level for a limited time, after which the configured level returns.
    ///
    /// A later call replaces this change.
    ///
    /// - Parameters:
    ///   - level: The new level.
    ///   - milliseconds: The duration of the change.
    ///   - now: The current time, in Unix milliseconds.
    package func set(_ level: Logger.Level, for milliseconds: Int64, now: Int64) {
        let number = change.withLockedValue { change in
            change = (change.number + 1, now + milliseconds)
            position.store(Self.position(of: level), ordering: .relaxed)
            return change.number
        }
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(milliseconds))) { [weak self] in
            self?.restore(after: number)
        }
    }

    /// Restores the configured level after the change with the given number.
    ///
    /// Does nothing if a later change has followed.
    private func restore(after number: Int) {
        change.withLockedValue { change in
            guard change.number == number else { return }
            change.until = nil
            position.store(Self.position(of: configured), ordering: .relaxed)
        }
    }

    private static func position(of level: Logger.Level) -> Int {
        Logger.Level.allCases.firstIndex(of: level) ?? 0
    }
}
