import Domain
import Postgres

/// Generates the SQL that writes the properties of a mapping plan by their sync rules.
///
/// A sync rule says when a login overwrites a property (docs/mapping.md#when-values-are-written). In the generated SQL,
/// `u` is the user's row and `i` the identity's. The statement begins with a CTE `before`, which locks the user and has
/// the columns of `current`. A NULL value means that the provider's profile lacks the field. `cleared` names the
/// properties that are emptied because the profile lacks their fields.
struct PropertyWrites<Input> {
    typealias Target = LoginStatement.Target

    private let targets: [Target]
    private let parameters: [Parameter<Input>]
    private let dynamic: SQL<Input>
    private let cleared: Parameter<Input>
    private let written: SQL<Input>
    private let passwords: SQL<Input>
    private let identityProperty: PropertyName

    /// Prepares the SQL for the properties that a mapping plan writes.
    ///
    /// - Parameters:
    ///   - targets: The properties that the plan writes, without duplicates.
    ///   - values: Returns the values, one for each target, from the statement's input.
    ///   - dynamic: The jsonb object of undeclared properties.
    ///   - cleared: The names of emptied properties, declared or not, as `text[]`; never NULL.
    ///   - written: The identity's `written` column, as SQL within `before`.
    ///   - application: The application of the users.
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
            // The dot keeps names of properties apart from other parameters' names, like `token`.
            return Parameter("property.\(target.name)", as: target.type.sqlType) { values($0)[index]?.bind ?? null }
        }
        passwords = "\(identifier: application.schema).passwords"
        identityProperty = application.settings.identityProperty
        self.dynamic = dynamic
        self.cleared = cleared
        self.written = written
    }

    /// The columns of the mapped properties in the insert of a new user.
    var columns: [SQL<Input>] { targets.map { "\(identifier: $0.name.text)" } }

    /// The values of the mapped properties in the insert of a new user, in the order of `columns`.
    var values: [SQL<Input>] { parameters.map { "\($0)" } }

    /// The SQL assignments of an update: properties by their sync rules, `dynamic`, and `updated` if any value changes.
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

    /// The select list of the CTE `before`.
    ///
    /// `n0`, `n1`, … and `dynamic` are the values that an update gives to the properties. For properties with the sync
    /// rule `untilEdited`, `t0`, `t1`, … are the values in the locked row of the user, and `written` is the record of
    /// the values that the mapping wrote last.
    ///
    /// The update needs each value several times. If it repeated the expressions of the values, the statement's text
    /// would be longer, and every connection keeps that text.
    var current: [SQL<Input>] {
        updated.enumerated().map { "\(newValue($0.element)) as n\(unsafeRaw: String($0.offset))" }
            + ["(u.dynamic - \(cleared)) || \(dynamic) as dynamic"]
            + (tracked.isEmpty ? [] : ["\(written) as written"])
            + tracked.enumerated().map { "u.\(column(targets[$0.element])) as t\(unsafeRaw: String($0.offset))" }
    }

    /// The SQL of the JSON object that records, at the first login of an identity, which values the mapping wrote.
    var firstWritten: SQL<Input> {
        let members = tracked.map { member(targets[$0], "to_jsonb(\(parameters[$0]))") }
        return (["'{}'::jsonb"] + members).joined(separator: "\n|| ")
    }

    /// The SQL of the JSON object that records, at an update, which values the mapping wrote; nil if nothing is
    /// recorded.
    ///
    /// If the sync rule of a property lets this login write the property, the object has the new value; otherwise it
    /// keeps the value recorded before. The record in `before` decides which properties this login may write, although
    /// the identity may have a newer record: another login may have written while this one waited for the lock on the
    /// user's row. If this login recorded a value that it did not write, the property would count as edited for ever.
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
        // An emptied property is treated like one that was never written: the mapping fills it again.
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

    /// The indices, in `targets`, of the properties that an update writes.
    private var updated: [Int] { targets.indices.filter { targets[$0].sync != .firstLogin } }

    private var tracked: [Int] { targets.indices.filter { targets[$0].sync == .untilEdited } }

    private func column(_ target: Target) -> SQL<Input> { "\(identifier: target.name.text)" }

    private func key(_ target: Target) -> SQL<Input> { "\(literal: target.name.text)" }

    /// Returns the SQL of the value that an update gives to a property; NULL if the update empties the property.
    ///
    /// A provider does not change the e-mail address of a user who has a password or has confirmed the address
    /// (decision D6, T-30): mails that protect the account go to this address. If another property holds the login
    /// names, a provider does not change that property of a user who has a password.
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

    /// Returns the SQL of the value that an update gives to a property by the property's sync rule.
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

    /// Returns the SQL of the value that the mapping wrote last to a property, cast to the column's type.
    private func lastWritten(_ target: Target, in document: SQL<Input>) -> SQL<Input> {
        guard target.type != .json else { return "(\(document) -> \(key(target)))" }
        return "(\(document) ->> \(key(target)))::\(unsafeRaw: target.type.sqlType)"
    }

    /// Returns the SQL of a JSON object with the value as its only member, or of an empty object if the value is NULL.
    private func member(_ target: Target, _ value: SQL<Input>) -> SQL<Input> {
        "coalesce(federation.json_member(\(key(target)), \(value)), '{}')"
    }
}
