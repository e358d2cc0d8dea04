import TestSupport

/// A program under load.
struct Target {
    let name: String
    let process: ManagedProcess
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
    ///   - database: Process id of the PostgreSQL server.
    ///   - work: The logins.
    /// - Returns: Processor time and the like.
    /// - Throws: `WrongReplies`.
    func cost(database: Int32, _ work: (Load) async -> Load.Outcome) async throws -> Cost {
        let (before, server) = (ProcessorTime.of(process.pid), ProcessorTime.ofFamily(database))
        let outcome = await work(load)
        try check(outcome)
        let count = Double(outcome.count)
        return Cost(
            perSecond: count / outcome.seconds,
            process: (ProcessorTime.of(process.pid) - before) * 1_000_000 / count,
            database: (ProcessorTime.ofFamily(database) - server) * 1_000_000 / count,
            residentMegabytes: Double(try process.usage().residentBytes) / 1_048_576
        )
    }
}

/// Processor time of one measurement, in microseconds a login.
struct Cost {
    let perSecond: Double
    let process: Double
    let database: Double
    let residentMegabytes: Double
}

struct WrongReplies: Error, CustomStringConvertible {
    let name: String
    let replies: [Int: Int]
    let output: String
    var description: String { "\(name) did not work: statuses \(replies); it said: \(output)" }
}
