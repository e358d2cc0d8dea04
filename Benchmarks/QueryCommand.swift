import ArgumentParser
import Foundation
import TestSupport

/// A measurement of searches of users, with and without an index, and of the effect of slow searches on logins.
struct QueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract:
            "Searches of users without and with an index; latency of logins without and with slow ones beside them."
    )

    @Option(help: "Numbers of users, one measurement each; logins are measured at the last.")
    var counts = [10_000, 1_000_000]
    @Option(help: "People who log in again and again.")
    var people = 200
    @Option(help: "Seconds of each search.")
    var searchSeconds = 3.0
    @Option(help: "Seconds of each measurement of logins.")
    var seconds = 10.0
    @Option(help: "Measurements of logins of each kind, in turns.")
    var rounds = 3
    @Option(help: "Logins a second.")
    var rate = 100.0
    @Option(help: "Clients that search all the time beside logins.")
    var searchers = 8
    @Option(help: "Milliseconds that Graph takes to answer.")
    var graphDelay = 20

    private static let serverKey = "benchmark-server-key-0123456789"

    /// The indexed properties; `greeting`, which slow searches use, is not among them.
    private static let indexed = ["ageFrom", "familyName"]

    private static let document = Setting.document.replacing(
        #""keys": ["#,
        with: #""keys": [{"label": "server", "key": {"env": "BENCHMARK_SERVER_KEY"}, "server": true}, "#
    )

    private static let searches: [(name: String, path: String)] = [
        ("one of = a number", find("ageFrom = 4711")), ("one of = a text", find("familyName = 'Family4711'")),
        ("in, three values", find("ageFrom in (17, 4711, 9999)")),
        ("ten of a range", find("ageFrom between 500 and 509")),
        ("first page of half", find("ageFrom >= HALF")),
        ("like 'Family99%'", find("familyName like 'Family99%'")), ("first page, sorted", find(nil, "ageFrom desc")),
        ("offset of half, sorted", find(nil, "ageFrom") + "&offset=HALF"),
        ("count of =", "data/Users/count?where=" + encoded("ageFrom = 4711")),
        ("count of half", "data/Users/count?where=" + encoded("ageFrom >= HALF")),
        ("count of all", "data/Users/count"),
    ]

    func run() async throws {
        let setting = try Setting()
        let world = try await People.make(people, control: HTTPClient(port: setting.controlPort))
        for count in counts {
            let installation = try await Installation.make(
                "query_\(count)",
                setting,
                program: nil,
                [
                    "BENCHMARK_SERVER_KEY": Self.serverKey, "FEDERATION_SEARCH_MILLISECONDS": "20000",
                    "FEDERATION_MAINTENANCE_ENABLED": "false",
                ]
            )
            try await installation.apply(Self.document)
            try await fill(installation.database, count)
            let service = try await installation.start()
            var costs = Self.searches.map { (name: $0.name, costs: [Load.Outcome]()) }
            for isIndexed in [false, true] {
                if isIndexed { try await index(installation, count) }
                for (number, search) in Self.searches.enumerated() {
                    let path = search.path.replacing("HALF", with: String(count / 2))
                    let load = Load(port: service.client.port, requests: [Self.request(path)])
                    let target = Target(name: search.name, process: service.process, load: load)
                    // The first run fills the caches.
                    try target.check(await load.closedLoop(connections: 1, seconds: 0.2))
                    let outcome = await load.closedLoop(connections: 1, seconds: searchSeconds)
                    try target.check(outcome)
                    costs[number].costs.append(outcome)
                }
            }
            Report().searches(costs, users: count)
            _ = try await service.process.terminate()
            if count == counts.last { try await logins(world, installation, setting) }
        }
    }

    /// Measures logins beside slow searches, with the default limits.
    private func logins(_ world: People, _ installation: Installation, _ setting: Setting) async throws {
        let control = HTTPClient(port: setting.controlPort)
        let installation = installation.with(["FEDERATION_SEARCH_MILLISECONDS": "1000"])
        let service = try await installation.start()
        let target = Target(
            name: "service",
            process: service.process,
            load: Load(port: service.client.port, requests: world.logins())
        )
        try target.check(await target.load.closedLoop(connections: 16, seconds: 3))
        let delay = #"{"effect": "delay", "milliseconds": \#(graphDelay)}"#
        _ = try await People.send("POST", "/faults", delay, to: control)
        let slow = Load(
            port: service.client.port,
            requests: [Self.request(Self.find("greeting like '%nobody%'", "greeting"))]
        )
        let report = Report()
        for _ in 0..<rounds {
            for name in ["without", "with"] {
                async let beside =
                    name == "with" ? slow.closedLoop(connections: searchers, seconds: seconds) : Load.Outcome()
                let outcome = await target.load.openLoop(rate: rate, connections: 256, seconds: seconds)
                try target.check(outcome)
                report.searches(name, outcome, beside: await beside)
            }
        }
        _ = try await control.send("DELETE", "/faults")
        _ = try await service.process.terminate()
    }

    // MARK: Users and indexes

    private func fill(_ database: Database, _ count: Int) async throws {
        try await database.rows(
            of: """
                insert into \(Setting.application).users
                    (object_id, email, name, "givenName", "familyName", city, "ageFrom", greeting)
                select gen_random_uuid(), n || '@users.example', 'Given' || n || ' Family' || n, 'Given' || n, 'Family' || n,
                    'City' || n % 1000, n, 'Hello Given' || n || ' Family' || n
                from generate_series(1, \(count)) n
                """
        )
        try await database.rows(of: "vacuum analyze \(Setting.application).users")
    }

    private func index(_ installation: Installation, _ count: Int) async throws {
        for property in Self.indexed {
            try await installation.run([
                "patch", "applications/\(Setting.application)/properties/\(property)", "indexed=true",
            ])
        }
        let began = ContinuousClock.now
        try await installation.run(["property", "index", Setting.application])
        let took = (ContinuousClock.now - began) / .seconds(1)
        print("\n\(count) users: \(Self.indexed.count) indexes built in \(String(format: "%.1f", took)) s")
        // The service uses an index only after it has heard of the index.
        try await Task.sleep(for: .seconds(1))
    }

    // MARK: Requests

    private static func find(_ condition: String?, _ order: String? = nil) -> String {
        var parameters = ["pageSize=10"]
        if let condition { parameters.append("where=" + encoded(condition)) }
        if let order { parameters.append("sortBy=" + encoded(order)) }
        return "data/Users?" + parameters.joined(separator: "&")
    }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    private static func request(_ path: String) -> [UInt8] {
        Array("GET /\(Setting.application)/\(serverKey)/\(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
    }
}
