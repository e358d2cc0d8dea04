import TestSupport

/// A program under load.
struct Target {
    let name: String
    let process: ManagedProcess
    /// Further instances of the program, which share the load.
    var others: [ManagedProcess] = []
    let load: Load
    /// What each reply must have.
    var status = 200

    /// A benchmark of failures would be worth nothing.
    func check(_ outcome: Load.Outcome) throws {
        guard outcome.replies.keys.allSatisfy({ $0 == status }), outcome.count > 0 else {
            throw WrongReplies(
                name: name,
                replies: outcome.replies,
                output: process.standardOutput.suffix(2000).description
            )
        }
    }

    /// What one measurement costs, in which every reply must be the expected one.
    ///
    /// - Parameters:
    ///   - setting: Where the PostgreSQL servers are; all count, and those that have nothing to do add nothing.
    ///   - work: The logins.
    /// - Returns: Processor time and the like.
    /// - Throws: `WrongReplies`.
    func cost(_ setting: Setting, _ work: (Load) async -> Load.Outcome) async throws -> Cost {
        let processes = [process] + others
        func ownTime() -> Double { processes.map { ProcessorTime.of($0.pid) }.reduce(0, +) }
        // The logs are asked for outside of what is timed.
        let clusters = setting.servers.map { Database(url: $0.url) }
        var positions: [String] = []
        for cluster in clusters { positions.append(try await cluster.logPosition()) }
        let (own, servers) = (ownTime(), setting.servers.map { ProcessorTime.ofFamily($0.pid) })
        let outcome = await work(load)
        let (ownEnd, serversEnd) = (ownTime(), setting.servers.map { ProcessorTime.ofFamily($0.pid) })
        try check(outcome)
        var log = (records: 0.0, pageImages: 0.0)
        for (cluster, position) in zip(clusters, positions) {
            let logged = try await cluster.logged(since: position)
            log = (log.records + logged.records, log.pageImages + logged.pageImages)
        }
        let count = Double(outcome.count)
        return Cost(
            perSecond: count / outcome.seconds,
            process: (ownEnd - own) * 1_000_000 / count,
            servers: zip(servers, serversEnd).map { ($1 - $0) * 1_000_000 / count },
            logBytes: log.records / count,
            pageImageBytes: log.pageImages / count,
            residentMegabytes: Double(try processes.map { try $0.usage().residentBytes }.reduce(0, +)) / 1_000_000
        )
    }
}

/// What one measurement cost: processor time in microseconds a login, the rest in bytes.
struct Cost {
    let perSecond: Double
    let process: Double
    /// Of each PostgreSQL server.
    let servers: [Double]
    /// What a login adds to PostgreSQL's write-ahead log, without the images of whole pages, which stand there for each
    /// page that is changed for the first time after a checkpoint.
    let logBytes: Double
    let pageImageBytes: Double
    let residentMegabytes: Double

    /// Of all PostgreSQL servers.
    var database: Double { servers.reduce(0, +) }
}

/// What was measured, by the names of targets, round by round.
typealias Costs = [String: [Cost]]

extension Costs {
    /// How one target compares with another, round by round.
    func ratios(of name: String, to other: String, _ value: (Cost) -> Double) -> [Double] {
        zip(self[name] ?? [], self[other] ?? []).map { value($0) / value($1) }
    }
}

extension [Target] {
    /// Measures each in its turn, so many times.
    func inTurns(_ rounds: Int, _ setting: Setting, _ work: (Load) async -> Load.Outcome) async throws -> Costs {
        var costs: Costs = [:]
        for _ in 0..<rounds {
            for target in self { costs[target.name, default: []].append(try await target.cost(setting, work)) }
        }
        return costs
    }
}

struct WrongReplies: Error, CustomStringConvertible {
    let name: String
    let replies: [Int: Int]
    let output: String
    var description: String { "\(name) did not work: statuses \(replies); it said: \(output)" }
}
