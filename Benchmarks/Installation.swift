import Foundation
import TestSupport

/// A `federation` program with a database and a master key of its own.
struct Installation {
    let setting: Setting
    private let program: String?
    private let environment: [String: String]

    /// Creates an installation with a new master key.
    ///
    /// - Parameters:
    ///   - setting: The places of the database and of Graph.
    ///   - further: Further environment variables.
    ///   - program: The path of a program other than the one that was built with this one.
    init(_ setting: Setting, _ further: [String: String] = [:], program: String? = nil) {
        let key = Data((0..<32).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
        self.setting = setting
        self.program = program
        environment = [
            "FEDERATION_DATABASE_URL": setting.databaseURL, "FEDERATION_MASTER_KEY": key,
            "FEDERATION_TRUSTED_PROXIES": "0",
            // The rate limits count requests, but are wide enough for a load from a single address.
            "FEDERATION_LIMIT_LOGIN_SOURCE": "1000000/s", "FEDERATION_LIMIT_PASSWORD_SOURCE": "1000000/s",
            "FEDERATION_LIMIT_QUERY_SOURCE": "1000000/s",
            "FEDERATION_GRAPH_URL": setting.graphURL, "FEDERATION_FACEBOOK_JWKS_URL": setting.keysURL,
            "BENCHMARK_API_KEY": Setting.apiKey, "BENCHMARK_APP_SECRET": Setting.appSecret,
        ].merging(further) { $1 }
    }

    /// Creates an installation on a new database of the cluster and migrates the database.
    static func make(
        _ database: String,
        _ setting: Setting,
        program: String?,
        _ further: [String: String] = [:]
    ) async throws -> Installation {
        _ = try await Database(url: setting.databaseURL).rows(of: "create database \(database)")
        let installation = Installation(setting.with(database: database), further, program: program)
        try await installation.migrate()
        return installation
    }

    private init(_ other: Installation, _ further: [String: String]) {
        (setting, program) = (other.setting, other.program)
        environment = other.environment.merging(further) { $1 }
    }

    /// Returns the same installation with further environment variables.
    func with(_ further: [String: String]) -> Installation { Installation(self, further) }

    var database: Database { Database(url: setting.databaseURL) }

    func migrate() async throws { try await run(["migrate"]) }

    func apply(_ document: String) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "benchmark-\(UUID().uuidString).json")
        try document.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        try await run(["apply", file.path])
    }

    /// Starts an instance.
    func start() async throws -> ServiceProcess {
        try await ServiceProcess.start(program: program, environment: environment)
    }

    /// Starts a command.
    func begin(_ arguments: [String]) async throws -> ManagedProcess {
        try await ManagedProcess.start(
            try program ?? PackageLayout.executable("federation"),
            arguments,
            environment: environment
        )
    }

    /// Runs a command that must succeed.
    func run(_ arguments: [String]) async throws { _ = try await output(of: arguments) }

    /// Runs a command that must succeed, and returns its output.
    func output(of arguments: [String]) async throws -> String {
        let command = try await runFederation(arguments, program: program, environment: environment)
        guard command.exitStatus == .exited(0) else {
            throw WrongReplies(name: "federation \(arguments[0])", replies: [:], output: command.standardError)
        }
        return command.standardOutput
    }
}
