import NIOConcurrencyHelpers

/// Counts what is under way and refuses what is beyond the limit (decision D10).
package final class Admission: Sendable {
    private let limit: Int
    private let inside = NIOLockedValueBox(0)

    package init(limit: Int) {
        self.limit = limit
    }

    /// Whether there was room; if so, `leave` must follow.
    package func enter() -> Bool {
        inside.withLockedValue { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    package func leave() {
        inside.withLockedValue { $0 -= 1 }
    }
}
