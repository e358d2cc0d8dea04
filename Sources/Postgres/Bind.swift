package import FoundationEssentials

/// A typed value that is sent separately from the text of a statement.
///
/// NULL has a type, too. From the types, the server determines which functions and operators it uses.
package enum Bind: Sendable, Hashable {
    /// SQL `text`.
    case text(String)
    /// SQL `bigint`.
    case int64(Int64)
    /// SQL `double precision`.
    case double(Double)
    /// SQL `boolean`.
    case bool(Bool)
    /// SQL `uuid`.
    case uuid(UUID)
    /// SQL `bytea`.
    case bytes([UInt8])
    /// SQL `timestamptz`.
    case timestamp(Timestamp)
    /// SQL `date`.
    case day(Day)
    /// SQL `jsonb`.
    case json(JSONText)
    /// SQL `text[]`.
    case texts([String])
    /// A typed NULL.
    case null(NullType)

    /// The SQL types that a bound NULL can have.
    package enum NullType: Sendable, Hashable, CaseIterable {
        case text, int64, double, bool, uuid, bytes, timestamp, day, json, texts
    }
}

extension Bind.NullType {
    var sqlType: SQLType {
        switch self {
        case .text: .text
        case .int64: .int8
        case .double: .float8
        case .bool: .bool
        case .uuid: .uuid
        case .bytes: .bytea
        case .timestamp: .timestamptz
        case .day: .date
        case .json: .jsonb
        case .texts: .textArray
        }
    }
}

extension Bind {
    var sqlType: SQLType {
        switch self {
        case .text: .text
        case .int64: .int8
        case .double: .float8
        case .bool: .bool
        case .uuid: .uuid
        case .bytes: .bytea
        case .timestamp: .timestamptz
        case .day: .date
        case .json: .jsonb
        case .texts: .textArray
        case .null(let type): type.sqlType
        }
    }
}

extension Bind: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Shows only the SQL type: a description must never contain the value.
    package var description: String { "\(sqlType)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
