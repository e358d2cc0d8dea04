import NIOConcurrencyHelpers

/// Spans that wait to be exported: so many at most, and what is beyond is dropped and counted.
package final class SpanQueue: Sendable {
    private struct State {
        var waiting: [FinishedSpan] = []
        var exported = 0
        var dropped = 0
    }

    private let capacity: Int
    private let batch: Int
    private let state = NIOLockedValueBox(State())
    private let full = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// - Parameters:
    ///   - capacity: Spans that may wait.
    ///   - batch: Spans that are exported with one call.
    package init(capacity: Int = 8192, batch: Int = 512) {
        self.capacity = capacity
        self.batch = batch
    }

    /// Spans that were exported, and those that were not, since the start.
    package var statistics: (exported: Int, dropped: Int, waiting: Int) {
        state.withLockedValue { ($0.exported, $0.dropped, $0.waiting.count) }
    }

    /// Says that there is a batch.
    var isFull: AsyncStream<Void> { full.stream }

    func put(_ span: FinishedSpan) {
        let isBatch = state.withLockedValue { state in
            guard state.waiting.count < capacity else {
                state.dropped += 1
                return false
            }
            state.waiting.append(span)
            return state.waiting.count == batch
        }
        if isBatch { full.continuation.yield() }
    }

    /// The oldest spans, a batch at most; they are the caller's from then on.
    func take() -> [FinishedSpan] {
        state.withLockedValue { state in
            let taken = Array(state.waiting.prefix(batch))
            state.waiting.removeFirst(taken.count)
            return taken
        }
    }

    func note(exported: Int) { state.withLockedValue { $0.exported += exported } }
    func note(dropped: Int) { state.withLockedValue { $0.dropped += dropped } }
}
