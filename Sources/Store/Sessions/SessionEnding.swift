import Domain
import Postgres

/// The revocation of former sessions by a login, as SQL.
///
/// A login revokes the client's previous session, if it is the same user's, and the user's oldest sessions beyond the
/// maximum. Where the application refuses logins beyond the maximum, the login checks for room instead.
///
/// No user has many more sessions than ``mostOfAll``, whoever opened them, so one statement can revoke all of them.
/// Sessions of the account page, one beside each session, count only where the application sets no maximum. Where it
/// sets one, surplus sessions are revoked in a function, whose statements see what was committed after the login's own
/// statement began: of two simultaneous logins, the one that waited for the lock on the user also revokes the other's
/// session.
///
/// Room is checked in a function too, after the user is locked: of two simultaneous logins, the one that waited sees
/// the other's session.
///
/// Surplus sessions are found by the index with a user's sessions in their order, and deleted by their key.
struct SessionEnding<Input> {
    /// The maximum of a user's sessions where the application sets none; simultaneous logins may exceed it slightly.
    static var mostOfAll: Int { 1000 }

    private let application: Application
    /// The application's maximum of sessions per user; nil where it sets none.
    private let most: Int64?
    /// Whether logins beyond the maximum are refused.
    private let refuses: Bool
    private let opened: Parameter<Input>
    private let previous: Parameter<Input>

    /// - Parameters:
    ///   - application: The application, whose settings have the maximum.
    ///   - opened: The hash of the opened session's token.
    ///   - previous: The hash of the token of the client's previous session; its value may be NULL.
    init(application: Application, opened: Parameter<Input>, previous: Parameter<Input>) {
        self.application = application
        most = application.settings.multipleLogins ? application.settings.mostSessions : 1
        refuses = application.settings.excessLogins == .refuse && most != nil
        self.opened = opened
        self.previous = previous
    }

    /// Returns a CTE that checks for room, to precede a login's writes; nil where no login is refused.
    ///
    /// The CTE reads `user`, which must have locked the user and have a column `object_id`. `room.room` is false when
    /// the user has no room for the session; there is no row when there is no such user.
    func room(of user: SQL<Input>) -> SQL<Input>? {
        guard let most, refuses else { return nil }
        return """
            room as (
                select
                    federation.has_room_for_session(
                        \(literal: application.schema), object_id, \(opened), \(previous),
                        \(unsafeRaw: String(application.settings.sessionIdleSeconds)), \(unsafeRaw: String(most))
                    ) as room
                from \(user)
            )
            """
    }

    /// CTEs that revoke sessions; they read `person`, whose `object_id` is the user's.
    ///
    /// The only column of `previous` is `ended`. The statement must join it to its result, since PostgreSQL does not
    /// run a CTE that only reads unless it is used.
    var expressions: SQL<Input> {
        let sessions: SQL<Input> = "\(identifier: application.schema).sessions"
        guard let most, !refuses else {
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
                        order by o.created desc offset \(unsafeRaw: String(Self.mostOfAll - 1))
                    ))
                )
                """
        }
        return """
            previous as (
                select
                    federation.limit_sessions(
                        \(literal: application.schema), object_id, \(opened), \(previous),
                        \(unsafeRaw: String(application.settings.sessionIdleSeconds)), \(unsafeRaw: String(most))
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
                "This account is logged in as often as the app allows. Log out somewhere else, and log in again."
            )
            : Failure(
                .alreadyLoggedIn,
                "This account is logged in somewhere else, and the app allows that once. Log out there, and log in again."
            )
    }
}
