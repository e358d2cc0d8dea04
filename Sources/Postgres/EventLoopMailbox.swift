internal import CLibPQ
internal import Glibc
internal import NIOConcurrencyHelpers

/// The queue in which other threads leave messages and jobs for the event loop, and the means to wake the loop.
final class Mailbox: Sendable {
    /// The messages and jobs posted since the loop last emptied the mailbox.
    struct Batch {
        var messages: [PoolMessage] = []
        var jobs: [UnownedJob] = []
        var isClosed = false
    }

    private struct State {
        var batch = Batch()
        /// Whether the event loop is waiting, or about to wait, and must be woken when something is posted.
        var isAsleep = false
        var thread: pthread_t?
    }

    private let state = NIOLockedValueBox(State())

    /// The eventfd (a file descriptor) that becomes readable when the loop must wake.
    let wakeUp: Int32

    init() {
        wakeUp = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        // Can happen only at the start of the process, which cannot continue without the descriptor.
        precondition(wakeUp >= 0, "no file descriptor for the loop of the PostgreSQL driver: error \(errno)")
    }

    deinit {
        Glibc.close(wakeUp)
    }

    func post(_ message: PoolMessage) {
        let wasAsleep = state.withLockedValue { state in
            state.batch.messages.append(message)
            return Self.awaken(&state)
        }
        if wasAsleep { wake() }
    }

    func post(_ job: UnownedJob) {
        let wasAsleep = state.withLockedValue { state in
            state.batch.jobs.append(job)
            return Self.awaken(&state)
        }
        if wasAsleep { wake() }
    }

    /// Closes the mailbox.
    ///
    /// This ends the loop.
    func close() {
        let wasAsleep = state.withLockedValue { state in
            state.batch.isClosed = true
            return Self.awaken(&state)
        }
        if wasAsleep { wake() }
    }

    /// Marks the loop as awake; returns whether it was asleep and must be woken by a system call.
    ///
    /// Only the first post while the loop sleeps costs a system call.
    private static func awaken(_ state: inout State) -> Bool {
        defer { state.isAsleep = false }
        return state.isAsleep
    }

    private func wake() {
        eventfd_write(wakeUp, 1)
    }

    // The loop's side.

    /// Records the calling thread as the thread of the event loop.
    func adopt() {
        state.withLockedValue { $0.thread = pthread_self() }
    }

    var isLoop: Bool {
        guard let thread = state.withLockedValue({ $0.thread }) else { return false }
        return pthread_equal(thread, pthread_self()) != 0
    }

    /// Moves everything that was posted since the last call into `batch`, and drops the former content of `batch`.
    ///
    /// The memory of the former content is used for the next posts.
    func take(_ batch: inout Batch) {
        batch.messages.removeAll(keepingCapacity: true)
        batch.jobs.removeAll(keepingCapacity: true)
        state.withLockedValue { state in
            state.isAsleep = false
            swap(&state.batch.messages, &batch.messages)
            swap(&state.batch.jobs, &batch.jobs)
            batch.isClosed = state.batch.isClosed
        }
    }

    /// Marks the loop as asleep.
    ///
    /// Returns false if something was posted since the last `take`. In this case the loop must not wait.
    func fallAsleep() -> Bool {
        state.withLockedValue { state in
            guard state.batch.messages.isEmpty, state.batch.jobs.isEmpty, !state.batch.isClosed else { return false }
            state.isAsleep = true
            return true
        }
    }
}
