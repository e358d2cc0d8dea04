import ArgumentParser
import Foundation
import Histogram
import TestSupport

/// A measurement of the console among many users and logins, and of the effect of console and login log on logins.
struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: """
            Latency of each page of the console among many users and rows of the log of logins; logins without and with \
            operators who follow the log; and with and without that log.
            """
    )

    @OptionGroup var measuring: MeasuringOptions
    @Option(help: "Users, each with an identity and a live session.")
    var users = 1_000_000
    @Option(help: "Rows of the log of logins, spread over thirty days.")
    var rows = 10_000_000
    @Option(help: "Requests for each page.")
    var requests = 60
    @Option(help: "Operators who follow the log, each asking every three seconds.")
    var operators = 50
    @Option(help: "Logins a second while some follow; what a machine of its own would take easily.")
    var rate = 150.0
    @Option(help: "Connections of logins that follow one another closely.")
    var connections = 16

    func validate() throws {
        guard users >= measuring.people, rows > 0, requests > 0, operators > 0, rate > 0 else {
            throw ValidationError("Every number must be at least 1, and --users at least that of --people.")
        }
    }

    func run() async throws {
        let setting = try Setting()
        let control = HTTPClient(port: setting.controlPort)
        let numbers = stride(from: 0, to: users, by: max(1, users / measuring.people)).prefix(measuring.people)
        let world = try await People.make(numbers, control: control)
        let report = Report()
        try await log(world, setting, report)

        let installation = try await Installation.make("console", setting, program: nil, Self.settings)
        try await installation.apply(Setting.document)
        let service = try await installation.start()
        let target = Target(
            name: "service",
            process: service.process,
            load: Load(port: service.client.port, requests: world.logins())
        )
        try target.check(await Load(ports: target.load.ports, requests: [target.load.requests[0]]).once(connections: 1))
        try await installation.run(["patch", "applications/\(Setting.application)/properties/name", "indexed=true"])
        try await UsersCommand.fill(installation.database, users)
        try await installation.run(["property", "index", Setting.application])
        let history = LoginHistory(database: installation.database, users: users, rows: rows)
        let bytes = try await history.write()
        print("\n\(rows) rows of the log of logins with their indexes: \(bytes / 1_000_000) MB")
        try target.check(await target.load.once(connections: connections))
        let session = try await ConsoleSession.open(installation, port: service.management.port)
        try await pages(session, history, report)
        try await tails(target, session, setting, report)
        _ = try await service.process.terminate()
    }

    /// Settings whose rate limit counts requests, but is wide enough for a load from a single address.
    private static let settings = [
        "FEDERATION_LIMIT_ADMINISTRATION_SOURCE": "1000000/s", "FEDERATION_MAINTENANCE_ENABLED": "false",
    ]

    // MARK: Pages

    private func pages(_ session: ConsoleSession, _ history: LoginHistory, _ report: Report) async throws {
        report.pagesHead(users: users, rows: rows, requests: requests)
        var slowest = 0.0
        for page in try await history.pages() {
            let paths = (0..<requests).map(page.path)
            let load = Load(port: session.port, requests: paths.map(session.request))
            let outcome = await load.once(connections: 1)
            guard outcome.replies.keys.allSatisfy({ $0 == 200 }) else {
                throw WrongReplies(name: page.name, replies: outcome.replies, output: paths[0])
            }
            slowest = max(slowest, report.page(page.name, outcome))
        }
        report.aim("95th percentile of the slowest page of the console", [slowest], atMost: 300, unit: " ms")
    }

    // MARK: Logins

    /// Measures logins at a rate below the capacity, without operators and with many who follow the log, in turns.
    private func tails(
        _ target: Target,
        _ session: ConsoleSession,
        _ setting: Setting,
        _ report: Report
    ) async throws {
        var costs: Costs = [:]
        var latencies: [String: [Load.Outcome]] = [:]
        let names = ["nobody", "\(operators) operators"]
        for _ in 0..<measuring.rounds {
            for name in names {
                let pages = name == names[0] ? [] : try await session.openLogs(operators)
                let following = Task { try await session.follow(pages) }
                let cost = try await target.cost(setting) { load in
                    let outcome = await load.openLoop(
                        rate: rate,
                        connections: 256,
                        seconds: measuring.seconds
                    )
                    latencies[name, default: []].append(outcome)
                    return outcome
                }
                costs[name, default: []].append(cost)
                following.cancel()
                if case .failure(let error) = await following.result, !(error is CancellationError) { throw error }
            }
        }
        report.costs("Logins, \(rate) a second; \(measuring.turns)", costs, order: names)
        for name in names { for outcome in latencies[name] ?? [] { report.logins(name, outcome) } }
        // The throughput of a closed loop shows the capacity that the followers take from the logins.
        costs = [:]
        for _ in 0..<measuring.rounds {
            for name in names {
                let pages = name == names[0] ? [] : try await session.openLogs(operators)
                let following = Task { try await session.follow(pages) }
                let cost = try await target.cost(setting) {
                    await $0.closedLoop(connections: connections, seconds: measuring.seconds)
                }
                costs[name, default: []].append(cost)
                following.cancel()
                if case .failure(let error) = await following.result, !(error is CancellationError) { throw error }
            }
        }
        report.costs(
            "Logins, as many as there can be; \(connections) connections; \(measuring.turns)",
            costs,
            order: names
        )
    }

    /// Measures logins with and without a login log, in turns.
    private func log(_ world: People, _ setting: Setting, _ report: Report) async throws {
        var targets: [Target] = []
        for (name, days) in [("no log", "0"), ("log of logins", "30")] {
            let installation = try await Installation.make(
                "log_of_\(days)_days",
                setting,
                program: nil,
                ["FEDERATION_LOGIN_LOG_DAYS": days, "FEDERATION_MAINTENANCE_ENABLED": "false"]
            )
            try await installation.apply(Setting.document)
            let service = try await installation.start()
            let load = Load(port: service.client.port, requests: world.logins())
            targets.append(Target(name: name, process: service.process, load: load))
        }
        for target in targets { try target.check(await target.load.closedLoop(connections: connections, seconds: 3)) }
        for (what, work) in [
            ("as many as there can be; \(connections) connections", nil), ("\(rate) a second", rate),
        ] as [(String, Double?)] {
            let costs = try await targets.inTurns(measuring.rounds, setting) { load in
                guard let rate = work else {
                    return await load.closedLoop(connections: connections, seconds: measuring.seconds)
                }
                return await load.openLoop(rate: rate, connections: 256, seconds: measuring.seconds)
            }
            report.costs("Logins, \(what); \(measuring.turns)", costs, order: targets.map(\.name))
        }
        for target in targets { _ = try await target.process.terminate() }
    }
}

