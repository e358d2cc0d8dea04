import ArgumentParser
import TestSupport

/// A measurement of the cost of a login while the database's statistics are those of an almost empty database.
struct FreshCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fresh",
        abstract: "Logins into a new system whose tables were analyzed at one row, as its sessions become many."
    )

    @OptionGroup var former: FormerOption
    @Option(help: "People who log in again and again.")
    var people = 2000
    @Option(help: "Seconds of each measurement.")
    var seconds = 2.0
    @Option(help: "Measurements, one after the other.")
    var rounds = 8
    @Option(help: "Connections of the closed loop.")
    var connections = 16

    func run() async throws {
        let setting = try Setting()
        let world = try await People.make(people, control: HTTPClient(port: setting.controlPort))
        let report = Report()
        for program in former.programs {
            report.fresh(program.name, people: people, seconds: seconds)
            let installation = try await Installation.make("fresh_\(program.name)", setting, program: program.path)
            try await installation.apply(Setting.document)
            let service = try await installation.start()
            func target(_ requests: [[UInt8]]) -> Target {
                let load = Load(port: service.client.port, requests: requests)
                return Target(name: program.name, process: service.process, load: load)
            }
            let logins = world.logins()
            try target(logins).check(await target([logins[0]]).load.once(connections: 1))
            // Autovacuum runs once a minute, and its statistics of the growing tables must not decide the result.
            try await installation.database.rows(of: "vacuum analyze")
            let many = target(logins)
            func measure() async throws -> (cost: Cost, sessions: String) {
                let cost = try await many.cost(setting) {
                    await $0.closedLoop(connections: connections, seconds: seconds)
                }
                let count = "select count(*) from \(Setting.application).sessions"
                return (cost, try await installation.database.rows(of: count).first?.first ?? "")
            }
            for round in 1...max(rounds, 1) {
                let (cost, sessions) = try await measure()
                report.fresh("round \(round)", cost, sessions: sessions)
            }
            try await installation.database.rows(of: "analyze")
            let (cost, sessions) = try await measure()
            report.fresh("after ANALYZE", cost, sessions: sessions)
            _ = try await service.process.terminate()
        }
    }
}
