package import Domain
import Postgres

/// The outcome of statements that name the columns of an application's users table.
package enum StatementOutcome<Value> {
    case done(Value)
    /// Nothing was done: the users table has other columns than the statements name, or has been replaced.
    ///
    /// The caller may succeed if it makes the statements again, from the current configuration.
    case outdated(Failure)

    /// Returns the value; throws the failure if the statements were made from an outdated configuration.
    ///
    /// This is for callers that do not retry.
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

/// The reason why statements about an application's users failed.
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
    /// Runs statements that name the columns of an application's users table.
    ///
    /// - Parameters:
    ///   - application: The application from whose configuration the statements were made.
    ///   - explain: Returns the failure for an error of these statements; nil to translate the error like that of any
    ///     other statement.
    ///   - body: Runs the statements and reads their results.
    /// - Returns: The outcome.
    /// - Throws: The failures of the body; `constraint_violation`, `store_unavailable` and similar failures.
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
