import ArgumentParser
import Federation
import Identity
import Postgres
import Store

/// Runs one task on the database and ends.
enum DatabaseTask {
    /// Opens connections for as long as the closure runs, and turns what it throws into an exit code.
    static func run(
        _ configuration: PostgresConfiguration,
        _ body: @Sendable @escaping (Store) async throws -> Void
    ) async throws {
        var configuration = configuration
        configuration.pipelinedConnections = 1
        configuration.exclusiveConnections = 1
        // A person waits for the command, not a crowd for a login: give a starting server the time to come up.
        configuration.leaseTimeout = .seconds(10)
        let client = PostgresClient(configuration: configuration)
        async let life: Void = client.run()
        do {
            try await body(Store(postgres: client))
        } catch {
            client.shutdown()
            await life
            switch error {
            case let failure as Failure: throw Exit.saying(failure)
            case let problems as DocumentProblems: throw Exit.saying("\(problems)", Exit.dataError)
            default: throw error
            }
        }
        client.shutdown()
        await life
    }
}
