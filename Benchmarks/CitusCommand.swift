import ArgumentParser
import TestSupport

/// A measurement of the cost of a login with users on nodes of Citus.
struct CitusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "citus",
        abstract: "Logins to two applications on an ordinary server, on one worker of Citus, and on two, in turns."
    )

    @OptionGroup var measuring: MeasuringOptions
    @Option(help: "Connections of the closed loop.")
    var connections = 16

    private static let applications = ["\(Setting.application)-1", "\(Setting.application)-2"]

    func run() async throws {
        let setting = try Setting()
        guard setting.servers.count == 4 else { throw MissingSetting(name: "a coordinator with two workers") }
        let world = try await People.make(measuring.people, control: HTTPClient(port: setting.controlPort))
        // Every user logs in to both applications.
        let requests = world.logins(2 * measuring.people, to: Self.applications)
        var services: [(name: String, process: ServiceProcess)] = []
        let ordinary = try await Installation.make("ordinary", setting, program: nil)
        services.append(("ordinary server", try await started(ordinary)))
        for count in 1...2 {
            services.append(("Citus, workers: \(count)", try await started(try await cluster(of: count, setting))))
        }
        let targets = services.map { name, service in
            Target(
                name: name,
                process: service.process,
                load: Load(port: service.client.port, requests: requests)
            )
        }
        for target in targets { try target.check(await target.load.closedLoop(connections: connections, seconds: 3)) }
        let costs = try await targets.inTurns(measuring.rounds, setting) {
            await $0.closedLoop(connections: connections, seconds: measuring.seconds)
        }
        let report = Report()
        report.costs(
            "Logins to two applications; \(connections) connections; \(measuring.turns)",
            costs,
            order: targets.map(\.name)
        )
        report.servers(costs, order: targets.map(\.name), of: ["ordinary server", "coordinator", "worker", "worker"])
        for (_, service) in services { _ = try await service.process.terminate() }
    }

    private func started(_ installation: Installation) async throws -> ServiceProcess {
        for application in Self.applications { try await installation.apply(Setting.document(of: application)) }
        return try await installation.start()
    }

    /// Creates an installation on a database of the coordinator that spreads the applications over that many workers.
    private func cluster(of workers: Int, _ setting: Setting) async throws -> Installation {
        let nodes = try setting.servers.dropFirst().map { try DatabaseURL($0.url) }
        let database = try await CitusWorkers(Array(nodes.dropFirst().prefix(workers)))
            .createDatabase("workers_\(workers)", under: nodes[0])
        let installation = Installation(setting.with(databaseURL: database.url))
        try await installation.migrate()
        return installation
    }
}
