import Identity

/// How a statement writes the properties of a mapping plan: the sync rules of design.md §8 as SQL.
///
/// The statement calls the user's row `u`, the identity's `i`, and begins with a CTE `before` that has the user locked, with the
/// column `written` of the identity and the columns of `current`. A parameter that is NULL means that the profile lacks the value.
struct PropertyWrites {
    typealias Target = SignInStatement.Target

    private let targets: [Target]
    private let firstParameter: Int
    private let dynamic: String
    private let passwords: String

    /// Prepares the parts.
    ///
    /// - Parameters:
    ///   - targets: What the plan writes, none twice.
    ///   - firstParameter: The number of the placeholder of the first target's value; the others follow.
    ///   - dynamic: The jsonb object of undeclared properties, as SQL.
    ///   - schema: The application's schema.
    init(targets: [Target], firstParameter: Int, dynamic: String, schema: String) {
        passwords = quoted(schema) + ".passwords"
        self.targets = targets
        self.firstParameter = firstParameter
        self.dynamic = dynamic
    }

    /// The columns that an insert writes, each behind a comma.
    var columns: String { targets.map { ", " + quoted($0.name.text) }.joined() }

    /// The values that an insert writes, each behind a comma.
    var values: String { targets.indices.map { ", " + value($0) }.joined() }

    /// What an update sets: the properties by their rules, the undeclared ones, and `updated` where anything has become another.
    var assignments: String {
        let updated = targets.indices.filter { targets[$0].sync != .firstLogin }
        let columns = updated.map { quoted(targets[$0].name.text) }
        let values = updated.map(newValue)
        let email = updated.first { targets[$0].name == .email }
        let verified =
            email.map { "email_verified = u.email_verified and u.email is not distinct from \(newValue($0)), " } ?? ""
        return zip(columns, values).map { "\($0) = \($1), " }.joined() + verified
            + "dynamic = u.dynamic || \(dynamic), updated = case when "
            + "(u.dynamic || \(dynamic)\(values.map { ", " + $0 }.joined())) is distinct from "
            + "(u.dynamic\(columns.map { ", u." + $0 }.joined())) then now() else u.updated end"
    }

    /// The locked user's values of the properties that are written until they are edited, as columns `t0`, `t1`, … of `before`,
    /// each behind a comma.
    var current: String {
        tracked.enumerated().map { ", u.\(quoted(targets[$0.element].name.text)) as t\($0.offset)" }.joined()
    }

    /// What the first login records as written.
    var firstWritten: String {
        "'{}'::jsonb" + tracked.map { " || " + member(targets[$0], "to_jsonb(\(value($0)))") }.joined()
    }

    /// What a repetition records as written: the new value where the rule lets it be written, the old record elsewhere; nil when
    /// nothing is recorded.
    var nextWritten: String? {
        guard !tracked.isEmpty else { return nil }
        let members = tracked.enumerated().map { offset, index in
            let mayWrite = "before.t\(offset) is not distinct from \(lastWritten(targets[index], in: "i.written"))"
            return " || " + member(targets[index], "case when \(mayWrite) then to_jsonb(\(value(index))) end")
        }
        return "coalesce((select i.written\(members.joined()) from before), i.written)"
    }

    private var tracked: [Int] { targets.indices.filter { targets[$0].sync == .untilEdited } }

    private func value(_ index: Int) -> String { "$\(firstParameter + index)::\(targets[index].type.sqlType)" }

    /// The value that a repetition gives a property.
    ///
    /// The address by which somebody logs in and gets mails is theirs to change, not a provider's (decision D6, security.md V-30).
    private func newValue(_ index: Int) -> String {
        guard targets[index].name == .email else { return ruledValue(index) }
        return "case when exists (select from \(passwords) p where p.object_id = u.object_id) then u.email "
            + "else \(ruledValue(index)) end"
    }

    /// The value by the rule of the entry.
    private func ruledValue(_ index: Int) -> String {
        let (target, value) = (targets[index], value(index))
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
    private func lastWritten(_ target: Target, in document: String) -> String {
        let key = literal(target.name)
        guard target.type != .json else { return "(\(document) -> \(key))" }
        return "(\(document) ->> \(key))::\(target.type.sqlType)"
    }

    /// An object of one member, or an empty one when the value is NULL.
    private func member(_ target: Target, _ value: String) -> String {
        "coalesce(federation.json_member(\(literal(target.name)), \(value)), '{}')"
    }
}
