internal import CLibPQ
internal import Glibc
internal import NIOConcurrencyHelpers

/// What other threads put down for the loop, and how they wake it.
final class Mailbox: Sendable {
    /// What was put down since the loop looked last.
    struct Batch {
        var messages: [PoolMessage] = []
        var jobs: [UnownedJob] = []
        var isClosed = false
    }

    private struct State {
        var batch = Batch()
        /// Whether the loop waits, or is about to, and has to be woken.
        var isAsleep = false
        var thread: pthread_t?
    }

    private let state = NIOLockedValueBox(State())

    /// Becomes readable when the loop is to wake.
    let wakeUp: Int32

    init() {
        wakeUp = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        // Happens at the start of the process if at all; there is nothing to go on with.
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

    /// Nothing will be put down any more; the loop ends.
    func close() {
        let wasAsleep = state.withLockedValue { state in
            state.batch.isClosed = true
            return Self.awaken(&state)
        }
        if wasAsleep { wake() }
    }

    /// Only the first one who puts something down while the loop sleeps pays for a system call.
    private static func awaken(_ state: inout State) -> Bool {
        defer { state.isAsleep = false }
        return state.isAsleep
    }

    private func wake() {
        eventfd_write(wakeUp, 1)
    }

    // The loop's side.

    /// The calling thread is the loop.
    func adopt() {
        state.withLockedValue { $0.thread = pthread_self() }
    }

    var isLoop: Bool {
        guard let thread = state.withLockedValue({ $0.thread }) else { return false }
        return pthread_equal(thread, pthread_self()) != 0
    }

    /// Takes all that was put down, and leaves the emptied arrays of the last time to be filled again.
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

    /// The loop has nothing to do.
    ///
    /// False if something has been put down since: then it must not wait.
    func fallAsleep() -> Bool {
        state.withLockedValue { state in
            guard state.batch.messages.isEmpty, state.batch.jobs.isEmpty, !state.batch.isClosed else { return false }
            state.isAsleep = true
            return true
        }
    }
}
