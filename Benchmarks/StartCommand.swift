import ArgumentParser
import Foundation
import TestSupport

/// A measurement of an instance before the first login: time to start, memory, and size on disk.
struct StartCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start",
        abstract: "Start to ready, memory of connections on which nothing happens, size of the stripped program."
    )

    @Option(help: "Numbers of applications.")
    var counts = [1, 100]
    @Option(help: "Starts with each; their median counts.")
    var starts = 10
    @Option(help: "Numbers of idle connections; the limit of open files must leave room for them.")
    var idle = [1000, 5000]

    func run() async throws {
        let setting = try Setting()
        let report = Report()
        for count in counts {
            let installation = try await Installation.make("start_\(count)", setting, program: nil)
            try await installation.apply(Setting.document)
            for number in 1..<max(count, 1) {
                try await installation.apply(Setting.document(of: "\(Setting.application)-\(number)"))
            }
            var milliseconds: [Double] = []
            for _ in 0..<starts {
                let began = ContinuousClock.now
                let service = try await installation.start()
                milliseconds.append((ContinuousClock.now - began) / .milliseconds(1))
                _ = try await service.process.terminate()
            }
            report.starts(milliseconds, applications: count)
        }
        let installation = Installation(setting)
        try await installation.migrate()
        try await installation.apply(Setting.document)
        for count in idle {
            let service = try await installation.start()
            let before = try service.process.usage().residentBytes
            let connections = try (0..<count).map { _ in try Self.used(at: service.client.port) }
            report.idle(count, before: before, after: try service.process.usage().residentBytes)
            withExtendedLifetime(connections) {}
            try await service.process.kill()
        }
        report.aim("Size of the stripped program", [try await Self.strippedMegabytes()], atMost: 60, unit: " MB")
    }

    /// Returns a connection that has sent one request, for which the service queried PostgreSQL.
    private static func used(at port: Int) throws -> Connection {
        let connection = try Connection(port: port)
        let token = String(repeating: "A", count: 43)
        let path = "/\(Setting.application)/\(Setting.apiKey)/users/isvalidusertoken/\(token)"
        guard try connection.exchange(Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)) == 200 else {
            throw ConnectionBroken()
        }
        return connection
    }

    private static func strippedMegabytes() async throws -> Double {
        let stripped = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: stripped) }
        let program = try PackageLayout.executable("federation")
        let strip = try await TestSupport.run("strip", ["--strip-unneeded", "-o", stripped.path, program])
        guard strip.exitStatus == .exited(0) else {
            throw WrongReplies(name: "strip", replies: [:], output: strip.standardError)
        }
        return Double(try Data(contentsOf: stripped, options: .mappedIfSafe).count) / 1_000_000
    }
}
