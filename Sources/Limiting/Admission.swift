package import Domain
import NIOConcurrencyHelpers

/// Admits requests to an instance as long as the machine and the database can handle them (decision D10).
///
/// It refuses further requests quickly, and is fair between applications. Session checks and health checks bypass it,
/// so they always work.
package final class Admission: Sendable {
    package struct Settings: Sendable {
        /// The maximum number of concurrent logins.
        package var logins: Int
        /// The minimum and the maximum of the limit on concurrent database writes by logins, which adapts to the load.
        ///
        /// The minimum keeps the connections busy. The maximum is the number of writes that the connections can have in
        /// flight.
        package var writes: ClosedRange<Int>
        /// How long a login waits for its turn to write.
        package var timeout: Duration
        /// The maximum number of waiting writes.
        package var maxWaiting: Int

        package init(
            logins: Int = 2048,
            writes: ClosedRange<Int> = 16...256,
            timeout: Duration = .seconds(1),
            maxWaiting: Int = 1024
        ) {
            self.logins = logins
            self.writes = writes
            self.timeout = timeout
            self.maxWaiting = maxWaiting
        }
    }

    /// The numbers of logins and database writes that are under way, wait or were refused, and their limits.
    package struct Statistics: Sendable {
        /// The number of logins under way, and the maximum number of them.
        package let logins: (underWay: Int, limit: Int)
        /// The number of database writes under way, the maximum number of them, and the number of writes that wait for
        /// their turn.
        package let writes: (underWay: Int, limit: Int, waiting: Int)
        /// The numbers of refused logins and of refused writes since the start of the process.
        ///
        /// A write is refused if the queue is full, or if the write has waited too long.
        package let refused: (logins: Int, writes: Int)
        /// The number of request executors that were overloaded at the last check.
        ///
        /// On such an executor, a task started with a delay of more than `requestLateness`.
        package let behind: Int
    }

    private typealias Waiter = CheckedContinuation<Turn, Never>

    private struct State: Sendable {
        var entrance: Entrance
        /// For each database, the queue of the writes that wait for their turn.
        ///
        /// The key nil is the main database.
        var rooms: [DatabaseVariable?: Room] = [:]
        var refused = (logins: 0, writes: 0)
        /// The request executors that were overloaded at the last check, by their indices in the `executors` of `run`.
        ///
        /// On such an executor, a task started with a delay of more than `requestLateness`.
        var behind: Set<Int> = []
    }

    /// The queue of the writes that wait for one database.
    ///
    /// Each database has a queue of its own. So a database that hangs does not hold up the writes to another database.
    private struct Room: Sendable {
        var room: WaitingRoom<Waiter>
        /// Whether the last write found the database unavailable.
        var isAway = false

        /// The error for a write that did not begin.
        ///
        /// It depends on whether the last write found the database unavailable.
        var refusal: Failure {
            isAway
                ? Failure(
                    .storeUnavailable,
                    "The database did not respond in time or cannot be reached. Try again shortly.",
                    retryAfter: 2,
                    cause: "writes before it found no database"
                )
                : Failure(.overloaded, "The service is busy. Nothing was changed. Try again shortly.", retryAfter: 1)
        }
    }

    private let state: NIOLockedValueBox<State>
    private let newRoom: @Sendable () -> WaitingRoom<Waiter>

    /// If scheduled tasks start later than this for half a second, the machine counts as overloaded.
    static let lateness: Duration = .milliseconds(100)
    /// If a task on a request executor starts later than this, the executor counts as overloaded.
    ///
    /// Admitted requests then run on other threads.
    static let requestLateness: Duration = .milliseconds(50)
    /// If even the fastest database writes take longer than this, the database counts as overloaded.
    static let writing: Duration = .milliseconds(250)
    /// The interval at which an instance checks for delayed tasks and for writes that have waited too long.
    static let watchInterval: Duration = .milliseconds(100)
    /// The number of concurrent logins that are admitted even if the machine is overloaded.
    static let minLogins = 32

    package init(_ settings: Settings = Settings()) {
        let interval: Duration = .milliseconds(500)
        let logins = min(Self.minLogins, settings.logins)...settings.logins
        func limit(_ target: Duration) -> AdaptiveLimit {
            AdaptiveLimit(logins, rest: settings.logins, target: target, interval: interval)
        }
        state = NIOLockedValueBox(
            State(
                // If the writes of an application wait for half of the timeout, more of its requests are admitted than
                // the application can write.
                entrance: Entrance(limit: limit(Self.lateness), own: limit(settings.timeout / 2))
            )
        )
        newRoom = {
            WaitingRoom(
                // The limit is low at first. Writes that unexpectedly meet a lock would block one connection after the
                // other.
                limit: AdaptiveLimit(
                    settings.writes,
                    rest: settings.writes.lowerBound,
                    target: Self.writing,
                    interval: interval
                ),
                // At least half of the connections are left for other applications.
                minOfOne: max(settings.writes.lowerBound / 4, 1),
                timeout: settings.timeout,
                max: settings.maxWaiting
            )
        }
        state.withLockedValue { $0.rooms[nil] = Room(room: newRoom()) }
    }

    /// Calls `body`, under the lock, with the queue of the writes that wait for a database.
    private func inRoom<Result>(
        of database: DatabaseVariable?,
        _ body: (inout Room) -> Result
    ) -> Result {
        state.withLockedValue { inRoom(of: database, &$0, body) }
    }

    private func inRoom<Result>(
        of database: DatabaseVariable?,
        _ state: inout State,
        _ body: (inout Room) -> Result
    ) -> Result {
        body(&state.rooms[database, default: Room(room: newRoom())])
    }

    package var statistics: Statistics {
        state.withLockedValue { state in
            Statistics(
                logins: (state.entrance.underWay, state.entrance.limit.limit),
                writes: state.rooms.values.reduce(into: (0, 0, 0)) { sum, room in
                    sum.0 += room.room.held
                    sum.1 += room.room.limit.limit
                    sum.2 += room.room.waiting
                },
                refused: state.refused,
                behind: state.behind.count
            )
        }
    }

    /// Runs an operation that counts as a login, if there is room for another login.
    ///
    /// The operation lasts from the parsed request to the response. If a request executor is overloaded, `body` runs on
    /// Swift's global thread pool. On the executor, an admitted request would wait at each step behind new requests,
    /// even behind those that are then refused.
    ///
    /// - Throws: `overloaded` with the message if there is no room; otherwise the error of `body`.
    package func admit<Result>(
        _ application: ApplicationID,
        orRefuse message: String = "Too many logins are running. Try again shortly.",
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let source = RequestSender.current.source
        let (isIn, isBehind) = state.withLockedValue { state in
            let isIn = state.entrance.enter(application, from: source)
            if !isIn { state.refused.logins += 1 }
            return (isIn, !state.behind.isEmpty)
        }
        guard isIn else { throw Failure(.overloaded, message, retryAfter: 1) }
        defer { state.withLockedValue { $0.entrance.leave(application, from: source) } }
        if isBehind { return try await withTaskExecutorPreference(globalConcurrentExecutor, operation: body) }
        return try await body()
    }

    /// Runs a write to an application's database when it is the application's turn.
    ///
    /// - Parameters:
    ///   - application: The application whose users are written. Each database has a queue of its own.
    ///   - body: The write.
    /// - Returns: The result of `body`.
    /// - Throws: `overloaded` if too many writes wait, or if this write has waited too long. The error is
    ///   `store_unavailable` instead if the last write found the database unavailable. In both cases `body` was not
    ///   called. Otherwise the error of `body`.
    package func write<Result>(
        of application: Application,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let (application, database) = (application.id, application.database)
        let arrived = ContinuousClock.now
        let turn = await enter(application, at: database)
        let began = ContinuousClock.now
        guard turn == .come else {
            throw refuse(application, at: database, waited: turn == .missed ? began - arrived : nil)
        }
        do throws(Failure) {
            let result = try await body()
            leave(application, at: database, waited: began - arrived, since: began, isAway: false)
            return result
        } catch {
            let isAway = error.reason == .storeUnavailable
            leave(application, at: database, waited: began - arrived, since: began, isAway: isAway)
            throw error
        }
    }

    /// Counts a write that did not begin as refused, and returns the error for it.
    ///
    /// - Parameters:
    ///   - application: The application of the write.
    ///   - database: The database of the write.
    ///   - waited: How long the write waited in vain; the limit of the application adapts to this time. Nil for a write
    ///     that was refused because the queue was full: other applications may have filled the queue.
    /// - Returns: The error.
    private func refuse(_ application: ApplicationID, at database: DatabaseVariable?, waited: Duration?) -> Failure {
        state.withLockedValue { state in
            state.refused.writes += 1
            let (isAway, refusal) = inRoom(of: database, &state) { ($0.isAway, $0.refusal) }
            // An unavailable database changes no limit. Once the database is back, all requests may come.
            if let waited, !isAway { state.entrance.observe(wait: waited, of: application, at: .now) }
            return refusal
        }
    }

    private func leave(
        _ application: ApplicationID,
        at database: DatabaseVariable?,
        waited: Duration,
        since began: ContinuousClock.Instant,
        isAway: Bool
    ) {
        let now = ContinuousClock.now
        let served = state.withLockedValue { state in
            if !isAway { state.entrance.observe(wait: waited, of: application, at: now) }
            return inRoom(of: database, &state) { room in
                room.isAway = isAway
                return room.room.leave(application, took: now - began, at: now)
            }
        }
        for next in served { next.resume(returning: .come) }
    }

    private func enter(_ application: ApplicationID, at database: DatabaseVariable?) async -> Turn {
        if inRoom(of: database, { $0.room.enter(application, at: .now) }) { return .come }
        return await withCheckedContinuation { waiter in
            let arrival = inRoom(of: database) {
                $0.room.arrive(waiter, of: application, from: RequestSender.current.source, at: .now)
            }
            switch arrival {
            case .admitted: waiter.resume(returning: .come)
            case .refused: waiter.resume(returning: .noRoom)
            case .waiting: break
            case .waitingInstead(of: let other): other.resume(returning: .noRoom)
            }
        }
    }

    /// Checks how late tasks run, and refuses writes that have waited too long, until the task is cancelled.
    ///
    /// Unless this method runs, the limit of logins does not adapt to the load of the machine, and writes whose
    /// deadline has passed still wait until other writes end.
    ///
    /// - Parameter executors: The executors that serve requests.
    package func run(servedBy executors: [any TaskExecutor] = []) async {
        await withTaskGroup { group in
            for (place, executor) in executors.enumerated() {
                group.addTask { await self.watch(executor, place) }
            }
            await Self.periodically { due in
                let now = ContinuousClock.now
                let expired = state.withLockedValue { state in
                    state.entrance.observe(lateness: max(now - due, .zero), at: now)
                    let waiting = Set(state.rooms.values.flatMap(\.room.applicationsWaiting))
                    state.entrance.observe(nobodyWaitingBut: waiting, at: now)
                    return state.rooms.keys.flatMap { state.rooms[$0]?.room.expire(at: now) ?? [] }
                }
                for waiter in expired { waiter.resume(returning: .missed) }
            }
        }
    }

    /// Measures repeatedly how long a task waits for an executor, until the caller's task is cancelled.
    ///
    /// `place` is the index of the executor. While the wait is longer than `requestLateness`, the set `behind` contains
    /// this index.
    private func watch(_ executor: any TaskExecutor, _ place: Int) async {
        await Self.periodically { _ in
            let asked = ContinuousClock.now
            let lateness = await withTaskExecutorPreference(executor) { ContinuousClock.now - asked }
            state.withLockedValue { state in
                if lateness > Self.requestLateness {
                    state.behind.insert(place)
                } else {
                    state.behind.remove(place)
                }
            }
        }
    }

    /// Calls `body` again and again, after a pause of `watchInterval` each time, until the task is cancelled.
    ///
    /// The argument of `body` is the time when the call was due.
    private static func periodically(_ body: (ContinuousClock.Instant) async -> Void) async {
        while !Task.isCancelled {
            let due = ContinuousClock.now + watchInterval
            try? await Task.sleep(until: due, tolerance: .zero)
            await body(due)
        }
    }
}
