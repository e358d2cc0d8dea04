import Postgres
package import Vocabulary

/// What became of statements that name the columns of an application's users.
package enum StatementOutcome<Value> {
    case done(Value)
    /// Nothing was done: the users table has other columns than the statements were made for, or other tables are in
    /// its place. With the configuration as it is by now they may go.
    case outdated(Failure)

    /// The value, for whoever does nothing again.
    package func get() throws(Failure) -> Value {
        switch self {
        case .done(let value): return value
        case .outdated(let failure): throw failure
        }
    }

    package func map<Other, Problem>(
        _ transform: (Value) throws(Problem) -> Other
    ) throws(Problem) -> StatementOutcome<Other> {
        switch self {
        case .done(let value): return .done(try transform(value))
        case .outdated(let failure): return .outdated(failure)
        }
    }
}

extension StatementOutcome: Sendable where Value: Sendable {}

/// Why a statement did nothing.
enum StatementError {
    case outdated(Failure)
    case failed(Failure)

    var failure: Failure {
        switch self {
        case .outdated(let failure), .failed(let failure): failure
        }
    }
}

extension Store {
    /// Runs statements that name the columns of an application's users.
    ///
    /// - Parameters:
    ///   - application: Whose users they are, as the statements know them.
    ///   - explain: What an error means to these statements; nil where it means what it means to all.
    ///   - body: The statements, with the reading of what they give.
    /// - Returns: What became of them.
    /// - Throws: What the body throws as a failure; `constraint_violation`, `store_unavailable` and their like.
    func current<Value>(
        _ application: Application,
        explain: (PostgresError) async -> Failure? = { _ in nil },
        _ body: () async throws -> Value
    ) async throws(Failure) -> StatementOutcome<Value> {
        do {
            return .done(try await body())
        } catch let failure as Failure {
            throw failure
        } catch let error as PostgresError {
            if let failure = await explain(error) { throw failure }
            switch await diagnosis(of: error, in: application) {
            case .outdated(let failure): return .outdated(failure)
            case .failed(let failure): throw failure
            }
        } catch {
            throw Failure.databaseFault(cause: "\(error)")
        }
    }
}
