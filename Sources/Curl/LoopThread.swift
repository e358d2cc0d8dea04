internal import CLibCurl
internal import Glibc
internal import NIOConcurrencyHelpers

/// The thread that sleeps in `curl_multi_poll`, as the executor of one actor.
///
/// The thread alternates between the work that is queued, a *turn* in which the actor lets libcurl work, and sleep,
/// from which a socket, a timer or new work wakes it. Work for a thread that is awake costs no system call.
///
/// `@unchecked Sendable`: what the comments below give to the lock is touched under it, the rest by the thread alone.
final class LoopThread: SerialExecutor, @unchecked Sendable {
    /// Lets libcurl work and returns how many milliseconds the thread may sleep; `polled` says whether it has slept
    /// since the last turn.
    typealias Turn = @Sendable (_ polled: Bool) -> Int32

    private enum Work {
        case job(UnownedJob)
        case body(@Sendable () -> Void)
    }

    private let lock = NIOLock()
    /// Under the lock.
    private var queue: [Work] = []
    /// Under the lock: whether new work has to wake the thread.
    private var isAsleep = false
    /// Written by the thread under the lock; read by the thread, and by others under the lock.
    private(set) var multi: UnsafeMutableRawPointer
    /// Under the lock until the thread runs.
    private var thread: pthread_t?
    /// Set before the thread runs.
    private var turn: Turn = { _ in 0 }
    /// Touched by the thread alone.
    private var isStopped = false

    init() throws(CurlError) {
        guard libcurlStart == CURLE_OK else { throw .library(code: libcurlStart.rawValue) }
        guard let multi = curl_multi_init() else { throw .library(code: CURLE_OUT_OF_MEMORY.rawValue) }
        self.multi = multi
    }

    deinit {
        curl_multi_cleanup(multi)
    }

    // MARK: Called from any thread

    func enqueue(_ job: consuming ExecutorJob) {
        append(.job(UnownedJob(job)))
    }

    /// Runs `body` on the thread, in the order of submission and as isolated to the actor as a job is.
    ///
    /// A call comes and goes this way without being a job: a task that waits for a continuation within an actor is
    /// woken elsewhere first and comes to the actor's thread a second time.
    func submit(_ body: @escaping @Sendable () -> Void) {
        append(.body(body))
    }

    private func append(_ work: Work) {
        lock.withLock {
            queue.append(work)
            guard isAsleep else { return }
            isAsleep = false
            // Under the lock, because the thread could otherwise do the work, end, and free the handle before the call.
            curl_multi_wakeup(multi)
        }
    }

    func checkIsolated() {
        precondition(isIsolatingCurrentContext() == true, "not on the thread of the curl client")
    }

    func isIsolatingCurrentContext() -> Bool? {
        lock.withLock { thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Starts the thread, which keeps this object until it ends.
    func start(turn: @escaping Turn) throws(CurlError) {
        self.turn = turn
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let context = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let result = pthread_create(
            &thread,
            &attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<LoopThread>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            context.toOpaque()
        )
        guard result == 0 else {
            context.release()
            throw .library(code: CURLE_OUT_OF_MEMORY.rawValue)
        }
    }

    // MARK: Called on the thread

    /// Closes every connection, by putting an empty multi handle in the place of the one that holds them.
    ///
    /// No transfer may be left in the old one. Without memory for a new one, the old one stays.
    func closeConnections() {
        guard let fresh = curl_multi_init() else { return }
        let old = multi
        lock.withLock { multi = fresh }
        curl_multi_cleanup(old)
    }

    /// Ends the thread after the job or the turn that calls this, which is the last: the actor's `deinit`.
    func stop() {
        isStopped = true
    }

    private func run() {
        blockSignals()
        lock.withLock { thread = pthread_self() }
        var batch: [Work] = []
        var polled = false
        while true {
            takeQueue(into: &batch)
            while !batch.isEmpty {
                for work in batch {
                    switch work {
                    case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
                    case .body(let body): body()
                    }
                }
                takeQueue(into: &batch)
            }
            guard !isStopped else { return }
            let sleep = turn(polled)
            // The actor is released within its turn when its last owner lets go of it meanwhile.
            polled = lock.withLock {
                isAsleep = queue.isEmpty && !isStopped
                return isAsleep
            }
            if polled { poll(milliseconds: sleep) }
        }
    }

    /// Puts what is queued in the place of what is in `batch`, which is done.
    private func takeQueue(into batch: inout [Work]) {
        batch.removeAll(keepingCapacity: true)
        lock.withLock {
            isAsleep = false
            swap(&queue, &batch)
        }
    }

    private func poll(milliseconds: Int32) {
        guard curl_multi_poll(multi, nil, 0, milliseconds, nil) != CURLM_OK else { return }
        // Without memory or descriptors the call fails at once; the pause keeps the loop from spinning.
        Glibc.poll(nil, 0, 10)
    }

    /// Leaves all signals to the other threads; for SIGPIPE of a write to a closed connection it means that none comes.
    private func blockSignals() {
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
    }
}
