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
        let key = Data((0..<32).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
        let environment = [
            "FEDERATION_DATABASE_URL": setting.databaseURL, "FEDERATION_MASTER_KEY": key,
            "FEDERATION_GRAPH_URL": setting.graphURL, "FEDERATION_FACEBOOK_JWKS_URL": setting.keysURL,
            "BENCHMARK_API_KEY": Setting.apiKey, "BENCHMARK_APP_SECRET": Setting.appSecret,
        ]
        let file = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(getpid()).json")
        try document.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        for arguments in [["migrate"], ["apply", file.path]] {
            let command = try await runFederation(arguments, environment: environment)
            guard command.exitStatus == .exited(0) else {
                throw WrongReplies(name: "federation \(arguments[0])", replies: [:], output: command.standardError)
            }
        }
        return try await ServiceProcess.start(environment: environment.merging(further) { $1 })
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
