import Identity
import Postgres

/// Which sessions a login ends: the one that its client had, if it is the same user's, and the oldest where a user may have so many only.
///
/// The latter happens in a function, whose statements see what has been committed since the login's own began: of two simultaneous
/// logins the one that waited for the lock on the user ends the other's session, too.
struct SessionEnding {
    private let schema: String
    private let most: Int64?
    private let opened: String
    private let previous: String

    /// - Parameters:
    ///   - application: Says how many sessions a user may have.
    ///   - opened: The placeholder of the hash of the session that was opened.
    ///   - previous: The placeholder of the hash of the one that the client had; its value may be NULL.
    init(application: Application, opened: String, previous: String) {
        schema = application.schema
        most = application.settings.multipleLogins ? application.settings.mostSessions : 1
        self.opened = opened
        self.previous = previous
    }

    /// A CTE over `person`, whose `object_id` is the user's.
    ///
    /// Its one column is `ended`, and it must be joined to the result: what only reads is not run otherwise.
    var sql: String {
        guard let most else {
            return """
                delete from \(quoted(schema)).sessions s using person
                where s.token_hash = \(previous) and s.token_hash <> \(opened) and s.object_id = person.object_id
                returning true as ended
                """
        }
        return """
            select federation.limit_sessions(\(literal(schema)), object_id, \(opened), \(previous), \(most)) is null as ended
            from person
            """
    }
}
