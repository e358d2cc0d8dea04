import NIOConcurrencyHelpers

/// Lets a bounded number do something at once; the others wait in the order in which they came.
///
/// A burst of what writes little but is forced to disk each time would otherwise stand in front of every login on the database's
/// connections.
final class Turnstile: Sendable {
    private struct State {
        var free: Int
        /// In the order of arrival from `next` on; those before it have gone through.
        var waiting: [CheckedContinuation<Void, Never>] = []
        var next = 0
    }

    private let state: NIOLockedValueBox<State>

    init(width: Int) {
        state = NIOLockedValueBox(State(free: width))
    }

    /// Does it when it is its turn; whoever waits has no limit of time but that of those in front.
    func pass<Result, Problem>(
        _ body: () async throws(Problem) -> Result
    ) async throws(Problem) -> Result {
        await enter()
        defer { leave() }
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
        let next: CheckedContinuation<Void, Never>? = state.withLockedValue { state in
            guard state.next < state.waiting.count else {
                state.free += 1
                return nil
            }
            let next = state.waiting[state.next]
            state.next += 1
            if state.next == state.waiting.count { (state.waiting, state.next) = ([], 0) }
            return next
        }
        next?.resume()
    }
}
