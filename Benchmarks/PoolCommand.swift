import ArgumentParser
import TestSupport

/// A measurement of logins by the number of connections for them.
struct PoolCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pool",
        abstract: "Logins by FEDERATION_DATABASE_PIPELINED_CONNECTIONS, in turns."
    )

    @Option(help: "Numbers of connections to PostgreSQL; the first is what the others are compared with.")
    var sizes = [4, 1, 2, 8, 16]
    @OptionGroup var measuring: MeasuringOptions
    @Option(help: "Connections of the closed loop.")
    var connections = 32

    func run() async throws {
        let setting = try Setting()
        let world = try await People.make(measuring.people, control: HTTPClient(port: setting.controlPort))
        let installation = Installation(setting)
        try await installation.migrate()
        try await installation.apply(Setting.document)
        let requests = world.logins()
        var targets: [Target] = []
        for size in sizes {
            let pool = ["FEDERATION_DATABASE_PIPELINED_CONNECTIONS": String(size)]
            let service = try await installation.with(pool).start()
            let load = Load(port: service.client.port, requests: requests)
            targets.append(Target(name: "\(size) to PostgreSQL", process: service.process, load: load))
        }
        for target in targets { try target.check(await target.load.closedLoop(connections: connections, seconds: 3)) }
        let costs = try await targets.inTurns(measuring.rounds, setting) {
            await $0.closedLoop(connections: connections, seconds: measuring.seconds)
        }
        Report().costs(
            "Logins by connections to PostgreSQL; \(connections) connections; \(measuring.turns)",
            costs,
            order: targets.map(\.name)
        )
        for target in targets { _ = try await target.process.terminate() }
    }
}
