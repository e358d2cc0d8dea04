/// A database on a throw-away cluster.
package struct TestDatabase: Sendable {
    /// Its name.
    package let name: String
    private let server: DatabaseURL

    init(name: String, server: DatabaseURL) {
        self.name = name
        self.server = server
    }

    /// Connection URL of the cluster's superuser.
    package var url: String { server.text(database: name) }

    /// Port of the server itself, for a ``FaultyProxy`` to lead to.
    package var port: Int { server.port }

    /// The same, by way of a proxy that listens on another port.
    package func url(throughPort port: Int) -> String { server.text(database: name, port: port) }

    /// Runs SQL as `psql --command` does, on a session of the tests' own, which is kept for the next.
    ///
    /// - Parameters:
    ///   - sql: One or more statements; several run in one transaction unless they say otherwise. Nothing that they set
    ///     for their session outlasts them.
    ///   - limit: How long they may take.
    /// - Returns: The rows of all results, each value as PostgreSQL prints it, `nil` for NULL.
    /// - Throws: ``SQLFailure`` with PostgreSQL's message when a statement fails, ``DeadlinePassed``.
    @discardableResult
    package func psql(_ sql: String, within limit: Duration = .seconds(120)) async throws -> [[String?]] {
        try await SQLSessions.shared.run(sql, at: url, within: limit)
    }

    /// Runs a file of SQL by the `psql` program, stopping at the first error.
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

    /// Lends an empty database beside this one, on the same server, and drops it afterwards.
    ///
    /// - Parameters:
    ///   - suffix: Tells it from others beside this one.
    ///   - isolation: The caller's, where the closure runs too.
    ///   - body: What to do with it. Connections left open are ended.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws.
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

    /// Ends the sessions that are kept for the next statement: a database that is copied must have none, and the
    /// server's statistics tell of a session for certain once it has ended.
    package func endSessions() async {
        await SQLSessions.shared.end(url)
    }
}

/// What a new database starts with.
package struct DatabaseTemplate: Sendable {
    let name: String
    let prepare: @Sendable (TestDatabase) async throws -> Void

    /// A template of your own; it is prepared once per process and copied for each database.
    ///
    /// - Parameters:
    ///   - name: Tells it from other templates: lower-case letters, digits and `_`.
    ///   - prepare: Fills the template database.
    package init(name: String, prepare: @escaping @Sendable (TestDatabase) async throws -> Void) {
        self.name = name
        self.prepare = prepare
    }

    /// An empty database.
    package static let empty = DatabaseTemplate(name: "empty") { _ in }

    /// `schema.sql` of this package.
    package static let schema = DatabaseTemplate(name: "schema") { database in
        try await database.psql(file: PackageLayout.path("schema.sql"))
    }

    /// The `schema.sql` of an earlier version, with applications that have these schemas, in the order of their ids.
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
