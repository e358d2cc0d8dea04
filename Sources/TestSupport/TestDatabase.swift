/// A database for tests, on a PostgreSQL server that only tests use.
package struct TestDatabase: Sendable {
    package let name: String
    private let server: DatabaseURL

    init(name: String, server: DatabaseURL) {
        self.name = name
        self.server = server
    }

    /// The URL that connects to this database as a superuser.
    package var url: String { server.text(database: name) }

    /// The port of the server, to which a ``FaultyProxy`` connects.
    package var port: Int { server.port }

    /// Returns the URL that connects to this database through a proxy on the given port.
    package func url(throughPort port: Int) -> String { server.text(database: name, port: port) }

    /// Runs SQL as `psql --command` does, on a pooled session of the tests.
    ///
    /// - Parameters:
    ///   - sql: The statements. They are one transaction unless they contain transaction commands. Settings of the
    ///     session are reset afterwards.
    ///   - limit: The time allowed.
    /// - Returns: The rows of all results, each value as PostgreSQL prints it, `nil` for NULL.
    /// - Throws: ``SQLFailure`` with PostgreSQL's message if a statement fails, ``DeadlinePassed``.
    @discardableResult
    package func psql(_ sql: String, within limit: Duration = .seconds(120)) async throws -> [[String?]] {
        try await SQLSessions.shared.run(sql, at: url, within: limit)
    }

    /// Runs a file of SQL with the program `psql`.
    ///
    /// It stops at the first error.
    ///
    /// - Parameter path: The file's path.
    /// - Throws: ``ProcessEnded`` with PostgreSQL's message.
    package func psql(file path: String) async throws {
        try await runSuccessfully(
            "psql",
            ["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", url, "--file", path],
            environment: ["PGCONNECT_TIMEOUT": "5", "PGCLIENTENCODING": "UTF8"]
        )
    }

    /// Lends a second, empty database on the same server, and drops the second database afterwards.
    ///
    /// - Parameters:
    ///   - suffix: The suffix of the database's name. It must differ for each database that is lent beside this one.
    ///   - isolation: The caller's isolation. The closure runs in it, too.
    ///   - body: Uses the database. Connections left open are closed afterwards.
    /// - Returns: The result of the body.
    /// - Throws: The body's error.
    package func withNeighbour<Result>(
        _ suffix: String = "own",
        isolation: isolated (any Actor)? = #isolation,
        _ body: (TestDatabase) async throws -> Result
    ) async throws -> Result {
        let neighbour = TestDatabase(name: "\(name)_\(suffix)", server: server)
        try await psql("create database \(neighbour.name)")
        let outcome: Swift.Result<Result, any Error>
        do { outcome = .success(try await body(neighbour)) } catch { outcome = .failure(error) }
        await neighbour.endSessions()
        try await psql("drop database \(neighbour.name) with (force)")
        return try outcome.get()
    }

    /// Closes the pooled sessions of the database.
    ///
    /// PostgreSQL copies only a database without sessions. Its statistics are certain to include a session only after
    /// the session has ended.
    package func endSessions() async {
        await SQLSessions.shared.end(url)
    }
}

/// The initial contents of a test database.
///
/// Usually, a template database is filled with them once, and is copied for each test.
package struct DatabaseTemplate: Sendable {
    let name: String
    let prepare: @Sendable (TestDatabase) async throws -> Void

    /// Stores the name of a template and the closure that fills it.
    ///
    /// Without Citus, each process fills a template database once, and copies it for each test database. With Citus,
    /// the closure fills each test database itself.
    ///
    /// - Parameters:
    ///   - name: The unique name: lower-case letters, digits and `_`.
    ///   - prepare: Fills the template database or, with Citus, the test database.
    package init(name: String, prepare: @escaping @Sendable (TestDatabase) async throws -> Void) {
        self.name = name
        self.prepare = prepare
    }

    package static let empty = DatabaseTemplate(name: "empty") { _ in }

    /// A database with this package's `schema.sql`.
    package static let schema = DatabaseTemplate(name: "schema") { database in
        try await database.psql(file: PackageLayout.path("schema.sql"))
    }

    /// Returns a template with the schema of an earlier version of the service, for tests of migrations.
    ///
    /// The template has one application for each element of `schemas`, which is the name of the PostgreSQL schema with
    /// the application's tables. The ids of the applications are `a0`, `a1` and so on.
    package static func landed(_ version: Int, schemas: [String]) -> DatabaseTemplate {
        DatabaseTemplate(name: "landed\(version)_" + schemas.joined(separator: "_")) { database in
            try await database.psql(file: PackageLayout.path("Tests/StoreTests/Schemas/\(version).sql"))
            for (number, schema) in schemas.enumerated() {
                try await database.psql(
                    """
                    insert into federation.applications (id, name, schema_name) values ('a\(number)', 'A', '\(schema)');
                    select federation.create_application_schema('\(schema)');
                    """
                )
            }
        }
    }
}
