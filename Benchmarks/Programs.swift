import Foundation
import TestSupport

/// Starts the programs under measurement.
enum Programs {
    /// Starts the service, set up as an operator would.
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

    /// Starts the floor of logins with one kind of credential.
    static func startFloor(
        _ people: People,
        of credential: FloorCommand.Credential
    ) async throws -> (process: ManagedProcess, port: Int) {
        let file = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(getpid())-tokens.json")
        try JSONEncoder().encode(people).write(to: file)
        let floor = try await startListening(try PackageLayout.executable("benchmarks")) { port in
            ["floor", "--port", String(port), "--tokens", file.path, "--credential", credential.rawValue]
        }
        try FileManager.default.removeItem(at: file)
        return floor
    }

    /// Starts a program that listens on a port, with the variables of scripts/benchmark.
    static func startListening(
        _ program: String,
        arguments: (_ port: Int) -> [String]
    ) async throws -> (process: ManagedProcess, port: Int) {
        let port = try freePort()
        let process = try await ManagedProcess.start(
            program,
            arguments(port),
            environment: ProcessInfo.processInfo.environment.filter { $0.key.hasPrefix("FEDERATION_BENCHMARK_") }
        )
        try await process.waitUntilReady { (try? Connection(port: port)) != nil }
        return (process, port)
    }
}
