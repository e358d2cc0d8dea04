internal import CLibCurl
internal import Glibc
internal import NIOConcurrencyHelpers

/// The thread on which libcurl works, as the executor of one actor.
///
/// The thread repeats three steps: it does the queued work, it runs a *turn*, in which the actor lets libcurl work, and
/// it sleeps in `curl_multi_poll` until a socket, a timer or new work wakes it. Queueing work while the thread is awake
/// costs no system call.
///
/// `@unchecked Sendable`: some mutable members are accessed under the lock, as their comments say; all others are
/// accessed only by the thread.
final class LoopThread: SerialExecutor, @unchecked Sendable {
    /// Lets libcurl work, and returns how many milliseconds the thread may sleep.
    ///
    /// `polled` is true if the thread has slept since the last turn.
    typealias Turn = @Sendable (_ polled: Bool) -> Int32

    private enum Work {
        case job(UnownedJob)
        case body(@Sendable () -> Void)
    }

    private let lock = NIOLock()
    /// The work that waits for the thread.
    ///
    /// Access it only under `lock`.
    private var queue: [Work] = []
    /// Whether new work has to wake the thread.
    ///
    /// Access it only under `lock`.
    private var isAsleep = false
    /// The libcurl multi handle.
    ///
    /// Only the thread replaces the handle, under the lock. Other threads must hold the lock to read it.
    private(set) var multi: UnsafeMutableRawPointer
    /// The id of the thread; nil until the thread runs.
    ///
    /// Access it only under `lock`.
    private var thread: pthread_t?
    /// The function that the thread calls before each sleep.
    ///
    /// `start` sets it before the thread runs.
    private var turn: Turn = { _ in 0 }
    /// Whether the thread ends after the current job or turn.
    ///
    /// Only the thread accesses this flag.
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

    /// Queues `body` for the thread, which runs all submitted work in order, and as code of the actor.
    ///
    /// The client starts and cancels calls with this method, since an `await` on the actor would take longer: in Swift,
    /// a task that waits for a continuation is first resumed on another thread, and only then on the actor's thread.
    func submit(_ body: @escaping @Sendable () -> Void) {
        append(.body(body))
    }

    private func append(_ work: Work) {
        lock.withLock {
            queue.append(work)
            guard isAsleep else { return }
            isAsleep = false
            // Under the lock: otherwise the thread could do the work, end, and free the handle before this call.
            curl_multi_wakeup(multi)
        }
    }

    func checkIsolated() {
        precondition(isIsolatingCurrentContext() == true, "not on the thread of the curl client")
    }

    func isIsolatingCurrentContext() -> Bool? {
        lock.withLock { thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Starts the thread, which retains this object until it ends.
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

    /// Closes every connection by replacing the multi handle that holds them.
    ///
    /// The old handle must have no transfers left. If memory for a new handle is lacking, the old one stays.
    func closeConnections() {
        guard let fresh = curl_multi_init() else { return }
        let old = multi
        lock.withLock { multi = fresh }
        curl_multi_cleanup(old)
    }

    /// Ends the thread after the current job or turn.
    ///
    /// The actor's `deinit` calls this, so no other job or turn follows.
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
            // If the actor's last owner releases it during the turn, its `deinit` runs within the turn and sets
            // `isStopped`.
            polled = lock.withLock {
                isAsleep = queue.isEmpty && !isStopped
                return isAsleep
            }
            if polled { poll(milliseconds: sleep) }
        }
    }

    /// Replaces the content of `batch` by the queued work.
    ///
    /// The thread has already done the work that `batch` held before.
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

    /// Blocks all signals on this thread, so that other threads handle them.
    ///
    /// Otherwise a write to a closed connection would cause a SIGPIPE.
    private func blockSignals() {
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)
    }
}
