import NIOConcurrencyHelpers

/// One look at the database at a time, shared by all who ask for one.
///
/// Who asks while a look is under way gets the next: what a look reads is never older than the question, and a thousand
/// questions at once cost two looks.
final class Looks<Outcome: Sendable>: Sendable {
    private struct State {
        /// The one that was begun last.
        var begun: Task<Outcome, Never>?
        /// The one that begins when it has ended.
        var next: Task<Outcome, Never>?
    }

    private let state = NIOLockedValueBox(State())

    /// What a look sees that begins from here on.
    ///
    /// - Parameter look: Looks. All callers must mean the same by it, since only one of theirs is run.
    /// - Returns: What it returned.
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
