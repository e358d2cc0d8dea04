import NIOConcurrencyHelpers

/// Limits the number of operations that run at the same time to a fixed number of places.
///
/// An operation without a place is refused (decision D10).
package final class ConcurrencyLimit<Holder: Hashable & Sendable>: Sendable {
    private let limit: Int
    private let inside = NIOLockedValueBox<[Holder: Int]>([:])

    package init(limit: Int) {
        self.limit = limit
    }

    /// Takes one of the places for concurrent operations.
    ///
    /// The caller gives the place back by `leave`.
    ///
    /// - Parameter holder: The holder of the place, such as a source of requests. One holder gets at most three
    ///   quarters of the places, so that others get some, too.
    /// - Returns: Whether the caller has got a place.
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
