internal import Synchronization

/// One call on its way to the thread, there, and back; its identity is the name of the call.
final class Call: Sendable {
    /// Set before the thread is told, so that a call whose cancellation overtakes its start is not started.
    private let cancelled = Atomic<Bool>(false)

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    func cancel() { cancelled.store(true, ordering: .releasing) }
}

/// Where the outcome of a call goes, exactly once.
typealias CallContinuation<Success: Sendable, Failure: Error> = CheckedContinuation<Result<Success, Failure>, Never>
