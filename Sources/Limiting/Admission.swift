import NIOConcurrencyHelpers
package import Vocabulary

/// How much an instance has under way at once (decision D10): as much as the machine and the database take, fair
/// between applications, with a quick refusal beyond.
///
/// Whoever checks a session, or asks after the health, does not pass here: that goes on.
package final class Admission: Sendable {
    package struct Settings: Sendable {
        /// Logins under way at once, at most.
        package var logins: Int
        /// Writes of logins at the database at once: at least what keeps its connections busy, at most what they can
        /// have in flight.
        package var writes: ClosedRange<Int>
        /// How long a login waits for its turn to write.
        package var patience: Duration
        /// Writes that wait.
        package var mostWaiting: Int

        package init(
            logins: Int = 2048,
            writes: ClosedRange<Int> = 16...256,
            patience: Duration = .seconds(1),
            mostWaiting: Int = 1024
        ) {
            self.logins = logins
            self.writes = writes
            self.patience = patience
            self.mostWaiting = mostWaiting
        }
    }

    /// What is under way.
    package struct Statistics: Sendable {
        /// Logins under way, and how many there may be.
        package let logins: (underWay: Int, limit: Int)
        /// Writes at the database, how many there may be, and how many wait for their turn.
        package let writes: (underWay: Int, limit: Int, waiting: Int)
        /// Refused since the start: logins at the entrance, and writes that had no room or waited too long.
        package let refused: (logins: Int, writes: Int)
        /// Executors of requests that were late at the last look.
        package let behind: Int
    }

    private typealias Waiter = CheckedContinuation<Turn, Never>

    private struct State: Sendable {
        var entrance: Entrance
        /// The room in front of each database; nil is the main one.
        var rooms: [DatabaseVariable?: Room] = [:]
        var refused = (logins: 0, writes: 0)
        /// The executors of requests that were late at the last look, by their places in `run`.
        var behind: Set<Int> = []
    }

    /// The room in front of one database: another one that hangs takes none of its places.
    private struct Room: Sendable {
        var room: WaitingRoom<Waiter>
        /// Whether the last write found no database.
        var isAway = false

        /// Why a write was not begun: who waited behind writes that found no database is told of that.
        var refusal: Failure {
            isAway
                ? Failure(
                    .storeUnavailable,
                    "The database did not answer in time or is not reachable. Try again shortly.",
                    retryAfter: 2,
                    cause: "writes before it found no database"
                )
                : Failure(.overloaded, "The service is busy. Nothing was begun; try again shortly.", retryAfter: 1)
        }
    }

    private let state: NIOLockedValueBox<State>
    private let newRoom: @Sendable () -> WaitingRoom<Waiter>

    /// How late a task may run for half a second on end; more, and the machine has too much to do.
    static let lateness: Duration = .milliseconds(100)
    /// How late a task of requests may run; more, and what was let in is done elsewhere.
    static let requestLateness: Duration = .milliseconds(50)
    /// How long a write may take on end; more, and the database has.
    static let writing: Duration = .milliseconds(250)
    /// How often it is looked at how late a task runs, and who has waited for too long.
    static let lookInterval: Duration = .milliseconds(100)
    /// Logins that are always let in, however late tasks run.
    static let fewestLogins = 32

    package init(_ settings: Settings = Settings()) {
        let interval: Duration = .milliseconds(500)
        let logins = min(Self.fewestLogins, settings.logins)...settings.logins
        func limit(_ target: Duration) -> AdaptiveLimit {
            AdaptiveLimit(logins, rest: settings.logins, target: target, interval: interval)
        }
        state = NIOLockedValueBox(
            State(
                // Where writes of an application stand for half of what they may, more of it is let in than is written.
                entrance: Entrance(limit: limit(Self.lateness), own: limit(settings.patience / 2))
            )
        )
        newRoom = {
            WaitingRoom(
                // Few at first: those that a lock catches unawares hold up the connections one after another.
                limit: AdaptiveLimit(
                    settings.writes,
                    rest: settings.writes.lowerBound,
                    target: Self.writing,
                    interval: interval
                ),
                // Half of the connections at least are left to others.
                fewestOfOne: max(settings.writes.lowerBound / 4, 1),
                patience: settings.patience,
                most: settings.mostWaiting
            )
        }
        state.withLockedValue { $0.rooms[nil] = Room(room: newRoom()) }
    }

    /// What happens in front of a database.
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

    /// Does something that counts as a login, from the parsed request to the reply, where there is room.
    ///
    /// Where the executors of requests are behind, it is done on Swift's pool: there, what was let in has processors to
    /// itself, instead of standing behind all that comes and is refused at each of its steps.
    ///
    /// - Throws: `overloaded` with the message where there is none, and what the body throws.
    package func admit<Result>(
        _ application: ApplicationID,
        orRefuse message: String = "Too many logins are under way. Try again shortly.",
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let source = RequestOrigin.current
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

    /// Does something at the database when it is the application's turn.
    ///
    /// - Parameters:
    ///   - application: Whose users it is about: each database has a room of its own.
    ///   - body: What is done.
    /// - Returns: What the body returns.
    /// - Throws: `overloaded` where too many wait, or it waited for too long, `store_unavailable` where that is since
    ///   others find no database, nothing having been done; and what the body throws.
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

    /// What is said of a write that was not begun.
    ///
    /// It teaches the entrance how long it waited in vain; nil is for one that found no room to wait, which others may
    /// have filled.
    private func refuse(_ application: ApplicationID, at database: DatabaseVariable?, waited: Duration?) -> Failure {
        state.withLockedValue { state in
            state.refused.writes += 1
            let (isAway, refusal) = inRoom(of: database, &state) { ($0.isAway, $0.refusal) }
            // Nothing is learnt from a database that is away: once it is back, everybody may come.
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
                $0.room.arrive(waiter, of: application, from: RequestOrigin.current, at: .now)
            }
            switch arrival {
            case .admitted: waiter.resume(returning: .come)
            case .refused: waiter.resume(returning: .noRoom)
            case .waiting: break
            case .waitingInstead(of: let other): other.resume(returning: .noRoom)
            }
        }
    }

    /// Looks, until the task is cancelled, how late tasks run and who has waited for too long.
    ///
    /// Without it the entrance stays as wide as it is, and who waits does so until others leave.
    ///
    /// - Parameter executors: What requests are served by.
    package func run(servedBy executors: [any TaskExecutor] = []) async {
        await withTaskGroup { group in
            for (place, executor) in executors.enumerated() {
                group.addTask { await self.look(at: executor, place) }
            }
            await Self.look { due in
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

    /// Looks how late a task runs that goes over to an executor.
    private func look(at executor: any TaskExecutor, _ place: Int) async {
        await Self.look { _ in
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

    /// Does something time and again, until the task is cancelled; it hears when it was due.
    private static func look(_ body: (ContinuousClock.Instant) async -> Void) async {
        while !Task.isCancelled {
            let due = ContinuousClock.now + lookInterval
            try? await Task.sleep(until: due, tolerance: .zero)
            await body(due)
        }
    }
}
