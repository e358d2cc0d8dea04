/// The text of one SQL statement and the values bound to it.
///
/// An interpolated value is bound; it never becomes part of the text:
/// ```swift
/// let statement: Statement = "SELECT name FROM \(identifier: schema).users WHERE object_id = \(id)"
/// ```
/// When another `Statement` is interpolated, its text and values are added, and its placeholders get new numbers.
package struct Statement: Sendable {
    /// The text, with placeholders `$1`, `$2`, ….
    package private(set) var sql: String
    /// The value of each placeholder, in order.
    package private(set) var binds: [Bind]
    /// The byte offset of each value's placeholder in the text.
    ///
    /// Empty if the statement was created from a text that already had placeholders.
    private var places: [Int] = []

    /// Creates a statement from a complete and trusted text and the values of its placeholders `$1`, `$2`, ….
    ///
    /// If the statement has values, it cannot be interpolated into another one. To run a statement as fast as possible,
    /// build the text once and pass the same `String` each time.
    package init(sql: String, binds: [Bind] = []) {
        self.sql = sql
        self.binds = binds
    }

    /// Appends another statement's text, after one space, and its values.
    package mutating func append(_ other: Statement) {
        if !sql.isEmpty { sql += " " }
        add(other)
    }

    private mutating func add(_ bind: Bind) {
        places.append(sql.utf8.count)
        binds.append(bind)
        sql += "$"
        sql += String(binds.count)
    }

    private mutating func add(_ other: Statement) {
        precondition(other.places.count == other.binds.count, "a statement that came complete is part of another")
        let text = other.sql
        var rest = text.startIndex
        for (number, place) in other.places.enumerated() {
            let placeholder = text.utf8.index(text.startIndex, offsetBy: place)
            sql += text[rest..<placeholder]
            add(other.binds[number])
            rest = text.utf8.index(placeholder, offsetBy: 1 + String(number + 1).utf8.count)
        }
        sql += text[rest...]
    }
}

extension Statement: ExpressibleByStringInterpolation {
    package init(stringLiteral value: String) {
        self.init(sql: value)
    }

    package init(stringInterpolation: StringInterpolation) {
        self = stringInterpolation.statement
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var statement = Statement(sql: "")

        package init(literalCapacity: Int, interpolationCount: Int) {
            statement.sql.reserveCapacity(literalCapacity + 4 * interpolationCount)
            statement.binds.reserveCapacity(interpolationCount)
            statement.places.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) {
            statement.sql += literal
        }

        /// Binds a value.
        package mutating func appendInterpolation<Value: PostgresValue>(_ value: Value) {
            statement.add(value.bind)
        }

        /// Binds a value, or a typed NULL.
        package mutating func appendInterpolation<Value: PostgresValue>(_ value: Value?) {
            statement.add(Bind(value))
        }

        /// Binds a value whose type is known only at run time.
        package mutating func appendInterpolation(bind: Bind) {
            statement.add(bind)
        }

        /// Appends another statement with its values.
        package mutating func appendInterpolation(_ statement: Statement) {
            self.statement.add(statement)
        }

        /// Appends an identifier (of a table, a column, …) in quotes.
        ///
        /// The quotes keep it from being read as SQL.
        package mutating func appendInterpolation(identifier: String) {
            statement.sql += Statement.quoted(identifier: identifier)
        }

        /// Appends text unchanged.
        ///
        /// Only for text that this program built itself and that holds no placeholder.
        package mutating func appendInterpolation(unsafeRaw text: String) {
            statement.sql += text
        }
    }

    /// Returns a name in double quotes, and doubles each double quote inside the name.
    package static func quoted(identifier: String) -> String { quoted(identifier, by: "\"") }

    /// Returns a text in single quotes, and doubles each single quote inside the text.
    ///
    /// This is safe only if the server's setting `standard_conforming_strings` is on.
    package static func quoted(literal: String) -> String { quoted(literal, by: "'") }

    private static func quoted(_ text: String, by quote: Unicode.Scalar) -> String {
        var quoted = String(quote)
        for scalar in text.unicodeScalars {
            if scalar == quote { quoted.unicodeScalars.append(scalar) }
            quoted.unicodeScalars.append(scalar)
        }
        quoted.unicodeScalars.append(quote)
        return quoted
    }
}

extension Statement: CustomStringConvertible, CustomDebugStringConvertible {
    /// The text with its placeholders, without values.
    package var description: String { sql }
    package var debugDescription: String { sql }
}
