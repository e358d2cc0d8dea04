import CArgon2
import Domain
import Glibc
import NIOConcurrencyHelpers

/// A pool with a bounded number of threads that compute password hashes.
///
/// Callers first wait for their turn in a `FairQueue`, which limits the number of concurrent hashes. Swift's own thread
/// pool is not used, since it has only one thread for each core: other requests would wait for the hashes. A thread of
/// this pool starts when there is work and ends when there is none. The start of a thread costs next to nothing,
/// compared with the tens of milliseconds of a hash.
final class HashingThreads: Sendable {
    private struct Job: Sendable {
        let run: @Sendable () -> Void
        let refuse: @Sendable () -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var threads = 0
    }

    private let state = NIOLockedValueBox(State())
    private let maxThreads: Int

    /// The `nice` value of the threads, which lowers their priority.
    ///
    /// If another thread competes for a core, that other thread gets about nine tenths of the time.
    private static let niceness: Int32 = 10

    init(count: Int) {
        maxThreads = count
    }

    /// Computes a value on one of the threads.
    ///
    /// - Parameter body: Returns nil when the value cannot be computed.
    /// - Returns: The value.
    /// - Throws: `overloaded` when the system cannot start a thread; `internal` when the value cannot be computed.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value?
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            submit(
                Job(
                    run: { continuation.resume(returning: body().map(Result.success) ?? .failure(Self.failed)) },
                    refuse: { continuation.resume(returning: .failure(Self.overloaded)) }
                )
            )
        }
        return try result.get()
    }

    private func submit(_ job: Job) {
        let needsThread = state.withLockedValue { state in
            state.waiting.append(job)
            guard state.threads < maxThreads else { return false }
            state.threads += 1
            return true
        }
        if needsThread, !startThread() {
            // Existing threads do the waiting jobs. Without any thread, the jobs would wait forever, so they are
            // refused.
            let abandoned = state.withLockedValue { state in
                state.threads -= 1
                defer { if state.threads == 0 { state.waiting.removeAll() } }
                return state.threads == 0 ? state.waiting : []
            }
            for job in abandoned { job.refuse() }
        }
    }

    /// Lowers the priority of the current thread, and runs the waiting jobs until there are none.
    private func work() {
        // On Linux, 0 is the calling thread.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
        while let job = next() { job.run() }
    }

    private func next() -> Job? {
        state.withLockedValue { state in
            guard !state.waiting.isEmpty else {
                state.threads -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    /// Starts a thread; returns false if the system refuses.
    ///
    /// The thread blocks all signals, which are left to the other threads.
    private func startThread() -> Bool {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let status = pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                Unmanaged<HashingThreads>.fromOpaque(context).takeRetainedValue().work()
                return nil
            },
            context.toOpaque()
        )
        guard status == 0 else {
            context.release()
            return false
        }
        pthread_setname_np(thread, "passwords")
        pthread_detach(thread)
        return true
    }

    static let overloaded = Failure(
        .overloaded,
        "Too many passwords are being verified. Try again shortly.",
        retryAfter: 2
    )
    private static let failed = Failure(
        .internal,
        "The service could not compute the hash of a password.",
        cause: "there was too little memory, or a library refused what the stored hash asks for"
    )
}
