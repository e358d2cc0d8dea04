import Domain
import FoundationEssentials
import Logging
import Postgres
import Store

extension Databases {
    /// The number of environment variables whose names have a form such as `SHOP_DATABASE_URL`.
    ///
    /// Each of them contains the URL of a separate database for the users of some applications.
    static var numberOfOwn: Int { ProcessInfo.processInfo.environment.keys.count { DatabaseVariable($0) != nil } }

    /// Opens the main database, and the separate databases whose URLs are in environment variables.
    ///
    /// A separate database contains the users of some applications. All databases have the same limits.
    convenience init(_ configuration: PostgresConfiguration, logger: Logger? = nil) {
        self.init(main: PostgresClient(configuration: configuration)) { variable, problem in
            guard let problem else {
                logger?.info("database of applications in use", metadata: ["variable": "\(variable)"])
                return
            }
            logger?.error(
                "database of applications cannot be used: theirs are answered 503, all others go on",
                metadata: ["variable": "\(variable)", "cause": "\(problem)"]
            )
        } configure: { (variable: DatabaseVariable) throws(DatabaseProblem) in
            guard let url = ProcessInfo.processInfo.environment[variable.text], !url.isEmpty else {
                throw .unset(variable)
            }
            do { return try configuration.elsewhere(url: url) } catch { throw .malformed(variable, "\(error)") }
        }
    }
}
