/// The text of one SQL statement and the values bound to it.
///
/// Interpolating a value binds it; it never becomes part of the text:
/// ```swift
/// let statement: Statement = "SELECT name FROM \(identifier: schema).users WHERE object_id = \(id)"
/// ```
/// A `Statement` interpolated into another brings its values along, and its placeholders are numbered on.
package struct Statement: Sendable {
    /// The text, with placeholders `$1`, `$2`, ….
    package private(set) var sql: String
    /// The value of each placeholder, in order.
    package private(set) var binds: [Bind]
    /// Where in the text the placeholder of each value begins, in bytes; none are known of a text that came complete.
    private var places: [Int] = []

    /// A statement whose text is complete and trusted, with the values of its placeholders `$1`, `$2`, …; one with
    /// values cannot become part of another.
    ///
    /// Building the text once and passing the same `String` each time is the fastest way to run a statement.
    package init(sql: String, binds: [Bind] = []) {
        self.sql = sql
        self.binds = binds
    }

    /// Adds another statement's text, after one space, and its values.
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

        /// Binds a value, or NULL of its type.
        package mutating func appendInterpolation<Value: PostgresValue>(_ value: Value?) {
            statement.add(value?.bind ?? .null(Value.nullType))
        }

        /// Binds a value whose type is known at run time only.
        package mutating func appendInterpolation(bind: Bind) {
            statement.add(bind)
        }

        /// Adds another statement with its values.
        package mutating func appendInterpolation(_ statement: Statement) {
            self.statement.add(statement)
        }

        /// Adds a name (of a table, a column, …) in quotes, so that it is nothing but a name.
        package mutating func appendInterpolation(identifier: String) {
            statement.sql += Statement.quoted(identifier: identifier)
        }

        /// Adds text as it is.
        ///
        /// Only for text that this program made itself and that holds no placeholder.
        package mutating func appendInterpolation(unsafeRaw text: String) {
            statement.sql += text
        }
    }

    /// A name in double quotes, with its own quotes doubled.
    package static func quoted(identifier: String) -> String { quoted(identifier, by: "\"") }

    /// A text in single quotes, with its own quotes doubled; `standard_conforming_strings` is taken to be on.
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
    /// The text with its placeholders; no values.
    package var description: String { sql }
    package var debugDescription: String { sql }
}
