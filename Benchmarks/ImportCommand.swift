import ArgumentParser
import Foundation
import TestSupport

/// A measurement of an import of many users, and of its effect on logins.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Time and memory of an import, what logins beside it take, and what a user costs by batch."
    )

    @Option(help: "Users of the file, each with a hash of bcrypt's form, an identity and four properties.")
    var users = 1_000_000
    @Option(help: "Users of each file that shows what the size of a batch costs.")
    var batchUsers = 50_000
    @Option(help: "People who log in again and again meanwhile.")
    var people = 500
    @Option(help: "Logins a second.")
    var rate = 100.0
    @Option(help: "Seconds of each measurement of logins.")
    var seconds = 10.0

    func run() async throws {
        let setting = try Setting()
        let world = try await People.make(people, control: HTTPClient(port: setting.controlPort))
        let installation = Installation(setting)
        try await installation.migrate()
        try await installation.apply(Setting.document)
        let service = try await installation.start()
        let load = Load(port: service.client.port, requests: world.logins())
        let target = Target(name: "service", process: service.process, load: load)
        try target.check(await load.closedLoop(connections: 16, seconds: 3))
        let file = try Self.file(of: users, from: 1)
        defer { try? FileManager.default.removeItem(at: file) }

        let report = Report()
        func measure(_ name: String) async throws {
            let outcome = await load.openLoop(rate: rate, connections: 256, seconds: seconds)
            try target.check(outcome)
            report.logins(name, outcome)
        }
        for _ in 0..<2 { try await measure("without") }
        let begin = ContinuousClock.now
        let process = try await installation.begin([
            "user", "import", Setting.application, file.path, "--from", "ndjson", "--json",
        ])
        let memory = Task {
            var peak = 0
            while let usage = try? process.usage() {
                peak = max(peak, usage.peakResidentBytes)
                try? await Task.sleep(for: .milliseconds(100))
                if !process.isRunning { break }
            }
            return (peak, ContinuousClock.now)
        }
        while process.isRunning { try await measure("beside") }
        try await process.waitForExit()
        let (peak, end) = await memory.value
        guard process.exitStatus == .exited(0) else {
            throw WrongReplies(name: "federation user import", replies: [:], output: process.standardError)
        }
        report.imported(users, in: (end - begin) / .seconds(1), peakBytes: peak)
        try await measure("afterwards")
        _ = try await service.process.terminate()

        for (index, batch) in Self.batches.enumerated() {
            let file = try Self.file(of: batchUsers, from: users + index * batchUsers + 1)
            defer { try? FileManager.default.removeItem(at: file) }
            let begin = ContinuousClock.now
            try await installation.run([
                "user", "import", Setting.application, file.path, "--from", "ndjson", "--json", "--batch", "\(batch)",
            ])
            report.imported(batchUsers, byBatchesOf: batch, in: (ContinuousClock.now - begin) / .seconds(1))
        }
    }

    private static let batches = [100, 500, 5000, 50_000]

    private static func file(of users: Int, from first: Int) throws -> URL {
        let file = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(UUID().uuidString).ndjson")
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        let hash = "$2b$10$fVH8e28OQRj9tqiDXs1e1uxpsjN0c7II7YPKXua2NAKYvM6iQk7dq"
        var text = ""
        let last = first + users - 1
        for user in first...last {
            text += """
                {"objectId":"old-\(user)","created":1577836800123,"email":"user\(user)@example.com","name":"User \(user)",\
                "birthday":"1990-05-06","city":"Berlin","passwordHash":"\(hash)",\
                "identities":[{"provider":"facebook","app":"\(Setting.appID)","subject":"9\(1_000_000_000 + user)"}]}

                """
            guard text.utf8.count > 1_000_000 || user == last else { continue }
            try handle.write(contentsOf: Data(text.utf8))
            text = ""
        }
        return file
    }
}
