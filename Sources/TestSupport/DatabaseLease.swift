import Glibc

/// Lends a database to a test, and drops the database afterwards.
///
/// The database is a copy of a template. Its server is the one that the environment variable
/// `FEDERATION_TEST_DATABASE_URL` names, by the URL of a superuser. `scripts/test` sets this variable. Without the
/// variable, the test process starts a server of its own. Only a few databases are lent at a time, so that parallel
/// tests do not exhaust the server's connections. Therefore a test that has one database must not ask for a second one,
/// or tests could wait for each other forever.
///
/// If `FEDERATION_TEST_CITUS_WORKERS` contains URLs of further servers, separated by commas, the first server is a
/// Citus coordinator. Each database then exists on all servers, and the further servers are registered as nodes.
///
/// - Parameters:
///   - template: The initial contents.
///   - isolation: The caller's isolation. The closure runs in it, too.
///   - body: Uses the database. Connections left open are closed afterwards.
/// - Returns: The result of the body.
/// - Throws: The body's error; ``ProcessEnded`` if the database cannot be created.
package func withDatabase<Result>(
    _ template: DatabaseTemplate = .schema,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (TestDatabase) async throws -> Result
) async throws -> Result {
    await DatabaseServer.shared.beginLease()
    let outcome: Swift.Result<Result, any Error>
    do {
        let database = try await DatabaseServer.shared.createDatabase(template)
        do {
            outcome = .success(try await body(database))
        } catch {
            outcome = .failure(error)
        }
        try await DatabaseServer.shared.dropDatabase(database)
    } catch {
        await DatabaseServer.shared.endLease()
        throw error
    }
    await DatabaseServer.shared.endLease()
    return try outcome.get()
}

/// The database server on which ``withDatabase(_:isolation:_:)`` creates databases, and its prepared template
/// databases.
private actor DatabaseServer {
    static let shared = DatabaseServer()

    private var free = CitusWorkers.named == nil ? 8 : 4
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var server: Task<DatabaseURL, any Error>?
    private var templates: [String: Task<String, any Error>] = [:]
    private var created = 0

    func beginLease() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func endLease() {
        guard waiting.isEmpty else {
            waiting.removeFirst().resume()
            return
        }
        free += 1
    }

    func createDatabase(_ template: DatabaseTemplate) async throws -> TestDatabase {
        let server = try await connectServer()
        if let workers = try CitusWorkers() {
            created += 1
            let name = "federation_test_\(getpid())_\(created)"
            let database = try await workers.createDatabase(name, under: server)
            try await template.prepare(database)
            return database
        }
        let source = try await prepare(template, on: server)
        created += 1
        let database = TestDatabase(name: "federation_test_\(getpid())_\(created)", server: server)
        try await administer(server, "CREATE DATABASE \(database.name) TEMPLATE \(source)")
        return database
    }

    func dropDatabase(_ database: TestDatabase) async throws {
        await database.endSessions()
        try await administer(try await connectServer(), "DROP DATABASE \(database.name) WITH (FORCE)")
        try await CitusWorkers()?.dropDatabase(database.name)
    }

    private func connectServer() async throws -> DatabaseURL {
        if let server { return try await server.value }
        let server = Task {
            if let url = getenv("FEDERATION_TEST_DATABASE_URL") { return try DatabaseURL(String(cString: url)) }
            return try await PostgresCluster.start().server
        }
        self.server = server
        return try await server.value
    }

    private func prepare(_ template: DatabaseTemplate, on server: DatabaseURL) async throws -> String {
        if let prepared = templates[template.name] { return try await prepared.value }
        let preparing = Task {
            let database = TestDatabase(name: "federation_template_\(getpid())_\(template.name)", server: server)
            try await administer(server, "CREATE DATABASE \(database.name)")
            try await template.prepare(database)
            await database.endSessions()
            return database.name
        }
        templates[template.name] = preparing
        return try await preparing.value
    }

    private nonisolated func administer(_ server: DatabaseURL, _ sql: String) async throws {
        try await TestDatabase(name: "postgres", server: server).psql(sql)
    }
}
