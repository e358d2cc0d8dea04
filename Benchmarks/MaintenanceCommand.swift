import ArgumentParser
import Foundation
import TestSupport

/// A measurement of the effect of background work on logins.
struct MaintenanceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "maintenance",
        abstract: "Latency of logins with and without checks of kept tokens beside them, in turns."
    )

    @Option(help: "People who log in again and again; everybody's token is kept.")
    var people = 500
    @Option(help: "Seconds of each measurement.")
    var seconds = 10.0
    @Option(help: "Measurements of each kind, in turns.")
    var rounds = 3
    @Option(help: "Logins a second.")
    var rate = 200.0
    @Option(help: "Checks a second at most.")
    var checks = 10
    @Option(help: "Milliseconds that Graph takes to answer.")
    var graphDelay = 20

    func run() async throws {
        let setting = try Setting()
        let control = HTTPClient(port: setting.controlPort)
        let world = try await People.make(people, control: control)
        let keeping = Setting.document.replacing(
            #""facebook": {"apps""#,
            with: #""facebook": {"keepTokens": true, "apps""#
        )
        let service = try await Programs.startService(
            setting,
            document: keeping,
            [
                "FEDERATION_MAINTENANCE_CHECKS_PER_SECOND": String(checks),
                "FEDERATION_MAINTENANCE_INTERVAL_MILLISECONDS": "100",
            ]
        )
        let load = Load(port: service.client.port, requests: world.logins())
        let target = Target(name: "service", process: service.process, load: load)
        try target.check(await load.closedLoop(connections: 16, seconds: 3))
        let delay = #"{"effect": "delay", "milliseconds": \#(graphDelay)}"#
        _ = try await People.send("POST", "/faults", delay, to: control)

        let report = Report()
        for _ in 0..<rounds {
            for name in ["without", "with"] {
                let before = try await calls(control)
                let due = name == "with" ? Task { try await makeDue(setting) } : nil
                let outcome = await load.openLoop(rate: rate, connections: 256, seconds: seconds)
                due?.cancel()
                if case .failure(let error) = await due?.result, !(error is CancellationError) { throw error }
                try target.check(outcome)
                // A login sends Graph two requests, a check one.
                report.maintenance(name, outcome, checks: try await calls(control) - before - 2 * outcome.count)
            }
        }
        _ = try await control.send("DELETE", "/faults")
        _ = try await service.process.terminate()
    }

    /// Makes checks due all the time: each login postpones its own check by a day.
    private func makeDue(_ setting: Setting) async throws {
        while !Task.isCancelled {
            try await Database(url: setting.databaseURL).rows(
                of: """
                    update \(Setting.application).identities set check_due = now()
                    where check_due > now() + interval '1 hour'
                    """
            )
            try await Task.sleep(for: .milliseconds(500))
        }
    }

    private func calls(_ control: HTTPClient) async throws -> Int {
        let counters = try await control.get("/counters")
        return try JSONDecoder().decode(Counters.self, from: Data(counters.body)).requests
    }

    private struct Counters: Decodable {
        let requests: Int
    }
}
