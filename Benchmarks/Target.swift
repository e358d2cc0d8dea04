import TestSupport

/// A program under load.
struct Target {
    let name: String
    let process: ManagedProcess
    /// Further instances of the program, which share the load.
    var others: [ManagedProcess] = []
    let load: Load
    /// The status that each response must have.
    var status = 200

    /// Throws unless every response has the expected status: a benchmark of failures would be worthless.
    func check(_ outcome: Load.Outcome) throws {
        guard outcome.replies.keys.allSatisfy({ $0 == status }), outcome.count > 0 else {
            throw WrongReplies(
                name: name,
                replies: outcome.replies,
                output: process.standardOutput.suffix(2000).description
            )
        }
    }

    /// Measures the cost of work in which every response must have the expected status.
    ///
    /// - Parameters:
    ///   - setting: The PostgreSQL servers; all of them count, and idle ones add nothing.
    ///   - work: The logins.
    /// - Returns: Processor time and the like.
    /// - Throws: `WrongReplies`.
    func cost(_ setting: Setting, _ work: (Load) async -> Load.Outcome) async throws -> Cost {
        let processes = [process] + others
        func ownTime() -> Double { processes.map { ProcessorTime.of($0.pid) }.reduce(0, +) }
        // The queries of the logs are outside of the timed part.
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

/// The cost of one measurement: processor time in microseconds a login, the rest in bytes.
struct Cost {
    let perSecond: Double
    let process: Double
    /// Processor time of each PostgreSQL server.
    let servers: [Double]
    /// Bytes that a login adds to PostgreSQL's write-ahead log, without full-page images.
    ///
    /// A full-page image is there for each page that changes for the first time after a checkpoint.
    let logBytes: Double
    let pageImageBytes: Double
    let residentMegabytes: Double

    /// Processor time of all PostgreSQL servers.
    var database: Double { servers.reduce(0, +) }
}

/// The measured costs, by the names of targets, round by round.
typealias Costs = [String: [Cost]]

extension Costs {
    /// Returns the ratios of one target to another, round by round.
    func ratios(of name: String, to other: String, _ value: (Cost) -> Double) -> [Double] {
        zip(self[name] ?? [], self[other] ?? []).map { value($0) / value($1) }
    }
}

extension [Target] {
    /// Measures the targets in turns, for that many rounds.
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
