package import Vocabulary
import NIOConcurrencyHelpers

/// Counts what is under way and refuses what is beyond the limit (decision D10).
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

    /// Does something where there is room.
    ///
    /// - Throws: `overloaded` with the message where there is none, and what the body throws.
    package func run<Result>(
        orRefuse message: String = "Too many logins are under way. Try again shortly.",
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        guard enter() else { throw Failure(.overloaded, message, retryAfter: 1) }
        defer { leave() }
        return try await body()
    }
}
