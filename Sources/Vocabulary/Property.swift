/// What a property of a user holds; the raw value is the word of documents and replies.
package enum PropertyType: String, Sendable, CaseIterable {
    /// Text. `STRING` and `TEXT` are stored alike; both words exist because client SDKs know both.
    case string = "STRING"
    case text = "TEXT"
    /// 64-bit signed integer.
    case int = "INT"
    /// IEEE 754 double.
    case double = "DOUBLE"
    case boolean = "BOOLEAN"
    /// A day of the Gregorian calendar without time zone.
    case date = "DATE"
    /// A moment, kept to the millisecond.
    case dateTime = "DATETIME"
    /// Any JSON value.
    case json = "JSON"

    /// Whether a property of this type may become one of another type that holds every value it has.
    ///
    /// STRING and TEXT are alike and hold everything but JSON; JSON holds everything; a DOUBLE holds integers up to
    /// ±2⁵³, which is checked where the values are; a DATETIME holds a DATE as its midnight in UTC.
    package func widens(to wider: PropertyType) -> Bool {
        switch (self, wider) {
        case (.json, _): false
        case (_, .json): true
        case (.string, .text), (.text, .string): true
        case (.string, _), (.text, _): false
        case (_, .string), (_, .text), (.int, .double), (.date, .dateTime): true
        default: false
        }
    }
}

/// Who sees a property in replies and can search by it; the raw value is the word of documents.
package enum Visibility: String, Sendable, CaseIterable {
    /// Servers and operators alone.
    case server
    /// The user as well, in the own record.
    case owner = "self"
    /// Other users as well, as far as the application lets them see others at all.
    case users
}

/// A property that the operator declared: a name, a type, and who may write it.
package struct Property: Sendable, Equatable {
    package let name: PropertyName
    package let type: PropertyType
    /// Whether a user cannot be without it.
    package let required: Bool
    /// Whether a client's own mapping may target it (decision D4).
    package let clientMappable: Bool
    package let visibleTo: Visibility
    /// Whether its column has an index of its own, for searches of the users collection.
    package let indexed: Bool

    package init(
        name: PropertyName,
        type: PropertyType,
        required: Bool = false,
        clientMappable: Bool = false,
        visibleTo: Visibility = .owner,
        indexed: Bool = false
    ) {
        self.name = name
        self.type = type
        self.required = required
        self.clientMappable = clientMappable
        self.visibleTo = visibleTo
        self.indexed = indexed
    }

    /// The properties that exist in every application without being declared.
    package static let builtIn = [
        Property(name: .email, type: .string, clientMappable: true),
        Property(name: .name, type: .string, clientMappable: true),
    ]
}

/// A value of a property in the form in which it is stored.
package enum PropertyValue: Sendable, Equatable {
    /// Of STRING and TEXT.
    case text(String)
    case integer(Int64)
    case double(Double)
    case boolean(Bool)
    case date(CalendarDate)
    /// Milliseconds since 1970 UTC.
    case dateTime(Int64)
    case json(JSONValue)

    package static func == (left: PropertyValue, right: PropertyValue) -> Bool {
        switch (left, right) {
        case (.text(let left), .text(let right)): left.hasSameBytes(as: right)
        case (.integer(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.boolean(let left), .boolean(let right)): left == right
        case (.date(let left), .date(let right)): left == right
        case (.dateTime(let left), .dateTime(let right)): left == right
        case (.json(let left), .json(let right)): left == right
        default: false
        }
    }

    /// The value as replies carry it: DATE as `YYYY-MM-DD`, DATETIME as milliseconds since 1970, JSON as itself.
    package var json: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .integer(let number): .integer(number)
        case .double(let number): JSONNumber(number).map(JSONValue.number) ?? .null
        case .boolean(let value): .bool(value)
        case .date(let date): .string(date.description)
        case .dateTime(let milliseconds): .integer(milliseconds)
        case .json(let value): value
        }
    }
}

extension PropertyType {
    /// The type of the property's column, as `format_type` writes it.
    package var sqlType: String {
        switch self {
        case .string, .text: "text"
        case .int: "bigint"
        case .double: "double precision"
        case .boolean: "boolean"
        case .date: "date"
        case .dateTime: "timestamp with time zone"
        case .json: "jsonb"
        }
    }
}
