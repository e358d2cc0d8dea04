import FoundationEssentials
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
            guard let deployment = await databases.deployment() else { throw PostgresError.unavailable }
            do {
                _ = try await database.sign(of: deployment)
            } catch DatabaseProblem.empty {
                if let schema, try await !database.hasUsers(inSchema: schema) { throw Failure.notCopied(schema) }
                throw UnpreparedDatabase(database: database)
            } catch let error as PostgresError where error.handling != .other {
                throw DatabaseProblem.away(variable)
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
        guard let deployment = await databases.deployment() else { throw PostgresError.unavailable }
        try await apply(schemaOf: deployment, to: unprepared.database.client)
    }

    private func apply(schemaOf deployment: UUID, to client: PostgresClient) async throws {
        try await client.withConnection { connection in
            // Read by schema.sql, in whose first transaction the database gets its tables and its name.
            try await connection.execute(script: "set federation.deployment = '\(deployment.uuidString)'")
            try await Self.applySchema(to: connection)
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
            } else {
                guard let deployment = await databases.deployment() else { return .away(variable) }
                _ = try await database.sign(of: deployment)
            }
            return nil
        } catch DatabaseProblem.empty {
            return nil
        } catch let problem as DatabaseProblem {
            return problem
        } catch {
            return .away(variable)
        }
    }

    /// Brings the databases that applications have of their own to the schema of this program.
    ///
    /// - Returns: For each of them what stood in the way; nil where nothing did.
    /// - Throws: `store_unavailable` and its like where the main database cannot be asked.
    package func migrateOwnDatabases() async throws(Failure) -> [(variable: DatabaseVariable, problem: Failure?)] {
        let variables = Set(try await applicationPlaces().compactMap(\.database)).sorted { $0.text < $1.text }
        guard !variables.isEmpty, let deployment = await databases.deployment() else { return [] }
        var outcomes: [(variable: DatabaseVariable, problem: Failure?)] = []
        for variable in variables {
            do {
                let database = try databases.database(variable)
                do { _ = try await database.sign(of: deployment) } catch DatabaseProblem.outdated {}
                try await apply(schemaOf: deployment, to: database.client)
                outcomes.append((variable, nil))
            } catch let problem as DatabaseProblem {
                outcomes.append((variable, problem.failure))
            } catch let error as PostgresError {
                outcomes.append((variable, await failure(of: error, in: nil)))
            } catch {
                outcomes.append((variable, Failure(.internal, "The schema could not be applied.", cause: "\(error)")))
            }
        }
        return outcomes
    }
}
