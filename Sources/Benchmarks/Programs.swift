import Foundation
import TestSupport

/// Starts what is measured.
enum Programs {
    /// The service, set up as an operator does it.
    static func startService(
        _ setting: Setting,
        document: String = Setting.document,
        _ further: [String: String] = [:]
    ) async throws -> ServiceProcess {
        let installation = Installation(setting, further)
        try await installation.migrate()
        try await installation.apply(document)
        return try await installation.start()
    }

    /// The floor of logins by one kind of credential.
    static func startFloor(
        _ people: People,
        of credential: FloorCommand.Credential
    ) async throws -> (process: ManagedProcess, port: Int) {
        let port = try freePort()
        let file = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(getpid())-tokens.json")
        try JSONEncoder().encode(people).write(to: file)
        let process = try await ManagedProcess.start(
            try PackageLayout.executable("benchmarks"),
            ["floor", "--port", String(port), "--tokens", file.path, "--credential", credential.rawValue],
            environment: ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("FEDERATION_BENCHMARK_") }
        )
        try await process.waitUntilReady { (try? Connection(port: port)) != nil }
        try FileManager.default.removeItem(at: file)
        return (process, port)
    }
}
