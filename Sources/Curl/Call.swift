internal import Synchronization

/// One call of the client; the identity of this object identifies the call.
final class Call: Sendable {
    /// Set before the thread is notified.
    ///
    /// So a call that was cancelled before its start is never started.
    private let cancelled = Atomic<Bool>(false)

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    func cancel() { cancelled.store(true, ordering: .releasing) }
}

/// The continuation of a call's caller, resumed exactly once with the outcome.
typealias CallContinuation<Success: Sendable, Failure: Error> = CheckedContinuation<Result<Success, Failure>, Never>
