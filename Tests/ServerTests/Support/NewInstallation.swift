import Testing
import TestSupport

@testable import ServerTestSupport

/// Runs a closure against a new installation, as after `federation migrate` and `federation serve`.
///
/// It has a database with an empty schema, a running service, and a simulator with the app 1234567890.
///
/// - Parameters:
///   - environment: Additional variables of the service.
///   - body: Uses the installation.
/// - Throws: The body's error.
func withNewInstallation(
    environment: [String: String] = [:],
    _ body: (Deployment) async throws -> Void
) async throws {
    try await withDatabase(.empty) { database in
        let migrated = try await runFederation(["migrate"], environment: Deployment.environment(database: database))
        try #require(migrated.exitStatus == .exited(0), "\(migrated.standardError)")
        let simulator = try await SimulatorProcess.start()
        try await simulator.put(apps: ["1234567890"])
        let service = try await ServiceProcess.start(
            environment: Deployment.environment(database: database)
                .merging(simulator.environment) { _, new in new }
                .merging(environment) { _, new in new }
        )
        let deployment = Deployment(database: database, simulator: simulator, service: service, documents: [])
        do {
            try await body(deployment)
        } catch {
            try? await service.process.kill()
            try? await simulator.process.kill()
            throw error
        }
        try await deployment.end()
        try await simulator.process.kill()
    }
}
