import Domain
import Encodings
import Postgres

/// The values that clients wrote under a property's name before its declaration.
///
/// They are moved to the property's column.
///
/// They are converted like mapped values (the conversion table of docs/mapping.md): nothing is invented or rounded.
struct DynamicValues {
    static let advice = """
        Add the column by hand, move the values from users.dynamic in small steps, and then declare the property, \
        which uses the column.
        """

    private let property: Property
    private let table: String

    init(of property: Property, in users: UsersTable) {
        self.property = property
        table = users.users
    }

    private var key: String { literal(property.name) }

    /// The query that finds one user with a value under the property's name that is not yet in the column.
    var some: Statement { Statement(sql: "select 1 from \(table) where dynamic ? \(key) limit 1") }

    /// The statement that moves values into the property's column if they fit the property's type.
    var move: Statement {
        Statement(
            sql: """
                update \(table) set \(quoted(property.name.text)) = \(value), dynamic = dynamic - \(key)
                where dynamic ? \(key) and (jsonb_typeof(dynamic -> \(key)) = 'null' or \(fits))
                """
        )
    }

    /// The failure for values that cannot be moved to the property's column, because they do not fit its type.
    var misfit: Failure {
        Failure(
            .valueNotConvertible,
            """
            Clients have written values with the name \(property.name) that are not \(property.type.rawValue). Nothing \
            was changed. Declare it with another type, or correct these values in users.dynamic.
            """,
            details: ["property": .string(property.name.text)]
        )
    }

    private var json: String { "dynamic -> \(key)" }
    private var text: String { "dynamic ->> \(key)" }

    private var value: String {
        switch property.type {
        case .string, .text: text
        case .int: "(\(text))::numeric::bigint"
        case .double: "(\(text))::double precision"
        case .boolean: "(\(text))::boolean"
        case .date: "(\(text))::date"
        case .dateTime:
            """
            case jsonb_typeof(\(json)) when 'number' then to_timestamp((\(text))::bigint)
                else date_trunc('milliseconds', (\(text))::timestamptz) end
            """
        case .json: "nullif(\(json), 'null')"
        }
    }

    /// The SQL condition that a value other than null has the form of the property's type.
    ///
    /// The conversion then checks the range.
    private var fits: String {
        switch property.type {
        case .string, .text: isOne(of: "string", "number", "boolean")
        case .int: isOne(of: "string", "number") + matches("-?(0|[1-9][0-9]{0,18})([.]0+)?")
        case .double: isOne(of: "string", "number") + matches("-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)?")
        case .boolean: isOne(of: "string", "boolean") + matches("true|false")
        case .date: isOne(of: "string") + matches("[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{2}/[0-9]{2}/[0-9]{4}")
        case .dateTime:
            isOne(of: "string", "number")
                + " and case jsonb_typeof(\(json)) when 'number' then true\(matches("-?[0-9]{1,12}")) else true"
                + matches(
                    "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?([Zz]|[-+][0-9]{2}:?[0-9]{2})"
                ) + " end"
        case .json: "true"
        }
    }

    private func isOne(of kinds: String...) -> String {
        "jsonb_typeof(\(json)) in (\(kinds.map { "'\($0)'" }.joined(separator: ", ")))"
    }

    private func matches(_ pattern: String) -> String { " and \(text) ~ '^(\(pattern))$'" }
}

/// The record of the values that the mapping wrote last to one property.
///
/// The record is in `identities.written`, under the property's name. It exists if the mapping writes the property only
/// until the value is edited (`untilEdited`).
struct WrittenValues {
    static let advice = """
        Declare another property instead, let the mapping write that one, copy the values in small steps, and remove the old one.
        """
    static let adviceOnRemoval = """
        Take the property out of the mapping, remove its name from identities.written in small steps, and repeat.
        """

    private let table: String
    private let key: String

    init(of property: PropertyName, in users: UsersTable) {
        table = users.identities
        key = literal(property)
    }

    /// The query that finds one identity with a recorded value of the property.
    var some: Statement { Statement(sql: "select 1 from \(table) where written ? \(key) limit 1") }

    /// Returns the statement that moves the recorded values to another property's name.
    func move(to name: PropertyName) -> Statement {
        Statement(
            sql: """
                update \(table)
                set written = (written - \(key)) || jsonb_build_object(\(literal(name)), written -> \(key))
                where written ? \(key)
                """
        )
    }

    /// Returns the statement that converts the recorded values to another type.
    func widen(_ widening: Widening) -> Statement {
        let value = widening.value(of: "(written ->> \(key))::\(widening.from.sqlType)")
        return Statement(
            sql: """
                update \(table) set written = written || jsonb_build_object(\(key), to_jsonb(\(value)))
                where written ? \(key)
                """
        )
    }

    var remove: Statement {
        Statement(sql: "update \(table) set written = written - \(key) where written ? \(key)")
    }
}
