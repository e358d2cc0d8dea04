import Glibc

/// The worker nodes of a Citus cluster that the tests use.
///
/// Every test database exists on the coordinator and on all of these workers.
package struct CitusWorkers: Sendable {
    private let servers: [DatabaseURL]

    /// The environment variable `FEDERATION_TEST_CITUS_WORKERS`; `nil` if the tests run on a server without Citus.
    ///
    /// The variable contains the connection URLs of the workers' superusers, separated by commas. `scripts/test` sets
    /// it.
    package static var named: String? { getenv("FEDERATION_TEST_CITUS_WORKERS").map { String(cString: $0) } }

    /// Reads the workers' URLs from the environment; `nil` if the tests run on a server without Citus.
    ///
    /// - Throws: ``NotADatabaseURL``.
    init?() throws {
        guard let named = Self.named else { return nil }
        self.init(try named.split(separator: ",").map { try DatabaseURL(String($0)) })
    }

    /// Stores the workers' URLs.
    ///
    /// - Parameter servers: The URLs of the workers' superusers.
    package init(_ servers: [DatabaseURL]) { self.servers = servers }

    /// Creates a database on the coordinator and on every worker, and registers the workers at the coordinator.
    package func createDatabase(_ name: String, under coordinator: DatabaseURL) async throws -> TestDatabase {
        for server in [coordinator] + servers {
            try await TestDatabase(name: "postgres", server: server).psql("CREATE DATABASE \(name)")
            try await TestDatabase(name: name, server: server).psql("CREATE EXTENSION citus")
        }
        let database = TestDatabase(name: name, server: coordinator)
        try await database.psql("SELECT citus_set_coordinator_host('127.0.0.1', \(coordinator.port))")
        for server in servers { try await database.psql("SELECT citus_add_node('127.0.0.1', \(server.port))") }
        return database
    }

    func dropDatabase(_ name: String) async throws {
        for server in servers {
            await TestDatabase(name: name, server: server).endSessions()
            try await TestDatabase(name: "postgres", server: server).psql("DROP DATABASE \(name) WITH (FORCE)")
        }
    }
}
