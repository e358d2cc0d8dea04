import NIOConcurrencyHelpers

/// The outcomes of an instance's last rounds of background work, which operators can read.
package final class MaintenanceRounds: Sendable {
    /// A round of background work that has ended.
    package struct Round: Sendable {
        /// The time at which the round ended, in milliseconds since 1970 UTC.
        package let ended: Int64
        /// The number of failures by reason.
        package let failures: [String: Int]
        /// The cause of one of the failures, in the words of the log.
        package let cause: String?

        package init(ended: Int64, failures: [String: Int], cause: String?) {
            self.ended = ended
            self.failures = failures
            self.cause = cause
        }
    }

    private let rounds = NIOLockedValueBox<(last: Round?, lastBlocked: Round?)>((nil, nil))

    package init() {}

    package func note(_ round: Round) {
        rounds.withLockedValue { rounds in
            rounds.last = round
            if !round.failures.isEmpty { rounds.lastBlocked = round }
        }
    }

    package var last: Round? { rounds.withLockedValue(\.last) }

    /// The last round with a failure.
    package var lastBlocked: Round? { rounds.withLockedValue(\.lastBlocked) }
}
