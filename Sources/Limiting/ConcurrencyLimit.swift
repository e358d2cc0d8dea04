import NIOConcurrencyHelpers

/// A fixed number of places for concurrent operations.
///
/// Operations beyond it are refused (decision D10).
package final class ConcurrencyLimit<Holder: Hashable & Sendable>: Sendable {
    private let limit: Int
    private let inside = NIOLockedValueBox<[Holder: Int]>([:])

    package init(limit: Int) {
        self.limit = limit
    }

    /// Takes a place, which the caller gives back by `leave`.
    ///
    /// - Parameter holder: The holder of the place. One holder gets at most three quarters of the places, so that
    ///   places are left for others.
    /// - Returns: Whether there was a place.
    package func enter(_ holder: Holder) -> Bool {
        inside.withLockedValue { inside in
            let held = inside[holder] ?? 0
            guard inside.values.reduce(0, +) < limit, held < max(limit - limit / 4, 1) else { return false }
            inside[holder] = held + 1
            return true
        }
    }

    package func leave(_ holder: Holder) {
        inside.withLockedValue { inside in
            guard let held = inside[holder] else { return }
            inside[holder] = held > 1 ? held - 1 : nil
        }
    }
}
