/// One statement or script on its way, and the caller who waits for its end.
///
/// `@unchecked Sendable`: it has one owner at a time, which the compiler cannot see. The caller fills it in before it
/// puts it into the mailbox, whose lock hands it over; from then on the loop's thread alone reads and writes what can
/// change.
final class Request: @unchecked Sendable {
    typealias Outcome = Result<ResultSet, PostgresError>

    enum Work {
        case statement(Statement)
        /// What the statement would return; nothing of it is run.
        case description(Statement)
        /// Several statements in one text, by the simple protocol, without values.
        case script(String)
        /// A COPY from us, by the simple protocol, and its rows.
        case copy(String, CopyRows)
    }

    /// On whose behalf the request is.
    enum Origin {
        /// Somebody waits for the answer.
        case caller
        /// The pool cleans a session that was lent.
        case cleaning
        /// A stream of notifications asks to hear of them.
        case listener
        /// The connection drops a prepared statement; nobody waits, and no limit counts it.
        case housekeeping
    }

    /// How the statement was sent.
    enum Plan {
        /// Parsed for this one use.
        case unnamed
        /// Prepared with this use.
        case fresh
        /// Prepared by an earlier use.
        case reused
    }

    /// Where the request is.
    enum Place {
        /// Not yet seen by the loop; only the caller may touch it. Can transition to: cancelled, waiting, sent,
        /// finished.
        case outside
        /// The caller had gone before the loop saw the request, and waits to be told so. Can transition to: finished.
        case cancelled
        /// In the queue for pipelined connections. Can transition to: sent, finished.
        case waiting
        /// On the connection of that slot. Can transition to: waiting, finished.
        case sent(slot: Int)
        /// The caller has its answer.
        case finished
    }

    let work: Work
    let origin: Origin
    /// The lease that the request is for; nil for any pipelined connection.
    let lease: Lease?
    /// With which others the statement shares what its connection knows.
    let affinity: Affinity?
    /// Whether the statement is inside a transaction, so that nothing of it stays if the connection breaks.
    let isInTransaction: Bool

    var place = Place.outside
    var plan = Plan.unnamed
    /// Whether the statement is parsed for this one use, whatever its connection does with others.
    ///
    /// So it is with one that is sent for the second time, because its plan had gone stale, and with one that is rare.
    var isUnnamed = false
    /// When the loop first saw it; nil before.
    var began: ContinuousClock.Instant?
    /// Until when the request may wait for a connection.
    var deadline = ContinuousClock.now
    /// Set by the caller before anybody else sees the request; nil for what the pool does on its own behalf.
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

    /// Gives the caller its answer, unless it has one.
    func finish(_ outcome: Outcome) {
        place = .finished
        guard let continuation else { return }
        self.continuation = nil
        continuation.resume(returning: outcome)
    }
}

/// An exclusive connection, lent under a number that is never used again.
struct Lease: Sendable, Hashable {
    let place: Int
    let serial: UInt64

    /// What the connection was lent for.
    enum Purpose: Sendable, Hashable {
        /// One transaction: its replies are due within the statement limit.
        case transaction
        /// Anything: the session is cleaned when it is returned, and only the server's own limits hold.
        case session
    }
}

/// A caller who waits for a lease.
///
/// `@unchecked Sendable`: the caller sets the continuation before it puts the request into the mailbox, whose lock
/// hands it over; from then on the loop's thread alone touches it.
final class LeaseRequest: @unchecked Sendable {
    let purpose: Lease.Purpose
    var continuation: Continuation<Result<Lease, PostgresError>>?
    /// The caller has gone, perhaps before the loop saw the request.
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

/// What other threads tell the pool.
enum PoolMessage: Sendable {
    /// Open connections; the continuation is resumed when the pool has shut down.
    case run(Continuation<Void>)
    case shutDown
    case submit(Request)
    case cancel(Request)
    case lease(LeaseRequest)
    case cancelLease(LeaseRequest)
    /// A lease comes back; the continuation is resumed when its session is clean or closed.
    case returned(Lease, Lease.Purpose, Continuation<Void>?)
    /// Somebody has begun to read a stream of notifications.
    case listen(Subscription)
    /// Nobody reads it any more.
    case unlisten(Subscription)
    /// What the name of the host with that index resolves to; nothing if it does not.
    case resolved(host: Int, Resolver.Resolution)

    /// There is no pool any more.
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
