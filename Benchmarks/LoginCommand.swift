import ArgumentParser
import Foundation
import TestSupport

/// A measurement of the cost of a login.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Logins: throughput, processor time, latency, memory, and the ratio to the floor."
    )

    @OptionGroup var former: FormerOption
    @OptionGroup var peer: PeerOption
    @OptionGroup var measuring: MeasuringOptions
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
        let world = try await People.make(measuring.people, control: control)
        let service = try await Programs.startService(setting)
        let floor = try await Programs.startFloor(world, of: .accessToken)
        var targets = [
            Target(
                name: "service",
                process: service.process,
                load: Load(port: service.client.port, requests: world.logins())
            ),
            Target(name: "floor", process: floor.process, load: Load(port: floor.port, requests: world.logins())),
        ]
        if let program = former.former {
            let installation = try await Installation.make("former_login", setting, program: program)
            try await installation.apply(Setting.document)
            let service = try await installation.start()
            let load = Load(port: service.client.port, requests: world.logins())
            targets.append(Target(name: "former", process: service.process, load: load))
        }
        if let peer = try await peer.start() {
            let load = Load(port: peer.port, requests: world.logins())
            targets.append(Target(name: "peer", process: peer.process, load: load))
        }
        let report = Report()
        for target in targets {
            let warm = await target.load.closedLoop(connections: connections, seconds: 3)
            try target.check(warm)
        }
        let costs = try await targets.inTurns(measuring.rounds, setting) {
            await $0.closedLoop(connections: connections, seconds: measuring.seconds)
        }
        let what =
            "Logins of \(measuring.people) people, each returning; \(connections) connections; \(measuring.turns)"
        report.costs(what, costs, order: ["floor", "service", "former", "peer"])
        report.aim("CPU of a login over the floor", costs.ratios(of: "service", to: "floor", \.process), atMost: 1.15)
        // The bound is the measurement of a hand-written server with three statements.
        report.aim("WAL of a repeated login", (costs["service"] ?? []).map(\.logBytes), atMost: 600, unit: " bytes")

        let delay = #"{"effect": "delay", "milliseconds": \#(graphDelay)}"#
        _ = try await People.send("POST", "/faults", delay, to: control)
        let graph = Load(port: setting.graphPort, requests: world.profileRequests())
        for target in targets {
            // Requests to Graph beside the logins measure Graph's own latency under this load.
            async let asked = graph.openLoop(rate: rate / 4, connections: 64, seconds: measuring.seconds * 2)
            let outcome = await target.load.openLoop(rate: rate, connections: 256, seconds: measuring.seconds * 2)
            try target.check(outcome)
            report.latency(of: target.name, outcome: outcome, graph: await asked, graphDelay: graphDelay)
        }
        _ = try await control.send("DELETE", "/faults")

        try await hang(targets[0], control: control, management: service.management, report: report)
        _ = try await service.process.terminate()
        for target in targets.dropFirst() { try await target.process.kill() }
    }

    /// Runs that many logins at once while Graph accepts requests and never responds.
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
}
