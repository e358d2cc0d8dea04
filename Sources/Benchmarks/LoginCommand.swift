import ArgumentParser
import Foundation
import TestSupport

/// What one login costs.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Logins: throughput, processor time, latency, memory, and the ratio to the floor."
    )

    @Option(help: "People who log in again and again.")
    var people = 500
    @Option(help: "Seconds of each measurement.")
    var seconds = 8.0
    @Option(help: "Measurements of service and floor, in turns; medians count.")
    var rounds = 3
    @Option(help: "Connections of the closed loop.")
    var connections = 16
    @Option(help: "Logins a second of the open loop.")
    var rate = 200.0
    @Option(help: "Milliseconds that Graph takes to answer in the open loop.")
    var graphDelay = 100
    @Option(help: "Logins in flight while Graph hangs.")
    var hanging = 1000

    func run() async throws {
        let setting = try Setting()
        let control = HTTPClient(port: setting.controlPort)
        let world = try await People.make(people, control: control)
        let service = try await startService(setting)
        let floor = try await startFloor(world)
        let targets = [
            Target(
                name: "service",
                process: service.process,
                load: Load(port: service.client.port, requests: world.logins())
            ),
            Target(name: "floor", process: floor.process, load: Load(port: floor.port, requests: world.logins())),
        ]
        let report = Report()
        report.head(setting: self)

        for target in targets {
            let warm = await target.load.closedLoop(connections: connections, seconds: 3)
            try target.check(warm)
        }
        var costs: [String: [Cost]] = [:]
        for _ in 0..<rounds {
            for target in targets {
                costs[target.name, default: []].append(try await cost(of: target, database: setting.databasePID))
            }
        }
        report.costs(costs)

        let delay = #"{"effect": "delay", "milliseconds": \#(graphDelay)}"#
        _ = try await People.send("POST", "/faults", delay, to: control)
        let graph = Load(port: setting.graphPort, requests: world.profileRequests())
        for target in targets {
            // Graph is asked beside the logins, so that what it takes itself under this load is known.
            async let asked = graph.openLoop(rate: rate / 4, connections: 64, seconds: seconds * 2)
            let outcome = await target.load.openLoop(rate: rate, connections: 256, seconds: seconds * 2)
            try target.check(outcome)
            report.latency(of: target.name, outcome: outcome, graph: await asked, graphDelay: graphDelay)
        }
        _ = try await control.send("DELETE", "/faults")

        try await hang(targets[0], control: control, management: service.management, report: report)
        _ = try await service.process.terminate()
        try await floor.process.kill()
    }

    /// A program under load.
    struct Target {
        let name: String
        let process: ManagedProcess
        let load: Load

        /// A benchmark of failures would be worth nothing.
        func check(_ outcome: Load.Outcome) throws {
            guard outcome.replies.keys.allSatisfy({ $0 == 200 }), outcome.count > 0 else {
                throw WrongReplies(
                    name: name,
                    replies: outcome.replies,
                    output: process.standardOutput.suffix(2000).description
                )
            }
        }
    }

    /// Processor time of one measurement, in microseconds a login.
    struct Cost {
        let perSecond: Double
        let process: Double
        let database: Double
        let residentMegabytes: Double
    }

    private func cost(of target: Target, database: Int32) async throws -> Cost {
        let (process, server) = (ProcessorTime.of(target.process.pid), ProcessorTime.ofFamily(database))
        let outcome = await target.load.closedLoop(connections: connections, seconds: seconds)
        try target.check(outcome)
        let count = Double(outcome.count)
        return Cost(
            perSecond: count / outcome.seconds,
            process: (ProcessorTime.of(target.process.pid) - process) * 1_000_000 / count,
            database: (ProcessorTime.ofFamily(database) - server) * 1_000_000 / count,
            residentMegabytes: Double(try target.process.usage().residentBytes) / 1_048_576
        )
    }

    /// So many logins at once while Graph accepts requests and never answers.
    private func hang(
        _ target: Target,
        control: HTTPClient,
        management: HTTPClient,
        report: Report
    ) async throws {
        _ = try await People.send("POST", "/faults", #"{"effect": "hang", "at": "request"}"#, to: control)
        async let hung = target.load.openLoop(rate: Double(hanging) * 4, connections: hanging, seconds: 0.25)
        var live = 0
        let end = ContinuousClock.now + .seconds(3)
        while ContinuousClock.now < end {
            if try await management.get("/health/ready").status == 200 { live += 1 }
        }
        let outcome = await hung
        report.hang(outcome, healthReplies: live, peakBytes: try target.process.usage().peakResidentBytes)
        _ = try await control.send("DELETE", "/faults")
    }

    private func startService(_ setting: Setting) async throws -> ServiceProcess {
        let key = Data((0..<32).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
        let environment = [
            "FEDERATION_DATABASE_URL": setting.databaseURL, "FEDERATION_MASTER_KEY": key,
            "FEDERATION_GRAPH_URL": setting.graphURL,
            "BENCHMARK_API_KEY": Setting.apiKey, "BENCHMARK_APP_SECRET": Setting.appSecret,
        ]
        let file = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(getpid()).json")
        try Setting.document.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        for arguments in [["migrate"], ["apply", file.path]] {
            let command = try await runFederation(arguments, environment: environment)
            guard command.exitStatus == .exited(0) else {
                throw WrongReplies(name: "federation \(arguments[0])", replies: [:], output: command.standardError)
            }
        }
        return try await ServiceProcess.start(environment: environment)
    }

    private func startFloor(_ people: People) async throws -> (process: ManagedProcess, port: Int) {
        let port = try freePort()
        let file = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(getpid())-tokens.json")
        try JSONEncoder().encode(people).write(to: file)
        let process = try await ManagedProcess.start(
            try PackageLayout.executable("benchmarks"),
            ["floor", "--port", String(port), "--tokens", file.path],
            environment: ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("FEDERATION_BENCHMARK_") }
        )
        try await process.waitUntilReady { (try? Connection(port: port)) != nil }
        try FileManager.default.removeItem(at: file)
        return (process, port)
    }
}

struct WrongReplies: Error, CustomStringConvertible {
    let name: String
    let replies: [Int: Int]
    let output: String
    var description: String { "\(name) did not work: statuses \(replies); it said: \(output)" }
}
