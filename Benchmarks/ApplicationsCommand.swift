import ArgumentParser
import Glibc
import TestSupport

/// A measurement of the cost of a login with many applications.
struct ApplicationsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "applications",
        abstract: "Logins into few and into many applications in turns: processor time, memory of PostgreSQL, start."
    )

    @OptionGroup var former: FormerOption
    @Option(help: "Numbers of applications, one measurement each; the first is what the others are compared with.")
    var counts = [1, 100, 1000]
    @Option(help: "People who log in to the applications in turns.")
    var people = 500
    @Option(help: "Logins to begin with, which fill the tables and make the plans.")
    var first = 5000
    @Option(help: "Seconds of each measurement.")
    var seconds = 8.0
    @Option(help: "Measurements in turns; medians count.")
    var rounds = 3
    @Option(help: "Connections of the closed loop.")
    var connections = 16

    func run() async throws {
        let setting = try Setting()
        let world = try await People.make(people, control: HTTPClient(port: setting.controlPort))
        let report = Report()
        report.applicationsHead(first: first, seconds: seconds, rounds: rounds, connections: connections)
        var base: [String: ManyApplications] = [:]
        for count in counts {
            let applications = count == 1 ? [Setting.application] : (1...count).map { "\(Setting.application)-\($0)" }
            var candidates: [Candidate] = []
            for program in former.programs {
                let name = "applications_\(count)_\(program.name)"
                let installation = try await Installation.make(name, setting, program: program.path)
                for application in applications { try await installation.apply(Setting.document(of: application)) }
                candidates.append(
                    try await candidate(program.name, installation, world.logins(first, to: applications), setting)
                )
            }
            var costs: Costs = [:]
            for _ in 0..<rounds {
                for candidate in candidates {
                    let cost = try await candidate.awake {
                        try await $0.cost(setting) {
                            await $0.closedLoop(connections: connections, seconds: seconds)
                        }
                    }
                    costs[candidate.target.name, default: []].append(cost)
                }
            }
            for candidate in candidates {
                let name = candidate.target.name
                let measured = ManyApplications(
                    startMilliseconds: candidate.startMilliseconds,
                    first: candidate.first,
                    costs: costs[name] ?? [],
                    backendBytes: try await candidate.installation.database.backendMemory()
                )
                report.applications(count, name, measured, comparedWith: base[name])
                if base[name] == nil { base[name] = measured }
                candidate.target.process.send(signal: SIGCONT)
                _ = try await candidate.target.process.terminate()
            }
        }
    }

    /// Measures several starts of an instance, starts it for the rounds, and runs the first logins.
    private func candidate(
        _ name: String,
        _ installation: Installation,
        _ requests: [[UInt8]],
        _ setting: Setting
    ) async throws -> Candidate {
        var starts: [Double] = []
        for _ in 0..<5 {
            let began = ContinuousClock.now
            let service = try await installation.start()
            starts.append((ContinuousClock.now - began) / .milliseconds(1))
            _ = try await service.process.terminate()
        }
        let service = try await installation.start()
        let load = Load(port: service.client.port, requests: requests)
        let target = Target(name: name, process: service.process, load: load)
        let first = try await target.cost(setting) { await $0.once(connections: connections) }
        target.process.send(signal: SIGSTOP)
        return Candidate(
            target: target,
            installation: installation,
            startMilliseconds: starts.sorted()[starts.count / 2],
            first: first
        )
    }
}

/// A program under measurement, which is stopped by SIGSTOP outside of its turns.
///
/// So its background work counts in its own turns.
private struct Candidate {
    let target: Target
    let installation: Installation
    let startMilliseconds: Double
    let first: Cost

    func awake<Result>(_ body: (Target) async throws -> Result) async rethrows -> Result {
        target.process.send(signal: SIGCONT)
        defer { target.process.send(signal: SIGSTOP) }
        return try await body(target)
    }
}

/// The measurements with one number of applications.
struct ManyApplications {
    let startMilliseconds: Double
    /// The cost of the first logins, which fill the tables and make the plans.
    let first: Cost
    let costs: [Cost]
    /// Memory of each PostgreSQL server process.
    let backendBytes: [Int]
}
