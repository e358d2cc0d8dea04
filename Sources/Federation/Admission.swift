import NIOConcurrencyHelpers

/// Counts what is under way and refuses what is beyond the limit (decision D10).
final class Admission: Sendable {
    private let limit: Int
    private let inside = NIOLockedValueBox(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether there was room; if so, `leave` must follow.
    func enter() -> Bool {
        inside.withLockedValue { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    func leave() {
        inside.withLockedValue { $0 -= 1 }
    }
}
