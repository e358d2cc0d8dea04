import CArgon2
import Glibc
import NIOConcurrencyHelpers
import Vocabulary

/// Computes things on threads of its own, a bounded number at once; callers have waited for their turn (`FairQueue`).
///
/// Swift's pool has a thread for each core and serves all other requests. A thread begins when there is work for it and
/// ends when there is none: beside tens of milliseconds of work its start costs nothing.
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
    private let mostThreads: Int

    /// Units of `nice`: a thread of the same machine that wants the core gets about nine tenths of it.
    private static let niceness: Int32 = 10

    init(count: Int) {
        mostThreads = count
    }

    /// Computes something.
    ///
    /// - Parameter body: Nil when it could not be computed.
    /// - Returns: What the body returned.
    /// - Throws: `overloaded` when the system gives no thread; `internal` when nothing came of it.
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
            guard state.threads < mostThreads else { return false }
            state.threads += 1
            return true
        }
        if needsThread, !startThread() {
            // What waits is left to the threads that there are; without any nobody would ever do it.
            let abandoned = state.withLockedValue { state in
                state.threads -= 1
                defer { if state.threads == 0 { state.waiting.removeAll() } }
                return state.threads == 0 ? state.waiting : []
            }
            for job in abandoned { job.refuse() }
        }
    }

    /// What a thread does until nothing waits.
    private func work() {
        // 0 is the calling thread, for Linux.
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

    /// False if the system gives no thread.
    ///
    /// All signals are left to the other threads.
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
        "Too many passwords are being checked. Try again shortly.",
        retryAfter: 2
    )
    private static let failed = Failure(
        .internal,
        "The service could not compute the hash of a password.",
        cause: "there was too little memory, or a library refused what the stored hash asks for"
    )
}
