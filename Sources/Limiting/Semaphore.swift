import NIOConcurrencyHelpers
package import Vocabulary

/// Lets a bounded number do something at once; the others wait in the order in which they came.
///
/// A burst of what writes little but is forced to disk each time would otherwise stand in front of every login on the
/// database's connections.
package final class Semaphore: Sendable {
    private struct State {
        var free: Int
        /// In the order of arrival from `next` on; those before it have gone through.
        var waiting: [CheckedContinuation<Void, Never>] = []
        var next = 0

        mutating func takeNext() -> CheckedContinuation<Void, Never>? {
            guard next < waiting.count else {
                free += 1
                return nil
            }
            defer {
                next += 1
                // Half of the list at once, so that each element is moved once on average.
                if next * 2 > waiting.count { (waiting, next) = (Array(waiting[next...]), 0) }
            }
            return waiting[next]
        }
    }

    private let state: NIOLockedValueBox<State>

    package init(width: Int) {
        state = NIOLockedValueBox(State(free: width))
    }

    /// Does something when it is its turn.
    ///
    /// - Parameters:
    ///   - deadline: When nobody waits for it any more. Where what is done takes long, those whose time is over go
    ///     through at once.
    ///   - body: What is done.
    /// - Returns: What the body returns.
    /// - Throws: `overloaded` when the deadline is over first, and what the body throws.
    package func pass<Result>(
        before deadline: ContinuousClock.Instant,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await enter()
        defer { leave() }
        guard .now < deadline else {
            throw Failure(.overloaded, "Too many are waiting for the same. Try again shortly.", retryAfter: 1)
        }
        return try await body()
    }

    private func enter() async {
        await withCheckedContinuation { continuation in
            let isIn = state.withLockedValue { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isIn { continuation.resume() }
        }
    }

    private func leave() {
        state.withLockedValue { $0.takeNext() }?.resume()
    }
}
