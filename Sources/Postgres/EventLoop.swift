internal import CLibPQ
internal import Glibc

/// One thread that waits on epoll and runs all code of a ``ConnectionPool``.
///
/// The loop is the executor of the pool. Jobs (`await pool.…`), messages and sockets take turns on one thread, so no
/// two threads use a PGconn at once. The thread lives as long as this object.
final class EventLoop: SerialExecutor {
    let mailbox = Mailbox()
    let poller = Poller()

    /// Starts the thread that runs the pool; the pool's executor must be this loop.
    ///
    /// The thread does not keep the pool alive.
    func start(_ pool: ConnectionPool) {
        let turns = Turns(loop: self, pool: pool)
        let started = Thread.start(name: "postgres") { turns.run() }
        // Can happen only at the start of the process. Without the thread, no request would ever be answered.
        precondition(started, "no thread for the loop of the PostgreSQL driver")
    }

    deinit {
        mailbox.close()
    }

    func enqueue(_ job: UnownedJob) {
        mailbox.post(job)
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// Ends the process unless it is called on the loop's thread.
    ///
    /// The Swift runtime calls this function when the loop calls `assumeIsolated`, as it does in each of its turns.
    func checkIsolated() {
        precondition(mailbox.isLoop, "not on the loop of the PostgreSQL driver")
    }

    func isIsolatingCurrentContext() -> Bool? {
        mailbox.isLoop
    }
}

/// The main loop that the thread of an ``EventLoop`` runs.
///
/// `@unchecked Sendable`, because the object is passed to its thread once and used nowhere else.
private final class Turns: @unchecked Sendable {
    /// The number under which epoll reports the file descriptor that wakes the loop.
    ///
    /// The numbers of connections are never zero.
    private static let mailboxTag: UInt64 = 0

    private let mailbox: Mailbox
    private let poller: Poller
    private weak var loop: EventLoop?
    private weak var pool: ConnectionPool?

    private var batch = Mailbox.Batch()
    private var events: [Poller.Event] = []

    init(loop: EventLoop, pool: ConnectionPool) {
        mailbox = loop.mailbox
        poller = loop.poller
        self.loop = loop
        self.pool = pool
    }

    func run() {
        mailbox.adopt()
        let watched = poller.add(mailbox.wakeUp, tag: Self.mailboxTag, reading: true, writing: false)
        precondition(watched, "the loop of the PostgreSQL driver cannot be woken: error \(errno)")
        var deadline: ContinuousClock.Instant?
        while true {
            events.removeAll(keepingCapacity: true)
            poller.wait(milliseconds: mailbox.fallAsleep() ? timeout(until: deadline) : 0, into: &events)
            mailbox.take(&batch)
            if let index = events.firstIndex(where: { $0.tag == Self.mailboxTag }) {
                events.remove(at: index)
                var count: eventfd_t = 0
                eventfd_read(mailbox.wakeUp, &count)
            }
            runJobs()
            if let pool {
                deadline = pool.assumeIsolated { $0.turn(events: events, messages: batch.messages) }
            } else {
                for message in batch.messages { message.fail() }
                if batch.isClosed { return }
                deadline = nil
            }
        }
    }

    private func runJobs() {
        // The last job can destroy the pool, and with it the reference to the loop. The loop must outlive that job.
        guard !batch.jobs.isEmpty, let loop else { return }
        for job in batch.jobs { job.runSynchronously(on: loop.asUnownedSerialExecutor()) }
    }

    private func timeout(until deadline: ContinuousClock.Instant?) -> Int32 {
        guard let deadline else { return -1 }
        return Int32(truncatingIfNeeded: (deadline - .now).milliseconds)
    }
}
