import Postgres
import Vocabulary

/// How a statement writes the properties of a mapping plan: the sync rules of docs/mapping.md#when-values-are-written
/// as SQL.
///
/// The statement calls the user's row `u`, the identity's `i`, and begins with a CTE `before` that has the user locked,
/// with the columns of `current`. A value that is NULL means that the profile lacks it; whether that empties the
/// property is said by the names in `cleared`.
struct PropertyWrites<Input> {
    typealias Target = SignInStatement.Target

    private let targets: [Target]
    private let parameters: [Parameter<Input>]
    private let dynamic: SQL<Input>
    private let cleared: Parameter<Input>
    private let written: SQL<Input>
    private let passwords: SQL<Input>
    private let identityProperty: PropertyName

    /// Prepares the parts.
    ///
    /// - Parameters:
    ///   - targets: What the plan writes, none twice.
    ///   - values: Finds the values, one for each target, in what the statement is run with.
    ///   - dynamic: The jsonb object of undeclared properties.
    ///   - cleared: The names of properties that are emptied, declared or not, as `text[]`; never NULL.
    ///   - written: What the identity has in `written`, as SQL in `before`.
    ///   - application: Whose users they are.
    init(
        targets: [Target],
        values: @escaping @Sendable (Input) -> [PropertyValue?],
        dynamic: SQL<Input>,
        cleared: Parameter<Input>,
        written: SQL<Input>,
        application: Application
    ) {
        self.targets = targets
        parameters = targets.enumerated().map { index, target in
            let null = Bind.null(target.type.nullType)
            // With the dot no name of a property is that of another parameter, like `token`.
            return Parameter("property.\(target.name)", as: target.type.sqlType) { values($0)[index]?.bind ?? null }
        }
        passwords = "\(identifier: application.schema).passwords"
        identityProperty = application.settings.identityProperty
        self.dynamic = dynamic
        self.cleared = cleared
        self.written = written
    }

    /// The columns that an insert writes.
    var columns: [SQL<Input>] { targets.map { "\(identifier: $0.name.text)" } }

    /// The values that an insert writes.
    var values: [SQL<Input>] { parameters.map { "\($0)" } }

    /// What an update sets: the properties by their rules, the undeclared ones, and `updated` where anything has become
    /// another.
    var assignments: [SQL<Input>] {
        let columns = updated.map { column(targets[$0]) } + ["dynamic"]
        let values = updated.indices.map { "before.n\(unsafeRaw: String($0))" as SQL<Input> } + ["before.dynamic"]
        let sets = zip(columns, values).map { "\($0) = \($1)" as SQL<Input> }
        let former = columns.map { "u.\($0)" as SQL<Input> }
        return sets + [
            """
            updated = case
                when (\(values.joined(separator: ", ")))
                    is distinct from (\(former.joined(separator: ", ")))
                    then now()
                else u.updated
            end
            """
        ]
    }

    /// Columns of `before`: the values that a repetition gives the properties, as `n0`, `n1`, … and `dynamic`, and for
    /// those that are written until they are edited the locked user's values, as `t0`, `t1`, …, and the record of them,
    /// as `written`.
    ///
    /// Each value is made here, once, since the update needs it several times, and a statement is kept by every
    /// connection.
    var current: [SQL<Input>] {
        updated.enumerated().map { "\(newValue($0.element)) as n\(unsafeRaw: String($0.offset))" }
            + ["(u.dynamic - \(cleared)) || \(dynamic) as dynamic"]
            + (tracked.isEmpty ? [] : ["\(written) as written"])
            + tracked.enumerated().map { "u.\(column(targets[$0.element])) as t\(unsafeRaw: String($0.offset))" }
    }

    /// What the first login records as written.
    var firstWritten: SQL<Input> {
        let members = tracked.map { member(targets[$0], "to_jsonb(\(parameters[$0]))") }
        return (["'{}'::jsonb"] + members).joined(separator: "\n|| ")
    }

