import NIOConcurrencyHelpers
package import Vocabulary

/// Lets a bounded number do something at once.
///
/// The others wait for their turn, which is fair between applications, and between the sources of one (`WaitingRoom`).
/// Each database has places of its own: one that hangs takes none from the others.
package final class FairQueue: Sendable {
    private typealias Waiter = CheckedContinuation<Turn, Never>

    private let rooms: NIOLockedValueBox<[DatabaseVariable?: WaitingRoom<Waiter>]>
    private let newRoom: @Sendable () -> WaitingRoom<Waiter>
    /// What those are told who have no room, or wait for too long.
    private let refusal: Failure

    /// What takes longer on end is slow: an application that others stand beside gets fewer places then.
    static let slow: Duration = .milliseconds(250)

    /// Makes a queue.
    ///
    /// - Parameters:
    ///   - width: How many go through at once.
    ///   - most: How many wait at most.
    ///   - refusal: What those are told whose turn does not come.
    package init(width: Int, most: Int, refusal: Failure) {
        let width = max(width, 1)
        self.refusal = refusal
        rooms = NIOLockedValueBox([:])
        newRoom = {
            WaitingRoom(
                limit: AdaptiveLimit(width...width, rest: width, target: Self.slow, interval: .milliseconds(500)),
                fewestOfOne: 1,
                sparesPlaces: false,
                // Everybody says how long it waits.
                patience: .zero,
                most: most
            )
        }
    }

    /// How many are at it, and how many wait.
    package var statistics: (working: Int, waiting: Int) {
        rooms.withLockedValue { rooms in
            rooms.values.reduce(into: (0, 0)) { sum, room in
                sum.0 += room.held
                sum.1 += room.waiting
            }
        }
    }

    /// Whether an application has nothing under way.
    package func isIdle(_ application: ApplicationID, at database: DatabaseVariable? = nil) -> Bool {
        inRoom(of: database) { $0.held(by: application) == 0 }
    }

    /// Does something when it is the application's turn.
    ///
    /// - Parameters:
    ///   - application: For whom it is done.
    ///   - database: Where; nil: in the main one, or in none.
    ///   - deadline: When nobody waits for it any more.
    ///   - body: What is done.
    /// - Returns: What the body returns.
    /// - Throws: The refusal where too many wait, or the deadline is over first; and what the body throws.
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
                $0.arrive(waiter, of: application, from: RequestOrigin.current, until: deadline, at: .now)
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

    /// Tells those who have waited for too long, at a moment.
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
