import ArgumentParser
import TestSupport

/// A measurement of the cost of checking a session, and of reading its user.
struct SessionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Checks of sessions beside the floor of the same check, and reads of the own user by a session."
    )

    @OptionGroup var peer: PeerOption
    @OptionGroup var measuring: MeasuringOptions
    @Option(help: "Connections of the closed loop.")
    var connections = 16

    func run() async throws {
        let setting = try Setting()
        let world = try await People.make(measuring.people, control: HTTPClient(port: setting.controlPort))
        let service = try await Programs.startService(setting)
        let users = try await Self.logIn(world, at: service.client.port)
        let checks = users.map { Self.check($0.token) }
        let reads = users.map { Self.request("data/Users/\($0.id)", token: $0.token) }
        guard try Connection(port: service.client.port).reply(to: checks[0]).body == "true" else {
            throw UnexpectedReply(number: 0)
        }
        let floor = try await Programs.startFloor(People(tokens: users.map(\.token)), of: .session)
        func target(_ name: String, _ requests: [[UInt8]]) -> Target {
            Target(name: name, process: service.process, load: Load(port: service.client.port, requests: requests))
        }
        var targets = [
            Target(name: "floor", process: floor.process, load: Load(port: floor.port, requests: checks)),
            target("service", checks), target("read of user", reads),
        ]
        if let peer = try await peer.start() {
            let checks = try await Self.logIn(world, at: peer.port).map { Self.check($0.token) }
            targets.append(Target(name: "peer", process: peer.process, load: Load(port: peer.port, requests: checks)))
        }
        for target in targets { try target.check(await target.load.closedLoop(connections: connections, seconds: 2)) }
        let costs = try await targets.inTurns(measuring.rounds, setting) {
            await $0.closedLoop(connections: connections, seconds: measuring.seconds)
        }
        let report = Report()
        report.costs(
            "Checks of \(measuring.people) sessions; \(connections) connections; \(measuring.turns)",
            costs,
            order: targets.map(\.name)
        )
        report.aim(
            "CPU of a session check over the floor",
            costs.ratios(of: "service", to: "floor", \.process),
            atMost: 1.5
        )
        _ = try await service.process.terminate()
        for target in targets where target.process !== service.process { try await target.process.kill() }
    }

    /// Logs all users in and returns their ids and session tokens.
    private static func logIn(_ world: People, at port: Int) async throws -> [(id: String, token: String)] {
        let connection = try Connection(port: port)
        var users: [(id: String, token: String)] = []
        for (number, login) in world.logins().enumerated() {
            let user = try await Reply.of(login, at: connection, status: 200)
            guard let id = user.objectId, let token = user.token else { throw UnexpectedReply(number: number) }
            users.append((id, token))
        }
        return users
    }

    private static func check(_ token: String) -> [UInt8] { request("users/isvalidusertoken/\(token)") }

    private static func request(_ path: String, token: String? = nil) -> [UInt8] {
        let lines =
            ["GET /\(Setting.application)/\(Setting.apiKey)/\(path) HTTP/1.1", "Host: 127.0.0.1"]
            + (token.map { ["user-token: \($0)"] } ?? [])
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}
