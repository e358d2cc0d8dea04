import Dispatch
package import Logging
import NIOConcurrencyHelpers
import Synchronization

/// The least level of which this process writes lines; somebody who looks for a fault may ask for another one for a
/// while.
package final class LogLevel: Sendable {
    /// What is written now.
    package struct State: Sendable, Equatable {
        package let level: Logger.Level
        /// Unix milliseconds at which the configured level is back; nil while it is in force.
        package let until: Int64?
    }

    /// What is written while nobody asks for anything else.
    package let configured: Logger.Level
    private let levels = Logger.Level.allCases
    /// Position among `levels`, apart from the rest: it is read for every line that might be written.
    private let position: Synchronization.Atomic<Int>
    private let change = NIOLockedValueBox((number: 0, until: Int64?.none))
    /// Where changes end, in the order of their ends.
    let queue = DispatchQueue(label: "log level")

    package init(_ configured: Logger.Level = .info) {
        self.configured = configured
        position = .init(Self.position(of: configured))
    }

    package var current: Logger.Level { levels[position.load(ordering: .relaxed)] }

    package var state: State {
        change.withLockedValue { State(level: current, until: $0.until) }
    }

    /// Writes lines from another level on, until the time is over or somebody asks anew.
    ///
    /// - Parameters:
    ///   - level: The level.
    ///   - milliseconds: For how long.
    ///   - now: Unix milliseconds.
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

    /// Back to what is configured, unless another change has followed.
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
