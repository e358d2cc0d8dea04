import ArgumentParser
import TestSupport

/// A measurement of the cost of a login with several instances that share the load.
struct InstancesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "instances",
        abstract: "Logins at one and at several instances at the same database, in turns."
    )

    @Option(help: "Numbers of instances; the first is what the others are compared with.")
    var counts = [1, 2, 4]
    @OptionGroup var measuring: MeasuringOptions
    @Option(help: "Connections of the closed loop, spread over the instances.")
    var connections = 16

    func run() async throws {
        let setting = try Setting()
        let world = try await People.make(measuring.people, control: HTTPClient(port: setting.controlPort))
        let installation = Installation(setting)
        try await installation.migrate()
        try await installation.apply(Setting.document)
        var services: [ServiceProcess] = []
        for _ in 0..<(counts.max() ?? 0) { services.append(try await installation.start()) }
        let requests = world.logins()
        let targets = counts.map { count in
            let instances = services.prefix(count)
            return Target(
                name: Self.name(count),
                process: services[0].process,
                others: instances.dropFirst().map(\.process),
                load: Load(ports: instances.map(\.client.port), requests: requests)
            )
        }
        for target in targets { try target.check(await target.load.closedLoop(connections: connections, seconds: 3)) }
        let costs = try await targets.inTurns(measuring.rounds, setting) {
            await $0.closedLoop(connections: connections, seconds: measuring.seconds)
        }
        let report = Report()
        report.costs(
            "Logins at instances together; \(connections) connections; \(measuring.turns)",
            costs,
            order: targets.map(\.name)
        )
        for target in targets.dropFirst() {
            report.aim(
                "CPU of a login at \(target.name) over \(targets[0].name)",
                costs.ratios(of: target.name, to: targets[0].name, \.process),
                atMost: 1.1
            )
        }
        for service in services { _ = try await service.process.terminate() }
    }

    func validate() throws {
        guard !counts.isEmpty, counts.allSatisfy({ $0 > 0 && $0 <= connections }) else {
            throw ValidationError("There must be at least 1 instance, and a connection for each.")
        }
    }

    private static func name(_ count: Int) -> String { count == 1 ? "1 instance" : "\(count) instances" }
}
