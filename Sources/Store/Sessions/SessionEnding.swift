import Domain
import Postgres

/// Generates the SQL by which a login revokes former sessions of the user.
///
/// A login revokes the client's previous session, if that is a session of the same user. It also revokes the user's
/// oldest sessions beyond the maximum. If the application refuses logins beyond the maximum, the login checks instead
/// whether there is room for its session.
///
/// No user has many more sessions than ``maxOverall``, by whatever login they were opened. So one statement can revoke
/// all of them. The session that the account page opens beside another session counts only if the application sets no
/// maximum.
///
/// If the application sets a maximum, a function revokes the surplus sessions. Its statements see what was committed
/// after the login's own statement began. So of two simultaneous logins, the one that waited for the lock on the user's
/// row also revokes the other's session.
///
/// A function also checks whether there is room for another session, after the user's row is locked. So of two
/// simultaneous logins, the one that waited sees the other's session.
///
/// Surplus sessions are found by the index with a user's sessions in their order, and deleted by their key.
struct SessionEnding<Input> {
    /// The maximum of a user's sessions if the application sets none.
    ///
    /// Simultaneous logins may exceed it slightly.
    static var maxOverall: Int { 1000 }

    private let application: Application
    /// The application's maximum of sessions per user; nil where it sets none.
    private let max: Int64?
    /// Whether logins beyond the maximum are refused.
    private let refuses: Bool
    private let opened: Parameter<Input>
    private let previous: Parameter<Input>

    /// Prepares the SQL for the login statements of an application.
    ///
    /// - Parameters:
    ///   - application: The application, whose settings have the maximum of sessions.
    ///   - opened: The hash of the new session's token.
    ///   - previous: The hash of the token of the client's previous session; its value may be NULL.
    init(application: Application, opened: Parameter<Input>, previous: Parameter<Input>) {
        self.application = application
        max = application.settings.multipleLogins ? application.settings.maxSessions : 1
        refuses = application.settings.sessionLimitBehavior == .refuse && max != nil
        self.opened = opened
        self.previous = previous
    }

    /// Returns a CTE that checks whether the user may have another session.
    ///
    /// The result is nil if the application sets no maximum of sessions, or revokes the oldest sessions beyond it.
    ///
    /// The CTE precedes the login's writes. It reads the CTE whose name is `user`, which locks the user's row and has a
    /// column `object_id`. `room.room` is false if the user has no room for the session. If there is no such user,
    /// `room` has no row.
    func room(of user: SQL<Input>) -> SQL<Input>? {
        guard let max, refuses else { return nil }
        return """
            room as (
                select
                    federation.has_room_for_session(
                        \(literal: application.schema), object_id, \(opened), \(previous),
                        \(unsafeRaw: String(application.settings.sessionIdleSeconds)), \(unsafeRaw: String(max))
                    ) as room
                from \(user)
            )
            """
    }

    /// The CTEs that revoke the client's previous session and the user's sessions beyond the maximum.
    ///
    /// They read the CTE `person`, whose column `object_id` is the user's id.
    ///
    /// The only column of `previous` is `ended`. The statement must join `previous` to its result, since PostgreSQL
    /// does not run a CTE that only reads unless the CTE is used.
    var expressions: SQL<Input> {
        let sessions: SQL<Input> = "\(identifier: application.schema).sessions"
        guard let max, !refuses else {
            return """
                previous as (
                    delete from \(sessions)
                    where token_hash = \(previous) and token_hash <> \(opened)
                        and object_id = (select person.object_id from person)
                    returning true as ended
                ), surplus as (
                    delete from \(sessions) where token_hash = any (array(
                        select o.token_hash from \(sessions) o
                        where o.object_id = (select person.object_id from person) and o.token_hash <> \(opened)
                        order by o.created desc offset \(unsafeRaw: String(Self.maxOverall - 1))
                    ))
                )
                """
        }
        return """
            previous as (
                select
                    federation.limit_sessions(
                        \(literal: application.schema), object_id, \(opened), \(previous),
                        \(unsafeRaw: String(application.settings.sessionIdleSeconds)), \(unsafeRaw: String(max))
                    ) is null as ended
                from person
            )
            """
    }
}

extension ApplicationSettings {
    /// The failure of a login that exceeds the maximum of sessions.
    var excessLogin: Failure {
        multipleLogins
            ? Failure(
                .tooManySessions,
                "This account has reached the maximum number of sessions. Log out on another device, and log in again."
            )
            : Failure(
                .alreadyLoggedIn,
                """
                This account is logged in on another device, and the app allows only one session. Log out there, and \
                log in again.
                """
            )
    }
}
