import NIOConcurrencyHelpers

/// Runs one read of the database at a time, and shares its result among callers.
///
/// A call that comes during a read waits for the next read. So the result is never older than the call, and a thousand
/// concurrent calls cost two reads.
final class CoalescedReads<Outcome: Sendable>: Sendable {
    private struct State {
        /// The last read that has begun.
        var begun: Task<Outcome, Never>?
        /// The read that begins when `begun` has ended.
        var next: Task<Outcome, Never>?
    }

    private let state = NIOLockedValueBox(State())

    /// Returns the outcome of a read that begins after this call.
    ///
    /// - Parameter read: The read. All callers must pass equivalent reads, since only one of them runs.
    /// - Returns: The outcome.
    func join(_ read: @escaping @Sendable () async -> Outcome) async -> Outcome {
        let task = state.withLockedValue { state in
            if let next = state.next { return next }
            let task = Task { [state = self.state, before = state.begun] in
                _ = await before?.value
                state.withLockedValue {
                    $0.begun = $0.next
                    $0.next = nil
                }
                return await read()
            }
            state.next = task
            return task
        }
        return await task.value
    }
}
