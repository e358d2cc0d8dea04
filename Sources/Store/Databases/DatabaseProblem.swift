import Postgres
package import Vocabulary

/// Why the database that an application has of its own is not used.
///
/// For operators and the log: none of it is told to clients, and no case holds what the variable is set to.
package enum DatabaseProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The environment variable is not set.
    case unset(DatabaseVariable)
    /// Its value is no URL that is taken, for this reason.
    case malformed(DatabaseVariable, String)
    /// The database does not answer.
    case away(DatabaseVariable)
    /// It answers, and refuses what it is asked, with this SQLSTATE: 42501 where its role lacks rights.
    case refused(DatabaseVariable, String)
    /// It has no tables of the service.
    case empty(DatabaseVariable)
    /// It is another deployment's, or of a version before deployments had names.
    case foreign(DatabaseVariable)
    /// It is the main database.
    case main(DatabaseVariable)
    /// Its schema is older than the program.
    case outdated(DatabaseVariable)
    /// It is the deployment's, and does not hold the users of this application.
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

    /// To whoever operates the service.
    package var failure: Failure {
        switch self {
        case .away: Failure(.storeUnavailable, sentence, retryAfter: 2, cause: description)
        default: Failure(.conflict, sentence)
        }
    }

    /// With a capital letter and a full stop.
    private var sentence: String {
        let text = description
        return text.prefix(1).uppercased() + text.dropFirst() + (text.hasSuffix("?") ? "" : ".")
    }

    /// What an error of asking it means.
    init(_ error: any Error, of variable: DatabaseVariable) {
        switch error {
        case let problem as DatabaseProblem: self = problem
        case PostgresError.server(let refusal) where refusal.sqlState.handling == .other:
            self = .refused(variable, "\(refusal.sqlState)")
        default: self = .away(variable)
        }
    }
}
