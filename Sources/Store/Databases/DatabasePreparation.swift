package import Domain
import Postgres

/// The error for a database that is to hold an application, but has no tables of the service, or outdated ones.
///
/// `Store.change` catches this error, creates or migrates the tables, and starts the transaction over.
struct UnpreparedDatabase: Error {
    let database: OwnDatabase
}

extension Store {
    /// Runs a transaction in the database that holds, or is about to hold, the users of one application.
    ///
    /// - Parameters:
    ///   - variable: The environment variable with the URL of the database.
    ///   - application: The application, if the database holds its users already. Nil while the application is created
    ///     or moved there.
    ///   - schema: The schema that the operator has copied, if the application is moved. Nil if the application is
    ///     created.
    ///   - body: The statements. They are not retried, since the body also writes to the main database.
    /// - Returns: The result of the body.
    /// - Throws: `UnpreparedDatabase` if the service's tables must be created or migrated first; `conflict` if the
    ///   copied schema is missing; `DatabaseProblem` if the database is unusable; the errors of the body.
    func withTables<Result: Sendable>(
        at variable: DatabaseVariable,
        holding application: ApplicationID?,
        copied schema: String?,
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        let database = try databases.database(variable)
        if let application {
            _ = try await databases.client(at: variable, holding: application)
        } else {
            switch try await problem(of: database) {
            case nil: break
            case .empty?:
                if let schema, try await !database.hasUsers(inSchema: schema) { throw Failure.notCopied(schema) }
                throw UnpreparedDatabase(database: database)
            case .outdated? where schema == nil:
                // The database says that it is this deployment's. It is of an older version, or its preparation was
                // interrupted.
                throw UnpreparedDatabase(database: database)
            case let problem?: throw problem
            }
        }
        defer { database.checks.continuation.yield() }
        return try await database.client.withTransaction(isRepeated: false) { tables in
            try await tables.execute(script: Self.changeSettings)
            return try await body(tables)
        }
    }

    /// Creates or migrates the service's tables in a database, which marks the database as this deployment's.
    func prepare(_ unprepared: UnpreparedDatabase) async throws {
        try await applySchema(to: unprepared.database)
    }

    private func applySchema(to database: OwnDatabase) async throws {
        guard let deployment = await databases.deployment() else { throw PostgresError.unavailable(nil) }
        try await Self.applySchema(by: database.client, of: deployment)
    }

    /// Returns the problem of a database that is about to be used; nil if it is this deployment's.
    ///
    /// - Throws: `unavailable` if the main database does not say which deployment it belongs to.
    private func problem(of database: OwnDatabase) async throws(PostgresError) -> DatabaseProblem? {
        guard let deployment = await databases.deployment() else { throw .unavailable(nil) }
        do {
            _ = try await database.sign(of: deployment, within: Databases.timeoutOfOperators)
            return nil
        } catch {
            return DatabaseProblem(error, of: database.variable)
        }
    }

    /// Returns why an application cannot have its users in a database; nil if it can.
    ///
    /// An empty database is accepted, since a change creates the tables. For a new application an outdated database is
    /// accepted, too.
    ///
    /// - Parameters:
    ///   - variable: The environment variable with the URL of the database.
    ///   - stored: The present application; nil for a new one.
    /// - Returns: The problem.
    package func problem(at variable: DatabaseVariable, with stored: StoredApplication?) async -> DatabaseProblem? {
        do {
            let database = try databases.database(variable)
            if let stored, stored.database == variable {
                _ = try await databases.client(at: variable, holding: stored.id)
                return nil
            }
            switch try await problem(of: database) {
            case .empty?: return nil
            case .outdated? where stored == nil: return nil
            case let problem: return problem
            }
        } catch {
            return DatabaseProblem(error, of: variable)
        }
    }

    /// Migrates the applications' own databases to the schema of this program.
    ///
    /// - Returns: The failure for each database; nil after success.
    /// - Throws: `store_unavailable` and similar failures if the main database cannot be queried.
    package func migrateOwnDatabases() async throws(Failure) -> [(variable: DatabaseVariable, problem: Failure?)] {
        let variables = Set(try await applicationPlaces().compactMap(\.database)).sorted { $0.text < $1.text }
        var outcomes: [(variable: DatabaseVariable, problem: Failure?)] = []
        for variable in variables { outcomes.append((variable, await problem(ofMigrating: variable))) }
        return outcomes
    }

    private func problem(ofMigrating variable: DatabaseVariable) async -> Failure? {
        do {
            let database = try databases.database(variable)
            switch try await problem(of: database) {
            case nil, .outdated?: try await applySchema(to: database)
            case let problem?: throw problem
            }
            return nil
        } catch let problem as DatabaseProblem {
            return problem.failure
        } catch {
            return await migrationFailure(of: error)
        }
    }
}
