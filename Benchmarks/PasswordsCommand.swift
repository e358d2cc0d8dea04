import ArgumentParser
import Foundation
import TestSupport

/// A measurement of the effect of many password logins on Facebook logins, and of their memory.
struct PasswordsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passwords",
        abstract:
            "Latency of Facebook logins with and without password logins beside them, in turns; and the peak of memory."
    )

    @Option(help: "People who log in again and again by Facebook.")
    var people = 200
    @Option(help: "Password logins at once.")
    var passwords = 200
    @Option(help: "Seconds of each measurement.")
    var seconds = 10.0
    @Option(help: "Measurements of each kind, in turns.")
    var rounds = 3
    @Option(help: "Facebook logins a second.")
    var rate = 100.0
    @Option(help: "Hashes computed at once.")
    var hashes = max(ProcessInfo.processInfo.activeProcessorCount / 2, 1)
    @Option(help: "Milliseconds that Graph takes to answer.")
    var graphDelay = 20

    func run() async throws {
        let setting = try Setting()
        let control = HTTPClient(port: setting.controlPort)
        let world = try await People.make(people, control: control)
        let open = Setting.document.replacing(
            #"{"application": "benchmark","#,
            with: #"{"application": "benchmark", "settings": {"registration": {"maxPerSourcePerHour": 100000}},"#
        )
        let service = try await Programs.startService(
            setting,
            document: open,
            ["FEDERATION_PASSWORD_HASHES": String(hashes), "FEDERATION_TRUSTED_PROXIES": "1"]
        )
        let facebook = Target(
            name: "service",
            process: service.process,
            load: Load(port: service.client.port, requests: world.logins())
        )
        let report = Report()
        try facebook.check(await facebook.load.closedLoop(connections: 16, seconds: 3))
        let registrations = await Load(port: service.client.port, requests: requests("register", #""email""#))
            .once(connections: 4)
        guard registrations.replies == [200: passwords] else {
            throw WrongReplies(name: "registration", replies: registrations.replies, output: "")
        }
        let delay = #"{"effect": "delay", "milliseconds": \#(graphDelay)}"#
        _ = try await People.send("POST", "/faults", delay, to: control)
        let memory = try service.process.usage().peakResidentBytes
        let load = Load(port: service.client.port, requests: requests("login", #""login""#))
        for _ in 0..<rounds {
            for name in ["without", "with"] {
                async let beside =
                    name == "with" ? load.closedLoop(connections: passwords, seconds: seconds) : Load.Outcome()
                let outcome = await facebook.load.openLoop(rate: rate, connections: 256, seconds: seconds)
                try facebook.check(outcome)
                report.passwords(name, outcome, beside: await beside)
            }
        }
        report.memory(
            before: memory,
            peak: try service.process.usage().peakResidentBytes,
            bound: memory + hashes * 19 * 1_048_576 + passwords * 32_768
        )
        _ = try await control.send("DELETE", "/faults")
        _ = try await service.process.terminate()
    }

    /// Returns a request for each user with a password, each from an address of its own.
    private func requests(_ call: String, _ member: String) -> [[UInt8]] {
        (0..<passwords).map { number in
            let body =
                #"{\#(member):"benchmark-\#(number)@example.com","password":"four words of benchmark \#(number)"}"#
            let head = """
                POST /\(Setting.application)/\(Setting.apiKey)/users/\(call) HTTP/1.1\r
                Host: 127.0.0.1\r
                X-Forwarded-For: 10.0.\(number / 250).\(number % 250)\r
                Content-Type: application/json\r
                Content-Length: \(body.utf8.count)\r
                \r

                """
            return Array((head + body).utf8)
        }
    }
}
