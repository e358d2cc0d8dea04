import CArgon2
import Glibc
import NIOConcurrencyHelpers
import Vocabulary

/// Computes a bounded number of things at once, the others in the order in which they came, on threads of its own.
///
/// Swift's pool has a thread for each core and serves all other requests. A thread begins when there is work for it and
/// ends when there is none: beside tens of milliseconds of work its start costs nothing.
final class HashingThreads: Sendable {
    private struct Job: Sendable {
        let deadline: ContinuousClock.Instant
        let run: @Sendable () -> Void
        let refuse: @Sendable () -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var threads = 0
    }

    private let state = NIOLockedValueBox(State())
    private let mostThreads: Int
    private let mostWaiting: Int

    /// Units of `nice`: a thread of the same machine that wants the core gets about nine tenths of it.
    private static let niceness: Int32 = 10

    init(count: Int, queue: Int) {
        mostThreads = count
        mostWaiting = queue
    }

    /// How many work, and how much waits for them.
    var statistics: (working: Int, waiting: Int) { state.withLockedValue { ($0.threads, $0.waiting.count) } }

    /// Computes something.
    ///
    /// - Parameters:
    ///   - deadline: When it is not worth beginning any more. All callers wait equally long, so what is over stands in
    ///     front, and is answered when a thread has ended what it is at.
    ///   - body: Nil when it could not be computed.
    /// - Returns: What the body returned.
    /// - Throws: `overloaded` when too many wait, or the deadline is over; `internal` when nothing came of it.
    func run<Value: Sendable>(
        before deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable () -> Value?
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            submit(
                Job(
                    deadline: deadline,
                    run: { continuation.resume(returning: body().map(Result.success) ?? .failure(Self.failed)) },
                    refuse: { continuation.resume(returning: .failure(Self.overloaded)) }
                )
            )
        }
        return try result.get()
    }

    private func submit(_ job: Job) {
        let (isTaken, needsThread) = state.withLockedValue { state in
            if state.threads < mostThreads {
                state.threads += 1
                state.waiting.append(job)
                return (true, true)
            }
            guard state.waiting.count < mostWaiting else { return (false, false) }
            state.waiting.append(job)
            return (true, false)
        }
        if !isTaken { job.refuse() }
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
        while let job = next() {
            if .now < job.deadline { job.run() } else { job.refuse() }
        }
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

    private static let overloaded = Failure(
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
