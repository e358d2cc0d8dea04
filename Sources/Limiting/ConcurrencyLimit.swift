import NIOConcurrencyHelpers

/// A fixed number of things at once; what is beyond it is refused (decision D10).
package final class ConcurrencyLimit: Sendable {
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
