import Vocabulary
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
}

extension Federation {
    /// Does what makes a provider work, or refuses it where too much of that is under way.
    ///
    /// - Throws: `overloaded`, and what the body throws.
    func limitingConcurrency<Result>(_ body: () async throws(Failure) -> Result) async throws(Failure) -> Result {
        guard concurrency.enter() else {
            throw Failure(.overloaded, "Too many logins are under way. Try again shortly.", retryAfter: 1)
        }
        defer { concurrency.leave() }
        return try await body()
    }
}
