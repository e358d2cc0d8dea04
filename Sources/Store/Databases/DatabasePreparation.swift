import Postgres
package import Vocabulary

/// A database that is to hold an application is empty; its tables are made before the transaction of the change begins
/// anew.
///
/// Thrown and caught by `Store.change`.
struct UnpreparedDatabase: Error {
    let database: OwnDatabase
}

extension Store {
    /// Runs a transaction on the users of an application in a database of its own.
    ///
    /// - Parameters:
    ///   - variable: The database.
    ///   - application: The application that it holds already; nil for one that is about to come.
    ///   - schema: The schema that has been copied there for one that is about to move there; nil for a new one, which
    ///     an empty database will do for.
    ///   - body: The statements; it runs once, since it writes to the main database as well.
    /// - Returns: What the body returns.
    /// - Throws: `UnpreparedDatabase` for an empty one, `DatabaseProblem` for one that is not to be used.
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
                // Ours, by its own word: of before, or one whose tables were not made to their end.
                throw UnpreparedDatabase(database: database)
            case let problem?: throw problem
            }
        }
        defer { database.looks.continuation.yield() }
        return try await database.client.withTransaction(isRepeated: false) { tables in
            try await tables.execute(script: Self.changeSettings)
            return try await body(tables)
        }
    }

    /// Makes the service's tables in an empty database, which says from then on that it is this deployment's.
    func prepare(_ unprepared: UnpreparedDatabase) async throws {
        try await applySchema(to: unprepared.database)
    }

    private func applySchema(to database: OwnDatabase) async throws {
        guard let deployment = await databases.deployment() else { throw PostgresError.unavailable(nil) }
        try await Self.applySchema(by: database.client, of: deployment)
    }

    /// What a database says of itself, to somebody who is about to use it; nil where it is this deployment's.
    ///
    /// - Throws: `unavailable` when the main one does not say which deployment that is.
    private func problem(of database: OwnDatabase) async throws(PostgresError) -> DatabaseProblem? {
        guard let deployment = await databases.deployment() else { throw .unavailable(nil) }
        do {
            _ = try await database.sign(of: deployment, within: Databases.patienceOfOperators)
            return nil
        } catch {
            return DatabaseProblem(error, of: database.variable)
        }
    }

    /// Why an application cannot have its users in a database; nil where it can.
    ///
    /// - Parameters:
    ///   - variable: The database.
    ///   - stored: The application as it is; nil for a new one, which an empty database will do for.
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

    /// Brings the databases that applications have of their own to the schema of this program.
    ///
    /// - Returns: For each of them what stood in the way; nil where nothing did.
    /// - Throws: `store_unavailable` and its like where the main database cannot be asked.
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
