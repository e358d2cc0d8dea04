import NIOConcurrencyHelpers

/// A bounded queue of spans to export.
///
/// Spans beyond the capacity are dropped and counted.
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

    /// Creates an empty queue.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of spans in the queue.
    ///   - batch: The maximum number of spans in one export request.
    package init(capacity: Int = 8192, batch: Int = 512) {
        self.capacity = capacity
        self.batch = batch
    }

    /// The numbers of spans: exported and dropped ones since the start, and those that wait now.
    package var statistics: (exported: Int, dropped: Int, waiting: Int) {
        state.withLockedValue { ($0.exported, $0.dropped, $0.waiting.count) }
    }

    /// A stream with an element for each time that the waiting spans fill an export request.
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

    /// Removes the oldest spans, at most as many as one export request may contain, and returns them.
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
