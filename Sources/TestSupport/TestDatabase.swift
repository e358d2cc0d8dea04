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

    /// Runs SQL by the `psql` program.
    ///
    /// - Parameter sql: One or more statements, at most 128 KiB; several run in one transaction.
    /// - Returns: The rows of all results, each value as PostgreSQL prints it, `nil` for NULL.
    /// - Throws: ``ProcessEnded`` with PostgreSQL's message when a statement fails.
    @discardableResult
    package func psql(_ sql: String) async throws -> [[String?]] {
        try await psql(arguments: ["--command", sql])
    }

    /// Runs a file of SQL, stopping at the first error.
    ///
    /// - Parameter path: The file's path.
    /// - Throws: ``ProcessEnded`` with PostgreSQL's message.
    package func psql(file path: String) async throws {
        try await psql(arguments: ["--file", path])
    }

    @discardableResult
    private func psql(arguments: [String]) async throws -> [[String?]] {
        // Bytes that no test data holds; the zero byte follows every row, of every result.
        let (field, null) = ("\u{1F}", "\u{1D}")
        let output = try await runSuccessfully(
            "psql",
            [
                "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1",
                "--field-separator", field, "--record-separator-zero", "--pset", "null=\(null)", "--dbname", url,
            ] + arguments,
            environment: ["PGCONNECT_TIMEOUT": "5", "PGCLIENTENCODING": "UTF8"]
        )
        return output.split(separator: "\0").map { row in
            row.split(separator: Character(field), omittingEmptySubsequences: false).map { value in
                value == null ? nil : String(value)
            }
        }
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
}
