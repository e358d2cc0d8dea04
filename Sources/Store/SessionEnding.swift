import Postgres
import Vocabulary

/// Which sessions a login ends: the one that its client had, if it is the same user's, and the oldest where a user may
/// have so many only; or whether there is room for another, where the application refuses logins beyond them.
///
/// Nobody has many more than ``mostOfAll``, so that all of a user's can be ended in one statement, whoever has opened
/// them. Those of the account page, one beside each, are counted where the application names no number, and only there.
/// Where an application allows fewer, they are ended in a function, whose statements see what has been committed since
/// the login's own began: of two simultaneous logins the one that waited for the lock on the user ends the other's
/// session, too.
///
/// Room is looked for in a function, too, once the user is locked: of two simultaneous logins the one that waited sees
/// the other's session.
///
/// Which sessions are too many is found by the index that has a user's sessions in their order, and they are ended by
/// their key.
struct SessionEnding<Input> {
    /// Sessions of one user where the application names no number; about as many when logins of the user come at once.
    static var mostOfAll: Int { 1000 }

    private let application: Application
    /// How many are left; nil where the application names no number.
    private let most: Int64?
    /// Whether logins beyond them are refused.
    private let refuses: Bool
    private let opened: Parameter<Input>
    private let previous: Parameter<Input>

    /// - Parameters:
    ///   - application: Says how many sessions a user may have.
    ///   - opened: The hash of the session that was opened.
    ///   - previous: The hash of the one that the client had; its value may be NULL.
    init(application: Application, opened: Parameter<Input>, previous: Parameter<Input>) {
        self.application = application
        most = application.settings.multipleLogins ? application.settings.mostSessions : 1
        refuses = application.settings.excessLogins == .refuse && most != nil
        self.opened = opened
        self.previous = previous
    }

    /// A CTE, to go in front of whatever a login writes, over one that has locked the user and whose `object_id` is the
    /// user's; nil where no login is refused.
    ///
    /// `room.room` is false when the user has no room for the session; there is no row where there is no such user.
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

    /// CTEs over `person`, whose `object_id` is the user's.
    ///
    /// The one column of `previous` is `ended`, and it must be joined to the result: what only reads is not run
    /// otherwise.
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
    /// That a login is refused because of the sessions that there are.
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
