/// A statement or script to run, and the caller who waits for its outcome.
///
/// `@unchecked Sendable`: the compiler cannot see that only one thread at a time uses a request. The caller fills the
/// request in before posting it to the event loop's mailbox. After that only the loop's thread reads and writes the
/// mutable parts. The mailbox's lock separates the two.
final class Request: @unchecked Sendable {
    typealias Outcome = Result<ResultSet, PostgresError>

    enum Work {
        case statement(Statement)
        /// Asks for the columns of the statement without running it.
        case description(Statement)
        /// A text of several statements without values, which is sent with PostgreSQL's simple query protocol.
        case script(String)
        /// A COPY of rows to the server, which is sent with PostgreSQL's simple query protocol.
        case copy(String, CopyRows)
    }

    /// The part of the program that needs the response.
    enum Origin {
        /// A caller waits for the response.
        case caller
        /// The pool cleans the session of a returned lease.
        case cleaning
        /// A stream of notifications subscribes to its channel.
        case listener
        /// A connection frees a prepared statement that it no longer keeps. No caller waits for the response, and the
        /// request does not count towards `pipelineDepth`.
        case housekeeping
    }

    /// The way in which the statement was sent.
    enum Plan {
        /// The server parsed the statement for this run only.
        case unnamed
        /// The server prepared the statement for this run, and keeps it for later runs.
        case fresh
        /// An earlier run had prepared the statement.
        case reused
    }

    /// The stage of the request, on its way from the caller to the server and back.
    enum Place {
        /// The event loop has not seen the request yet, and only the caller may access the request. Can transition to:
        /// cancelled, waiting, sent, finished.
        case outside
        /// The caller cancelled before the loop saw the request; the loop will resume the caller with an error. Can
        /// transition to: finished.
        case cancelled
        /// In the queue for pipelined connections. Can transition to: sent, finished.
        case waiting
        /// Sent on the connection with this index in the pool. Can transition to: waiting, finished.
        case sent(slot: Int)
        /// The caller has its outcome.
        case finished
    }

    let work: Work
    let origin: Origin
    /// The lease whose connection sends the request; nil if any pipelined connection may send it.
    let lease: Lease?
    /// The group of statements that the statement belongs to; nil for none.
    ///
    /// The statements of a group are best run on the same connection.
    let affinity: Affinity?
    /// Whether the statement is inside a transaction.
    ///
    /// If so, the server rolls its effects back when the connection breaks.
    let isInTransaction: Bool

    var place = Place.outside
    var plan = Plan.unnamed
    /// Whether the statement is parsed for a single use, even on a connection that prepares statements.
    ///
    /// True for a statement that is sent again because its plan was stale, and for a rare one.
    var isUnnamed = false
    /// When the event loop first saw the request; nil before.
    var began: ContinuousClock.Instant?
    /// The time until which the request waits for a connection.
    var deadline = ContinuousClock.now
    /// The caller's continuation, set before the request is posted; nil for requests of the pool itself.
    var continuation: Continuation<Outcome>?

    init(
        _ work: Work,
        origin: Origin = .caller,
        near affinity: Affinity? = nil,
        lease: Lease? = nil,
        isInTransaction: Bool = false
    ) {
        self.work = work
        self.origin = origin
        self.affinity = affinity
        self.lease = lease
        self.isInTransaction = isInTransaction
    }

    /// Resumes the caller with the outcome, unless the caller has been resumed already.
    func finish(_ outcome: Outcome) {
        place = .finished
        guard let continuation else { return }
        self.continuation = nil
        continuation.resume(returning: outcome)
    }
}

/// The exclusive use of a connection, under a serial number that is never reused.
struct Lease: Sendable, Hashable {
    let place: Int
    let serial: UInt64

    /// The use for which a connection is leased.
    enum Purpose: Sendable, Hashable {
        /// One transaction. The connection counts as lost if a response takes longer than the time limit of statements.
        case transaction
        /// Any use. The pool cleans the session afterwards. Only the server limits how long a statement takes.
        case session
    }
}

/// A caller's request for the lease of a connection.
///
/// `@unchecked Sendable`: the caller sets the continuation before posting the request to the event loop's mailbox.
/// After that only the loop's thread uses the request. The mailbox's lock orders the caller's write before the thread's
/// reads.
final class LeaseRequest: @unchecked Sendable {
    let purpose: Lease.Purpose
    var continuation: Continuation<Result<Lease, PostgresError>>?
    /// Whether the caller has cancelled, perhaps before the event loop saw the request.
    var isCancelled = false

    init(_ purpose: Lease.Purpose) {
        self.purpose = purpose
    }

    func finish(_ outcome: Result<Lease, PostgresError>) {
        guard let continuation else { return }
        self.continuation = nil
        continuation.resume(returning: outcome)
    }
}

/// A message of another thread to the pool.
enum PoolMessage: Sendable {
    /// Starts the pool, which opens its connections. The continuation is resumed when the pool has shut down.
    case run(Continuation<Void>)
    case shutDown
    case submit(Request)
    case cancel(Request)
    case lease(LeaseRequest)
    case cancelLease(LeaseRequest)
    /// Return a lease. The continuation is resumed once the session is clean or its connection is closed.
    case returned(Lease, Lease.Purpose, Continuation<Void>?)
    /// Open a connection for a stream of notifications, whose reading has begun.
    case listen(Subscription)
    /// Close the connection of a stream of notifications that is no longer read.
    case unlisten(Subscription)
    /// The name of the host with this index in the configuration was resolved. The addresses are empty if this failed.
    case resolved(host: Int, Resolver.Resolution)

    /// Resumes all callers that wait for the outcome of this message, since the pool no longer exists.
    func fail() {
        switch self {
        case .run(let continuation): continuation.resume()
        case .submit(let request): request.finish(.failure(.shutDown))
        case .lease(let request): request.finish(.failure(.shutDown))
        case .returned(_, _, let continuation): continuation?.resume()
        case .listen(let subscription): subscription.end()
        case .shutDown, .cancel, .cancelLease, .unlisten, .resolved: break
        }
    }
}