    /// What a repetition records as written: the new value where the rule lets it be written, the old record elsewhere;
    /// nil when nothing is recorded.
    ///
    /// Both are decided by the record of `before`. The identity may have a newer one: another login wrote while this
    /// one waited for the user, and had this one recorded what it did not write, the property would count as edited for
    /// ever.
    var nextWritten: SQL<Input>? {
        guard !tracked.isEmpty else { return nil }
        let mayWrite = tracked.enumerated().map { offset, index in
            """
            before.t\(unsafeRaw: String(offset)) is not distinct from \(lastWritten(targets[index], in: "before.written"))
            """ as SQL<Input>
        }
        let members = zip(tracked, mayWrite).map { index, mayWrite in
            member(targets[index], "case when \(mayWrite) then to_jsonb(\(parameters[index])) end")
        }
        // A property that was emptied is as one that was never written: the mapping fills it again.
        let emptied = zip(tracked, mayWrite).filter { targets[$0.0].mayBeCleared }.map { index, mayWrite in
            "case when \(isCleared(targets[index])) and \(mayWrite) then \(key(targets[index])) end" as SQL<Input>
        }
        let rest: SQL<Input> =
            emptied.isEmpty
            ? "i.written"
            : """
            (i.written - array[
                \(emptied.joined(separator: ",\n"))
            ]::text[])
            """
        return """
            coalesce((
                select
                    \(([rest] + members).joined(separator: "\n|| "))
                from before
            ), i.written)
            """
    }

    /// Those that a repetition writes.
    private var updated: [Int] { targets.indices.filter { targets[$0].sync != .firstLogin } }

    private var tracked: [Int] { targets.indices.filter { targets[$0].sync == .untilEdited } }

    private func column(_ target: Target) -> SQL<Input> { "\(identifier: target.name.text)" }

    private func key(_ target: Target) -> SQL<Input> { "\(literal: target.name.text)" }

    /// The value that a repetition gives a property; NULL where it is emptied, by rules that write over what is there.
    ///
    /// The address by which somebody logs in, or that they have confirmed, is theirs to change, not a provider's
    /// (decision D6, T-30): mails that guard the account go there. So is what they log in by where that is another
    /// property.
    private func newValue(_ index: Int) -> SQL<Input> {
        guard targets[index].name == .email else {
            guard targets[index].name == identityProperty else { return ruledValue(index) }
            return """
                case
                    when (select true from \(passwords) p where p.object_id = u.object_id)
                        then u.\(column(targets[index]))
                    else \(ruledValue(index))
                end
                """
        }
        return """
            case
                when u.email_verified or (select true from \(passwords) p where p.object_id = u.object_id)
                    then u.email
                else \(ruledValue(index))
            end
            """
    }

    /// The value by the rule of the entry.
    private func ruledValue(_ index: Int) -> SQL<Input> {
        let (target, value) = (targets[index], parameters[index])
        let column: SQL<Input> = "u.\(column(target))"
        let given: SQL<Input> = "coalesce(\(value), \(column))"
        let kept: SQL<Input> =
            target.mayBeCleared ? "case when \(isCleared(target)) then null else \(given) end" : given
        switch target.sync {
        case .always, .firstLogin:
            return kept
        case .ifEmpty:
            let current: SQL<Input> = target.type.isText ? "nullif(\(column), '')" : column
            return "coalesce(\(current), \(value), \(column))"
        case .untilEdited:
            return """
                case
                    when \(column) is not distinct from \(lastWritten(target, in: written))
                        then \(kept)
                    else \(column)
                end
                """
        }
    }

    private func isCleared(_ target: Target) -> SQL<Input> { "\(key(target)) = any (\(cleared))" }

    /// The value that the mapping wrote last, as a value of the column's type.
    private func lastWritten(_ target: Target, in document: SQL<Input>) -> SQL<Input> {
        guard target.type != .json else { return "(\(document) -> \(key(target)))" }
        return "(\(document) ->> \(key(target)))::\(unsafeRaw: target.type.sqlType)"
    }

    /// An object of one member, or an empty one when the value is NULL.
    private func member(_ target: Target, _ value: SQL<Input>) -> SQL<Input> {
        "coalesce(federation.json_member(\(key(target)), \(value)), '{}')"
    }
}
