package import Domain
import NIOConcurrencyHelpers

/// A queue that lets a limited number of operations run at the same time.
///
/// Other operations wait for their turn. The turns are fair between applications, and between the sources of an
/// application (`WaitingRoom`). The limit applies to each database separately, so a database that does not respond does
/// not hold up the operations of another.
package final class FairQueue: Sendable {
    private typealias Waiter = CheckedContinuation<Turn, Never>

    private let rooms: NIOLockedValueBox<[DatabaseVariable?: WaitingRoom<Waiter>]>
    private let newRoom: @Sendable () -> WaitingRoom<Waiter>
    /// The error for an operation that arrives when the queue is full, or that has waited too long.
    private let refusal: Failure

    /// If all operations of an application take longer than this for some time, the application counts as slow.
    ///
    /// While other applications use the queue, a slow application may run fewer operations at the same time.
    static let slow: Duration = .milliseconds(250)

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - width: The maximum number of operations of one database that run at the same time.
    ///   - max: The maximum number of operations of one database that wait.
    ///   - refusal: The error for operations whose turn does not come.
    package init(width: Int, max: Int, refusal: Failure) {
        let width = Swift.max(width, 1)
        self.refusal = refusal
        rooms = NIOLockedValueBox([:])
        newRoom = {
            WaitingRoom(
                limit: AdaptiveLimit(width...width, rest: width, target: Self.slow, interval: .milliseconds(500)),
                minOfOne: 1,
                sparesPlaces: false,
                // No waiter uses this timeout, since every caller gives a deadline.
                timeout: .zero,
                max: max
            )
        }
    }

    /// The numbers of running and waiting operations, of all databases together.
    package var statistics: (working: Int, waiting: Int) {
        rooms.withLockedValue { rooms in
            rooms.values.reduce(into: (0, 0)) { sum, room in
                sum.0 += room.held
                sum.1 += room.waiting
            }
        }
    }

    /// Returns whether an application has no running operations at a database.
    package func isIdle(_ application: ApplicationID, at database: DatabaseVariable? = nil) -> Bool {
        inRoom(of: database) { $0.held(by: application) == 0 }
    }

    /// Runs an operation when it is the application's turn.
    ///
    /// - Parameters:
    ///   - application: The application of the operation.
    ///   - database: The database of the operation. Nil for the main database, and for an operation without a database.
    ///   - deadline: The time when the caller stops waiting.
    ///   - body: The operation.
    /// - Returns: The result of `body`.
    /// - Throws: The `refusal` of the queue if too many operations wait, or if the deadline passes before the turn.
    ///   Otherwise the error of `body`.
    package func pass<Result>(
        of application: ApplicationID,
        at database: DatabaseVariable? = nil,
        before deadline: ContinuousClock.Instant,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        guard await enter(application, at: database, until: deadline) == .come else { throw refusal }
        let began = ContinuousClock.now
        defer { leave(application, at: database, since: began) }
        guard began < deadline else { throw refusal }
        return try await body()
    }

    private func enter(
        _ application: ApplicationID,
        at database: DatabaseVariable?,
        until deadline: ContinuousClock.Instant
    ) async -> Turn {
        if inRoom(of: database, { $0.enter(application, at: .now) }) { return .come }
        var alarm: Task<Void, Never>?
        let turn = await withCheckedContinuation { (waiter: Waiter) in
            let arrival = inRoom(of: database) {
                $0.arrive(waiter, of: application, from: RequestSender.current.source, until: deadline, at: .now)
            }
            switch arrival {
            case .admitted: waiter.resume(returning: .come)
            case .refused: waiter.resume(returning: .noRoom)
            case .waiting: alarm = self.alarm(at: deadline, in: database)
            case .waitingInstead(of: let other):
                other.resume(returning: .noRoom)
                alarm = self.alarm(at: deadline, in: database)
            }
        }
        alarm?.cancel()
        return turn
    }

    /// Starts a task that waits until the deadline, and then refuses all waiting operations whose deadline has passed.
    private func alarm(at deadline: ContinuousClock.Instant, in database: DatabaseVariable?) -> Task<Void, Never> {
        Task {
            guard (try? await Task.sleep(until: deadline, clock: .continuous)) != nil else { return }
            for waiter in inRoom(of: database, { $0.expire(at: .now) }) { waiter.resume(returning: .missed) }
        }
    }

    private func leave(
        _ application: ApplicationID,
        at database: DatabaseVariable?,
        since began: ContinuousClock.Instant
    ) {
        let now = ContinuousClock.now
        let served = inRoom(of: database) { $0.leave(application, took: now - began, at: now) }
        for next in served { next.resume(returning: .come) }
    }

    private func inRoom<Result>(
        of database: DatabaseVariable?,
        _ body: (inout WaitingRoom<Waiter>) -> Result
    ) -> Result {
        rooms.withLockedValue { body(&$0[database, default: newRoom()]) }
    }
}
