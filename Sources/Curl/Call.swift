internal import Synchronization

/// One call of `CurlClient`: an HTTP request or a mail.
///
/// The identity of this object identifies the call.
final class Call: Sendable {
    /// Whether the call was cancelled.
    ///
    /// The client sets the flag before it notifies libcurl's thread. So a call that was cancelled before its start is
    /// never started.
    private let cancelled = Atomic<Bool>(false)

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    func cancel() { cancelled.store(true, ordering: .releasing) }
}

/// The continuation of a call's caller, resumed exactly once with the outcome.
typealias CallContinuation<Success: Sendable, Failure: Error> = CheckedContinuation<Result<Success, Failure>, Never>
