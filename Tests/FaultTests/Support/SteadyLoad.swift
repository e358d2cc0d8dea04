import Testing
import TestSupport

@testable import ServerTestSupport

/// Logins at a steady rate, alternating between the instances, however long each login takes.
///
/// Late logins start all the same: the logins that wait behind a stall of the service reveal the stall.
actor SteadyLoad {
    /// A login with a response other than 200.
    struct Failed: Sendable, CustomStringConvertible {
        let visitor: Visitor
        /// The start of the login, since the load began.
        let at: Duration
        let what: String

        var description: String { "\(at): \(what)" }
    }

    /// A login with a response of 200.
    struct Accepted: Sendable {
        /// The end of the login, since the load began.
        let ended: Duration
        let elapsed: Duration
    }

    /// The result of all logins.
    struct Outcome: Sendable {
        var count = 0
        /// The number of retries after a refusal as `overloaded`.
        var repeated = 0
        var failed: [Failed] = []
        var accepted: [Accepted] = []
        /// The ends of all logins, successful or not, since the load began.
        var ends: [Duration] = []
        var slowest = Duration.zero
        /// The duration of the load.
        var length = Duration.zero

        /// The logins per second.
        var rate: Double { Double(count) / max(length / .seconds(1), 0.001) }

        /// The logins per second with a response of 200 while the load went on.
        var goodput: Double {
            Double(accepted.count { $0.ended <= length }) / max(length / .seconds(1), 0.001)
        }

        /// The number of logins that ended, successful or not, while the load went on.
        var endedMeanwhile: Int { ends.count { $0 <= length } }

        /// Whether at most one in a hundred logins was retried, which a busy machine explains.
        var isRarelyRepeated: Bool { repeated * 100 <= count }

        /// Returns a percentile of the durations of accepted logins.
        func percentile(_ percent: Int) -> Duration { accepted.map(\.elapsed).percentile(percent) }
    }

    private var instances: [Deployment]
    /// The number of running logins by the port of the instance.
    private var underWay: [Int: Int] = [:]
    private var outcome = Outcome()
    private var isOver = false

    private init(instances: [Deployment]) { self.instances = instances }

    /// Keeps logins going until a closure has ended.
    ///
    /// - Parameters:
    ///   - rate: Logins per second, for all instances together.
    ///   - visitors: The users, who log in by turns.
    ///   - document: The application.
    ///   - instances: The instances at the start.
    ///   - isPatient: Whether a login refused as `overloaded` is retried a few times, as clients do: a busy machine
    ///     refuses some. The outcome counts retries (``Outcome/isRarelyRepeated``).
    ///   - body: Runs meanwhile; it can replace the instances (``use(_:)``).
    /// - Returns: The result of the logins.
    /// - Throws: The closure's error.
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

    /// Sends new logins to other instances and waits for the running logins at the former ones.
    ///
    /// A load balancer does the same before an instance ends.
    func use(_ instances: [Deployment]) async throws {
        let former = self.instances.map(\.client.port)
        self.instances = instances
        try await eventually("what is under way has ended") { former.allSatisfy { underWay[$0, default: 0] == 0 } }
    }

    /// Waits until that many more logins have ended, successful or not.
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
        var repeated = 0
        do {
            var reply = try await instance.login(visitor, to: document)
            for _ in 1..<tries where reply.status == 503 && reply.text.contains(#""reason":"overloaded""#) {
                repeated += 1
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
            repeated: repeated,
            ended: ContinuousClock.now - begin,
            elapsed: ContinuousClock.now - start
        )
    }

    private func note(at instance: Deployment, _ failed: Failed?, repeated: Int, ended: Duration, elapsed: Duration) {
        underWay[instance.client.port, default: 0] -= 1
        outcome.count += 1
        outcome.repeated += repeated
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
    /// Returns a percentile; zero for an empty array.
    func percentile(_ percent: Int) -> Duration {
        guard !isEmpty else { return .zero }
        return sorted()[Swift.min(count - 1, count * percent / 100)]
    }
}
