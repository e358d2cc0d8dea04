import NIOConcurrencyHelpers

/// A queue that runs one read of the database at a time, and shares it among its callers.
///
/// A caller that comes during a read gets the next one. So no read is older than the call, and a thousand calls at once
/// cost two reads.
final class Looks<Outcome: Sendable>: Sendable {
    private struct State {
        /// The read that began last.
        var begun: Task<Outcome, Never>?
        /// The read that begins when the last has ended.
        var next: Task<Outcome, Never>?
    }

    private let state = NIOLockedValueBox(State())

    /// Returns the outcome of a read that begins after this call.
    ///
    /// - Parameter look: The read. All callers must pass an equivalent one, since only one of theirs is run.
    /// - Returns: The outcome.
    func join(_ look: @escaping @Sendable () async -> Outcome) async -> Outcome {
        let task = state.withLockedValue { state in
            if let next = state.next { return next }
            let task = Task { [state = self.state, before = state.begun] in
                _ = await before?.value
                state.withLockedValue {
                    $0.begun = $0.next
                    $0.next = nil
                }
                return await look()
            }
            state.next = task
            return task
        }
        return await task.value
    }
}
