import NIOConcurrencyHelpers

/// How the last rounds of an instance's work in the background went, for operators.
package final class UpkeepRounds: Sendable {
    /// A round that has ended.
    package struct Round: Sendable {
        /// Milliseconds since 1970 UTC.
        package let ended: Int64
        /// How often what stood in the way, by reasons of failures.
        package let failures: [String: Int]
        /// What was behind one of them, in the words of the log.
        package let cause: String?

        package init(ended: Int64, failures: [String: Int], cause: String?) {
            self.ended = ended
            self.failures = failures
            self.cause = cause
        }
    }

    private let rounds = NIOLockedValueBox<(last: Round?, lastHindered: Round?)>((nil, nil))

    package init() {}

    package func note(_ round: Round) {
        rounds.withLockedValue { rounds in
            rounds.last = round
            if !round.failures.isEmpty { rounds.lastHindered = round }
        }
    }

    package var last: Round? { rounds.withLockedValue(\.last) }

    /// The last one in which something stood in the way.
    package var lastHindered: Round? { rounds.withLockedValue(\.lastHindered) }
}