/// A session of an operator in the console.
struct ConsoleSession: Sendable {
    let port: Int
    private let cookie: String

    /// Creates an owner and logs in to the console with a token.
    static func open(_ installation: Installation, port: Int) async throws -> ConsoleSession {
        let token = try await installation.output(of: ["set", "operators/ann", "role=owner"])
        let reply = try await HTTPClient(port: port).send(
            "POST",
            "/console/login",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("token=\(token.split(whereSeparator: \.isWhitespace).last ?? "")".utf8)
        )
        guard let cookie = reply.header("Set-Cookie")?.split(separator: ";").first else {
            throw WrongReplies(name: "signing in to the console", replies: [reply.status: 1], output: reply.text)
        }
        return ConsoleSession(port: port, cookie: String(cookie))
    }

    func request(_ path: String) -> [UInt8] {
        Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: \(cookie)\r\n\r\n".utf8)
    }

    /// Loads the login log that many times.
    ///
    /// - Returns: The path of each page that returns the newer logins.
    func openLogs(_ operators: Int) async throws -> [String] {
        var pages: [String] = []
        for _ in 0..<operators {
            let reply = try await HTTPClient(port: port).send("GET", "/console/logins", headers: [("Cookie", cookie)])
            guard let more = Self.more(reply.text) else {
                throw WrongReplies(name: "the log", replies: [reply.status: 1], output: reply.text)
            }
            pages.append(more)
        }
        return pages
    }

    /// Follows the log with one browser per page, each with a request every three seconds, until the task is cancelled.
    func follow(_ pages: [String]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, page) in pages.enumerated() {
                group.addTask {
                    try await HTTPClient(port: port).withConnection { connection in
                        // The browsers are spread over the three seconds, like operators who came at different times.
                        try await Task.sleep(for: .milliseconds(3000 * number / pages.count))
                        var more = page
                        while true {
                            let reply = try await connection.send("GET", more, headers: [("Cookie", cookie)])
                            guard reply.status == 200 || reply.status == 204 else {
                                throw WrongReplies(name: "the log", replies: [reply.status: 1], output: reply.text)
                            }
                            more = Self.more(reply.text) ?? more
                            try await Task.sleep(for: .seconds(3))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func more(_ page: String) -> String? {
        guard let start = page.firstRange(of: "data-more=\"") else { return nil }
        return String(page[start.upperBound...].prefix { $0 != "\"" }).replacing("&amp;", with: "&")
    }
}
