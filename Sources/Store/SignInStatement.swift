package import Identity
import Postgres

/// The sign-in write of one application and one mapping plan as SQL: identity, user and session in one statement, one round trip.
///
/// How it reads, CTE by CTE:
/// - `before`: the identity as it was when the statement began, for the values that the mapping wrote last, and the user as it
///   is now, locked: what follows decides by these values alone, so a user who is disabled or edited meanwhile is seen by all parts
///   or by none. `identity` waits for the lock: whoever deletes a user locks it first and its identities after that, and who locks
///   in another order ends in a deadlock;
/// - `identity`: inserts the identity or touches it. The row that wins the unique key decides who the person is: a fresh
///   `object_id` comes back only from the insert that won. An identity of a disabled user is not touched and does not come back;
/// - `created`: the user, only when the identity was inserted; `changed`: else the update by the sync rules;
/// - `session`: only for a user of the two above;
/// - `previous`: ends the session that the client had, or, where the last login wins, every other session of the user. The latter
///   happens in a function, whose statements see what has been committed since this one began: of two simultaneous logins the
///   one that waited for the lock on the user ends the other's session, too.
///
/// A statement sees the snapshot of its own start. A login that lost the race for a new person therefore finds the winner's
/// identity but not yet the winner's user, and `person` is empty although nobody is disabled: `SignInWrite` runs it once more.
package struct SignInStatement: Sendable {
    /// A property that the plan writes, with the type of its column.
    package struct Target: Sendable {
        package let name: PropertyName
        package let type: PropertyType
        package let sync: SyncMode

        package init(name: PropertyName, type: PropertyType, sync: SyncMode) {
            self.name = name
            self.type = type
            self.sync = sync
        }
    }

    package let targets: [Target]
    let application: Application
    let columns: UserColumns
    /// The text with its placeholders.
    package let sql: String

    /// Parameters in front of those of the targets; `SignInWrite` binds them.
    static let fixedParameters = 9
    /// Positions among the parameters, counted from 0, of what differs from login to login of the same person.
    package static let freshIDParameter = 2
    package static let tokenHashParameter = 3

    /// Generates the statement.
    ///
    /// - Parameters:
    ///   - application: gives the schema and the columns that come back.
    ///   - targets: what the mapping plan writes, each a declared property, none twice.
    package init(application: Application, targets: [Target]) {
        self.targets = targets
        self.application = application
        columns = UserColumns(application: application)
        sql = Self.generate(application: application, targets: targets, columns: columns)
    }

    private static func generate(application: Application, targets: [Target], columns: UserColumns) -> String {
        let schema = quoted(application.schema)
        let parameter = Dictionary(
            uniqueKeysWithValues: targets.enumerated().map { offset, target in
                (target.name, "$\(fixedParameters + 1 + offset)::\(target.type.sqlType)")
            }
        )
        let tracked = targets.filter { $0.sync == .untilEdited }
        let updated = targets.filter { $0.sync != .firstLogin }
        func value(_ target: Target) -> String { parameter[target.name] ?? "null" }

        let assignments = updated.map { ($0, newValue(of: $0, value: value($0))) }
        let setList =
            assignments.map { "\(quoted($0.0.name.text)) = \($0.1), " }.joined()
            + "dynamic = u.dynamic || $8, last_login = now(), updated = case when "
            + "(u.dynamic || $8\(assignments.map { ", " + $0.1 }.joined())) is distinct from "
            + "(u.dynamic\(updated.map { ", u." + quoted($0.name.text) }.joined())) then now() else u.updated end"

        let previous =
            application.settings.multipleLogins
            ? """
            delete from \(schema).sessions s using person
            where s.token_hash = $9 and s.object_id = person.object_id
            returning true as ended
            """
            : """
            select federation.end_other_sessions(\(literal(application.schema)), object_id, $4) is null as ended
            from person
            """

        return """
            with before as (
                select i.written, u.user_status as status\(current(of: tracked))
                from \(schema).identities i join \(schema).users u using (object_id)
                where i.provider = 'facebook' and i.provider_app = $1 and i.subject = $2
                for no key update of u
            ), identity as (
                insert into \(schema).identities as i
                    (provider, provider_app, subject, object_id, granted_scopes, data_access_expires, written)
                select 'facebook', $1, $2, $3, $6, $7, \(firstWritten(tracked, value: value))
                from (select) one left join before on true
                where before.status is distinct from 'DISABLED'
                on conflict (provider, provider_app, subject) do update set
                    last_used = now(), granted_scopes = excluded.granted_scopes,
                    data_access_expires = excluded.data_access_expires\(
                        tracked.isEmpty ? "" : ", written = " + nextWritten(tracked, value: value))
                returning i.object_id, i.object_id = $3 as is_new
            ), created as (
                insert into \(schema).users as u (object_id, social_account, last_login, dynamic\(
                    targets.map { ", " + quoted($0.name.text) }.joined()))
                select object_id, 'FACEBOOK', now(), $8\(targets.map { ", " + value($0) }.joined())
                from identity where is_new
                returning \(columns.list(of: "u"))
            ), changed as (
                update \(schema).users u set \(setList)
                from identity, before
                where u.object_id = identity.object_id and not identity.is_new and u.user_status <> 'DISABLED'
                returning \(columns.list(of: "u"))
            ), person as (
                select true as is_new, * from created union all select false, * from changed
            ), session as (
                insert into \(schema).sessions (token_hash, object_id, expires)
                select $4, object_id, now() + make_interval(secs => $5) from person
            ), previous as (
                \(previous)
            )
            select case when person.object_id is null then exists (
                    select from \(schema).identities i join \(schema).users u using (object_id)
                    where i.provider = 'facebook' and i.provider_app = $1 and i.subject = $2
                        and u.user_status = 'DISABLED'
                ) end as is_disabled, person.*, previous.ended
            from (select) one left join person on true left join previous on true
            """
    }

    /// The value that a repeated login gives a property: the sync rules of design.md §8.
    ///
    /// A NULL parameter means that the profile lacks it.
    private static func newValue(of target: Target, value: String) -> String {
        let column = "u." + quoted(target.name.text)
        switch target.sync {
        case .always, .firstLogin:
            return "coalesce(\(value), \(column))"
        case .ifEmpty:
            let current = target.type.isText ? "nullif(\(column), '')" : column
            return "coalesce(\(current), \(value), \(column))"
        case .untilEdited:
            return "case when \(column) is not distinct from \(lastWritten(target, in: "before.written")) "
                + "then coalesce(\(value), \(column)) else \(column) end"
        }
    }

    /// The value that the mapping wrote last, as a value of the column's type.
    private static func lastWritten(_ target: Target, in document: String) -> String {
        let key = literal(target.name)
        guard target.type != .json else { return "(\(document) -> \(key))" }
        return "(\(document) ->> \(key))::\(target.type.sqlType)"
    }

    /// What the first login records as written.
    private static func firstWritten(_ tracked: [Target], value: (Target) -> String) -> String {
        "'{}'::jsonb" + tracked.map { " || " + member($0, "to_jsonb(\(value($0)))") }.joined()
    }

    /// The locked user's values of the tracked properties, as columns `t0`, `t1`, … of `before`.
    private static func current(of tracked: [Target]) -> String {
        tracked.enumerated().map { ", u.\(quoted($0.element.name.text)) as t\($0.offset)" }.joined()
    }

    /// What a repeated login records as written: the new value where the rule lets it be written, the old record elsewhere.
    private static func nextWritten(_ tracked: [Target], value: (Target) -> String) -> String {
        let members = tracked.enumerated().map { offset, target in
            let mayWrite = "before.t\(offset) is not distinct from \(lastWritten(target, in: "i.written"))"
            return " || " + member(target, "case when \(mayWrite) then to_jsonb(\(value(target))) end")
        }
        return "coalesce((select i.written\(members.joined()) from before), i.written)"
    }

    /// An object of one member, or an empty one when the value is NULL.
    private static func member(_ target: Target, _ value: String) -> String {
        "coalesce(federation.json_member(\(literal(target.name)), \(value)), '{}')"
    }
}

/// Quotes an identifier, which comes from declared names only.
func quoted(_ identifier: String) -> String { Statement.quoted(identifier: identifier) }

/// Quotes a text of the configuration as a text literal.
private func literal(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
}

/// Quotes a declared name as a text literal: it holds letters, digits and underscores only.
func literal(_ name: PropertyName) -> String { "'" + name.text + "'" }
