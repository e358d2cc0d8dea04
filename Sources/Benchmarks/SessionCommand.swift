import ArgumentParser
import TestSupport

/// What it costs to look whether a session is live, and to read its user.
struct SessionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Checks of sessions beside the floor of the same check, and reads of the own user by a session."
    )

    @Option(help: "People who are logged in.")
    var people = 500
    @Option(help: "Seconds of each measurement.")
    var seconds = 8.0
    @Option(help: "Measurements in turns; medians count.")
    var rounds = 3
    @Option(help: "Connections of the closed loop.")
    var connections = 16

    func run() async throws {
        let setting = try Setting()
        let world = try await People.make(people, control: HTTPClient(port: setting.controlPort))
        let service = try await Programs.startService(setting)
        let connection = try Connection(port: service.client.port)
        var tokens: [String] = []
        var reads: [[UInt8]] = []
        for (number, login) in world.logins().enumerated() {
            let user = try await Reply.of(login, at: connection, status: 200)
            guard let id = user.objectId, let token = user.token else { throw UnexpectedReply(number: number) }
            tokens.append(token)
            reads.append(Self.request("data/Users/\(id)", token: token))
        }
        let checks = tokens.map { Self.request("users/isvalidusertoken/\($0)") }
        guard try connection.reply(to: checks[0]).body == "true" else { throw UnexpectedReply(number: 0) }
        let floor = try await Programs.startFloor(People(tokens: tokens), of: .session)
        func target(_ name: String, _ requests: [[UInt8]]) -> Target {
            Target(name: name, process: service.process, load: Load(port: service.client.port, requests: requests))
        }
        let targets = [
            Target(name: "floor", process: floor.process, load: Load(port: floor.port, requests: checks)),
            target("service", checks), target("read of user", reads),
        ]
        for target in targets { try target.check(await target.load.closedLoop(connections: connections, seconds: 2)) }
        let costs = try await targets.inTurns(rounds, setting) {
            await $0.closedLoop(connections: connections, seconds: seconds)
        }
        let report = Report()
        report.costs(
            "Checks of \(people) sessions; \(connections) connections; \(rounds) rounds of \(seconds) s",
            costs,
            order: targets.map(\.name)
        )
        report.aim(
            "CPU of a session check over the floor",
            costs.ratios(of: "service", to: "floor", \.process),
            atMost: 1.5
        )
        _ = try await service.process.terminate()
        try await floor.process.kill()
    }

    private static func request(_ path: String, token: String? = nil) -> [UInt8] {
        let lines =
            ["GET /\(Setting.application)/\(Setting.apiKey)/\(path) HTTP/1.1", "Host: 127.0.0.1"]
            + (token.map { ["user-token: \($0)"] } ?? [])
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}
