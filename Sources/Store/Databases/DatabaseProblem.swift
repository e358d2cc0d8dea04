package import Domain
import Postgres

/// A reason why an application's own database is not used.
///
/// Operators and the log see the reason, and clients do not. No case contains the value of the environment variable.
package enum DatabaseProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The environment variable is not set.
    case unset(DatabaseVariable)
    /// The variable's value is not an acceptable URL, for this reason.
    case malformed(DatabaseVariable, String)
    /// The database does not respond.
    case away(DatabaseVariable)
    /// The database refuses a query with this SQLSTATE, for example 42501 if the database role lacks privileges.
    case refused(DatabaseVariable, String)
    /// The database has no tables of the service.
    case empty(DatabaseVariable)
    /// The database belongs to another deployment, or was set up by a version of the service without deployment ids.
    case foreign(DatabaseVariable)
    /// The database is the main one.
    case main(DatabaseVariable)
    /// The database's schema is older than the program.
    case outdated(DatabaseVariable)
    /// The database is this deployment's, but does not hold the users of this application.
    case lacks(DatabaseVariable, ApplicationID)

    package var description: String {
        switch self {
        case .unset(let variable): "the environment variable \(variable) is not set"
        case .malformed(let variable, let reason): "the environment variable \(variable) holds no usable URL: \(reason)"
        case .away(let variable): "the database of \(variable) does not answer"
        case .refused(let variable, let state):
            "the database of \(variable) refuses what it is asked (SQLSTATE \(state)): has its role all rights?"
        case .empty(let variable):
            "the database of \(variable) has no tables of this service: is it the right one?"
        case .foreign(let variable): "the database of \(variable) is another deployment's"
        case .main(let variable):
            "\(variable) leads to the main database: an application's own is another one"
        case .outdated(let variable): "the database of \(variable) has an older schema: run federation migrate"
        case .lacks(let variable, let application):
            "the database of \(variable) does not hold the users of application \(application): is it the right one?"
        }
    }

    /// The failure to show to operators.
    package var failure: Failure {
        switch self {
        case .away: Failure(.storeUnavailable, sentence, retryAfter: 2, cause: description)
        default: Failure(.conflict, sentence)
        }
    }

    /// The description with a capital letter and a full stop.
    private var sentence: String {
        let text = description
        return text.prefix(1).uppercased() + text.dropFirst() + (text.hasSuffix("?") ? "" : ".")
    }

    /// Classifies an error of a query to the database.
    init(_ error: any Error, of variable: DatabaseVariable) {
        switch error {
        case let problem as DatabaseProblem: self = problem
        case PostgresError.server(let refusal) where refusal.sqlState.handling == .other:
            self = .refused(variable, "\(refusal.sqlState)")
        default: self = .away(variable)
        }
    }
}
