import Postgres
import Vocabulary

/// What the mapping wrote last of one property that it writes until it is edited; in `identities.written`, under its
/// name.
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

    /// Finds one identity that has such a value.
    var some: Statement { Statement(sql: "select 1 from \(table) where written ? \(key) limit 1") }

    /// Brings the values under another name.
    func move(to name: PropertyName) -> Statement {
        Statement(
            sql: """
                update \(table)
                set written = (written - \(key)) || jsonb_build_object(\(literal(name)), written -> \(key))
                where written ? \(key)
                """
        )
    }

    /// Brings the values into the form of another type.
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
