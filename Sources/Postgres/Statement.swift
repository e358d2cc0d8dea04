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

    /// A statement whose text is complete and trusted, with the values of its placeholders `$1`, `$2`, ….
    ///
    /// Building the text once and passing the same `String` each time is the fastest way to run a statement.
    package init(sql: String, binds: [Bind] = []) {
        self.sql = sql
        self.binds = binds
    }

    /// Adds another statement's text, after one space, and its values.
    package mutating func append(_ other: Statement) {
        if !sql.isEmpty { sql += " " }
        sql += PlaceholderShift.shift(other.sql, by: binds.count)
        binds += other.binds
    }
}

extension Statement: ExpressibleByStringInterpolation {
    package init(stringLiteral value: String) {
        self.init(sql: value)
    }

    package init(stringInterpolation: StringInterpolation) {
        self.init(sql: stringInterpolation.sql, binds: stringInterpolation.binds)
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql = ""
        fileprivate var binds: [Bind] = []

        package init(literalCapacity: Int, interpolationCount: Int) {
            sql.reserveCapacity(literalCapacity + 4 * interpolationCount)
            binds.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) {
            sql += literal
        }

        private mutating func append(_ bind: Bind) {
            binds.append(bind)
            sql += "$"
            sql += String(binds.count)
        }

        /// Binds a value.
        package mutating func appendInterpolation<Value: PostgresValue>(_ value: Value) {
            append(value.bind)
        }

        /// Binds a value, or NULL of its type.
        package mutating func appendInterpolation<Value: PostgresValue>(_ value: Value?) {
            append(value?.bind ?? .null(Value.nullType))
        }

        /// Binds a value whose type is known at run time only.
        package mutating func appendInterpolation(bind: Bind) {
            append(bind)
        }

        /// Adds another statement with its values.
        package mutating func appendInterpolation(_ statement: Statement) {
            sql += PlaceholderShift.shift(statement.sql, by: binds.count)
            binds += statement.binds
        }

        /// Adds a name (of a table, a column, …) in quotes, so that it is nothing but a name.
        package mutating func appendInterpolation(identifier: String) {
            sql += Statement.quoted(identifier: identifier)
        }

        /// Adds text as it is.
        ///
        /// Only for text that this program made itself and that holds no placeholder.
        package mutating func appendInterpolation(unsafeRaw text: String) {
            sql += text
        }
    }

    /// A name in double quotes, with its own quotes doubled.
    package static func quoted(identifier: String) -> String {
        var quoted = "\""
        for scalar in identifier.unicodeScalars {
            if scalar == "\"" { quoted.unicodeScalars.append(scalar) }
            quoted.unicodeScalars.append(scalar)
        }
        quoted += "\""
        return quoted
    }
}

extension Statement: CustomStringConvertible, CustomDebugStringConvertible {
    /// The text with its placeholders; no values.
    package var description: String { sql }
    package var debugDescription: String { sql }
}
