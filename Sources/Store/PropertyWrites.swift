import Identity

/// How a statement writes the properties of a mapping plan: the sync rules of docs/mapping.md#when-values-are-written
/// as SQL.
///
/// The statement calls the user's row `u`, the identity's `i`, and begins with a CTE `before` that has the user locked, with the columns of
/// `current`. A parameter that is NULL means that the profile lacks the value; whether that empties the property is said by the names in
/// `cleared`.
struct PropertyWrites {
    typealias Target = SignInStatement.Target

    private let targets: [Target]
    private let firstParameter: Int
    private let dynamic: String
    private let cleared: String
    private let written: String
    private let passwords: String

    /// Prepares the parts.
    ///
    /// - Parameters:
    ///   - targets: What the plan writes, none twice.
    ///   - firstParameter: The number of the placeholder of the first target's value; the others follow.
    ///   - dynamic: The jsonb object of undeclared properties, as SQL.
    ///   - cleared: The placeholder of the names of properties that are emptied, declared or not; its value is never NULL.
    ///   - written: What the identity has in `written`, as SQL in `before`.
    ///   - schema: The application's schema.
    init(targets: [Target], firstParameter: Int, dynamic: String, cleared: String, written: String, schema: String) {
        passwords = quoted(schema) + ".passwords"
        self.targets = targets
        self.firstParameter = firstParameter
        self.dynamic = dynamic
        self.cleared = cleared + "::text[]"
        self.written = written
    }

    /// The columns that an insert writes, each behind a comma.
    var columns: String { targets.map { ", " + quoted($0.name.text) }.joined() }

    /// The values that an insert writes, each behind a comma.
    var values: String { targets.indices.map { ", " + value($0) }.joined() }

    /// What an update sets: the properties by their rules, the undeclared ones, and `updated` where anything has become another.
    var assignments: String {
        let columns = updated.map { "u." + quoted(targets[$0].name.text) } + ["u.dynamic"]
        let values = updated.indices.map { "before.n\($0)" } + ["before.dynamic"]
        let sets = updated.enumerated().map { "\(quoted(targets[$0.element].name.text)) = before.n\($0.offset), " }
        return sets.joined() + "dynamic = before.dynamic, updated = case when "
            + "(\(values.joined(separator: ", "))) is distinct from (\(columns.joined(separator: ", "))) "
            + "then now() else u.updated end"
    }

    /// Columns of `before`, each behind a comma: the values that a repetition gives the properties, as `n0`, `n1`, … and `dynamic`, and
    /// for those that are written until they are edited the locked user's values, as `t0`, `t1`, …, and the record of them, as `written`.
    ///
    /// Each value is made here, once, since the update needs it several times, and a statement is kept by every connection.
    var current: String {
        updated.enumerated().map { ", \(newValue($0.element)) as n\($0.offset)" }.joined()
            + ", (u.dynamic - \(cleared)) || \(dynamic) as dynamic"
            + (tracked.isEmpty ? "" : ", \(written) as written")
            + tracked.enumerated().map { ", u.\(quoted(targets[$0.element].name.text)) as t\($0.offset)" }.joined()
    }

    /// What the first login records as written.
    var firstWritten: String {
        "'{}'::jsonb" + tracked.map { " || " + member(targets[$0], "to_jsonb(\(value($0)))") }.joined()
    }

    /// What a repetition records as written: the new value where the rule lets it be written, the old record elsewhere; nil when
    /// nothing is recorded.
    ///
    /// Both are decided by the record of `before`. The identity may have a newer one: another login wrote while this one waited for the
    /// user, and had this one recorded what it did not write, the property would count as edited for ever.
    var nextWritten: String? {
        guard !tracked.isEmpty else { return nil }
        let mayWrite = tracked.enumerated().map { offset, index in
            "before.t\(offset) is not distinct from \(lastWritten(targets[index], in: "before.written"))"
        }
        let members = zip(tracked, mayWrite).map { index, mayWrite in
            " || " + member(targets[index], "case when \(mayWrite) then to_jsonb(\(value(index))) end")
        }
        // A property that was emptied is as one that was never written: the mapping fills it again.
        let emptied = zip(tracked, mayWrite).filter { targets[$0.0].mayBeCleared }.map { index, mayWrite in
            "case when \(isCleared(targets[index])) and \(mayWrite) then \(literal(targets[index].name)) end"
        }
        let rest = emptied.isEmpty ? "i.written" : "(i.written - array[\(emptied.joined(separator: ", "))]::text[])"
        return "coalesce((select \(rest)\(members.joined()) from before), i.written)"
    }

    /// Those that a repetition writes.
    private var updated: [Int] { targets.indices.filter { targets[$0].sync != .firstLogin } }

    private var tracked: [Int] { targets.indices.filter { targets[$0].sync == .untilEdited } }

    private func value(_ index: Int) -> String { "$\(firstParameter + index)::\(targets[index].type.sqlType)" }

    /// The value that a repetition gives a property; NULL where it is emptied, by rules that write over what is there.
    ///
    /// The address by which somebody logs in, or that they have confirmed, is theirs to change, not a provider's
    /// (decision D6, T-30): mails that guard the account go there.
    private func newValue(_ index: Int) -> String {
        guard targets[index].name == .email else { return ruledValue(index) }
        return "case when u.email_verified or (select true from \(passwords) p where p.object_id = u.object_id) "
            + "then u.email else \(ruledValue(index)) end"
    }

    /// The value by the rule of the entry.
    private func ruledValue(_ index: Int) -> String {
        let (target, value) = (targets[index], value(index))
        let column = "u." + quoted(target.name.text)
        let given = "coalesce(\(value), \(column))"
        let kept = target.mayBeCleared ? "case when \(isCleared(target)) then null else \(given) end" : given
        switch target.sync {
        case .always, .firstLogin:
            return kept
        case .ifEmpty:
            let current = target.type.isText ? "nullif(\(column), '')" : column
            return "coalesce(\(current), \(value), \(column))"
        case .untilEdited:
            return "case when \(column) is not distinct from \(lastWritten(target, in: written)) "
                + "then \(kept) else \(column) end"
        }
    }

    private func isCleared(_ target: Target) -> String { "\(literal(target.name)) = any (\(cleared))" }

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
