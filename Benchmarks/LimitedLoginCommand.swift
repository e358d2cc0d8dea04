import ArgumentParser
import FoundationEssentials
import TestSupport

/// A measurement of the cost of a login with an ID token.
///
/// An ID token is single-use, so a measurement is a number of logins and not a time. Each login takes a new token,
/// signed beforehand.
struct LimitedLoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limited-login",
        abstract: "Logins by ID tokens: throughput, processor time, memory, and the ratio to the floor."
    )

    @OptionGroup var former: FormerOption
    @Option(help: "People who log in again and again.")
    var people = 500
    @Option(help: "Logins of each measurement.")
    var logins = 6000
    @Option(help: "Measurements of service and floor, in turns; medians count.")
    var rounds = 3
    @Option(help: "Connections of the closed loop.")
    var connections = 16

    func run() async throws {
        let setting = try Setting()
        let control = HTTPClient(port: setting.controlPort)
        _ = try await People.make(people, control: control)
        let tokens = try await People.idTokens(logins * (rounds + 1), of: people, control: control)
        let issued = try await People.issuerTokens(logins * (rounds + 1), of: people, setting, control: control)
        let service = try await Programs.startService(
            setting,
            document: setting.documentWithIssuer(),
            ["FEDERATION_OAUTH_PRIVATE_SERVERS": "allow"]
        )
        let floor = try await Programs.startFloor(tokens, of: .idToken)
        var programs = [("service", service.process, service.client.port), ("floor", floor.process, floor.port)]
        if let program = former.former {
            let installation = try await Installation.make("former_limited_login", setting, program: program)
            try await installation.apply(Setting.document)
            let service = try await installation.start()
            programs.append(("former", service.process, service.client.port))
        }
        // Each program has a database of its own, so each program accepts every token once.
        let requests = tokens.logins(as: "idToken")
        let issuerRequests = issued.issuerLogins()
        func targets(_ round: Int) -> [Target] {
            let turn = (round * logins)..<((round + 1) * logins)
            let limited = programs.map { name, process, port in
                Target(name: name, process: process, load: Load(port: port, requests: Array(requests[turn])))
            }
            let load = Load(port: service.client.port, requests: Array(issuerRequests[turn]))
            return limited + [Target(name: "issuer", process: service.process, load: load)]
        }
        let report = Report()
        for target in targets(0) { try target.check(await target.load.once(connections: connections)) }
        let asked = try await Self.requests(control)
        var costs: Costs = [:]
        for round in 1...max(rounds, 1) {
            for target in targets(round) {
                let cost = try await target.cost(setting) {
                    await $0.once(connections: connections)
                }
                costs[target.name, default: []].append(cost)
            }
        }
        let what = "Logins by ID tokens; \(connections) connections; \(rounds) rounds of \(logins) logins"
        report.costs(what, costs, order: ["floor", "service", "issuer", "former"])
        report.aim(
            "CPU of a Limited Login over the floor",
            costs.ratios(of: "service", to: "floor", \.process),
            atMost: 1.30
        )
        report.aim(
            "CPU of a login by an issuer's ID token over Limited Login",
            costs.ratios(of: "issuer", to: "service", \.process),
            atMost: 1.05
        )
        report.calls(try await Self.requests(control) - asked)
        _ = try await service.process.terminate()
        for (_, process, _) in programs.dropFirst() { try await process.kill() }
    }

    func validate() throws {
        guard people > 0, logins > 0, rounds > 0, connections > 0 else {
            throw ValidationError("Every number must be at least 1.")
        }
    }

    /// Returns how many requests Facebook has received.
    private static func requests(_ control: HTTPClient) async throws -> Int {
        let reply = try await control.get("/counters")
        return try JSONDecoder().decode(Counters.self, from: Data(reply.body)).requests
    }

    private struct Counters: Codable {
        let requests: Int
    }
}
