import TestSupport
import Testing

@testable import ServerTestSupport

/// Logins at a steady pace at every instance that takes part, by turns, however long each of them takes.
///
/// What comes in late comes in all the same: a service that stalls is found out by the logins that wait behind the
/// stall.
actor SteadyLoad {
    /// A login that was not answered with 200.
    struct Failed: Sendable, CustomStringConvertible {
        let visitor: Visitor
        /// When the login began, since the load did.
        let at: Duration
        let what: String

        var description: String { "\(at): \(what)" }
    }

    /// A login that was answered with 200.
    struct Accepted: Sendable {
        /// When it ended, since the load began.
        let ended: Duration
        let elapsed: Duration
    }

    /// What came of all logins.
    struct Outcome: Sendable {
        var count = 0
        var failed: [Failed] = []
        var accepted: [Accepted] = []
        /// When the logins ended, well or not, since the load began.
        var ends: [Duration] = []
        var slowest = Duration.zero
        /// How long the load went on.
        var length = Duration.zero

        /// Logins a second.
        var rate: Double { Double(count) / max(length / .seconds(1), 0.001) }

        /// Logins a second that were answered with 200 while the load went on.
        var goodput: Double {
            Double(accepted.count { $0.ended <= length }) / max(length / .seconds(1), 0.001)
        }

        /// How many logins ended, well or not, while the load went on.
        var endedMeanwhile: Int { ends.count { $0 <= length } }

        /// What at least so many of a hundred accepted logins took at most.
        func percentile(_ percent: Int) -> Duration { accepted.map(\.elapsed).percentile(percent) }
    }

    private var instances: [Deployment]
    /// Logins under way, by the port of the instance.
    private var underWay: [Int: Int] = [:]
    private var outcome = Outcome()
    private var isOver = false

    private init(instances: [Deployment]) { self.instances = instances }

    /// Keeps logins going until a closure has ended.
    ///
    /// - Parameters:
    ///   - rate: Logins a second, all instances together.
    ///   - visitors: Who logs in, by turns.
    ///   - document: Where.
    ///   - instances: The instances that take part from the start.
    ///   - isPatient: Whether a login that is refused as `overloaded` is sent again, some times, as clients do: a busy
    ///     machine refuses some.
    ///   - body: What happens meanwhile; it can let other instances take part (``use(_:)``).
    /// - Returns: What came of the logins.
    /// - Throws: What the closure throws.
    static func run(
        perSecond rate: Int,
        _ visitors: [Visitor],
        to document: Document,
        at instances: [Deployment],
        isPatient: Bool = false,
        _ body: (SteadyLoad) async throws -> Void
    ) async throws -> Outcome {
        let load = SteadyLoad(instances: instances)
        let start = ContinuousClock.now
        let pace = Task {
            await withDiscardingTaskGroup { group in
                var number = 0
                while await !load.isOver {
                    let visitor = visitors[number % visitors.count]
                    let instance = await load.next(number)
                    group.addTask {
                        await load.logIn(visitor, at: instance, document, since: start, tries: isPatient ? 10 : 1)
                    }
                    number += 1
                    try? await Task.sleep(until: start + .seconds(1) * number / rate)
                }
            }
        }
        do {
            try await body(load)
        } catch {
            await load.end()
            await pace.value
            throw error
        }
        await load.end()
        let length = ContinuousClock.now - start
        await pace.value
        var outcome = await load.outcome
        outcome.length = length
        return outcome
    }

    /// Sends what begins from now on to other instances, and returns when nothing is under way at the former ones any
    /// more, as whoever balances load does before an instance is ended.
    func use(_ instances: [Deployment]) async throws {
        let former = self.instances.map(\.client.port)
        self.instances = instances
        try await eventually("what is under way has ended") { former.allSatisfy { underWay[$0, default: 0] == 0 } }
    }

    /// Returns when so many more logins have ended, well or not.
    func waitForMore(_ count: Int) async throws {
        let enough = outcome.count + count
        try await eventually("more logins have ended", within: .seconds(30)) { outcome.count >= enough }
    }

    private func end() { isOver = true }

    private func next(_ number: Int) -> Deployment {
        let instance = instances[number % instances.count]
        underWay[instance.client.port, default: 0] += 1
        return instance
    }

    private nonisolated func logIn(
        _ visitor: Visitor,
        at instance: Deployment,
        _ document: Document,
        since begin: ContinuousClock.Instant,
        tries: Int
    ) async {
        let start = ContinuousClock.now
        var failure: String?
        do {
            var reply = try await instance.login(visitor, to: document)
            for _ in 1..<tries where reply.status == 503 && reply.text.contains(#""reason":"overloaded""#) {
                try await Task.sleep(for: .milliseconds(200))
                reply = try await instance.login(visitor, to: document)
            }
            if reply.status != 200 { failure = "\(reply.status) \(reply.text)" }
        } catch {
            failure = "\(error)"
        }
        await note(
            at: instance,
            failure.map { Failed(visitor: visitor, at: start - begin, what: $0) },
            ended: ContinuousClock.now - begin,
            elapsed: ContinuousClock.now - start
        )
    }

    private func note(at instance: Deployment, _ failed: Failed?, ended: Duration, elapsed: Duration) {
        underWay[instance.client.port, default: 0] -= 1
        outcome.count += 1
        outcome.ends.append(ended)
        outcome.slowest = max(outcome.slowest, elapsed)
        if let failed {
            outcome.failed.append(failed)
        } else {
            outcome.accepted.append(Accepted(ended: ended, elapsed: elapsed))
        }
    }
}

extension [Duration] {
    /// What at least so many of a hundred are at most; zero when there are none.
    func percentile(_ percent: Int) -> Duration {
        guard !isEmpty else { return .zero }
        return sorted()[Swift.min(count - 1, count * percent / 100)]
    }
}
