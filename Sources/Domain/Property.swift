package import Description
package import Encodings

/// The type of a property of users; the raw value is the word in documents and responses.
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
    /// A point in time, to the millisecond.
    case dateTime = "DATETIME"
    /// Any JSON value.
    case json = "JSON"

    /// Returns whether a property may change from this type to another one that holds every value of this type.
    ///
    /// STRING and TEXT are alike and hold everything but JSON. JSON holds everything. A DOUBLE holds integers up to
    /// ±2⁵³: `Widening` in the module Store refuses a change if stored values are larger. A DATETIME holds a DATE as
    /// its midnight in UTC.
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

/// Which readers see a property in responses and can search by it.
///
/// The raw value is the word in documents.
package enum Visibility: String, Sendable, CaseIterable {
    /// Only operators and clients with a server key see the property.
    case server
    /// Operators, clients with a server key and the user whose value it is see the property.
    case owner = "self"
    /// Other users see the property, too, if the application lets users see each other at all.
    case users
}

/// A property of users, declared by the operator or built in: a name, a type, and who may write and see it.
package struct Property: Sendable, Equatable {
    package let name: PropertyName
    package var type: PropertyType
    /// Whether every user must have a value.
    package var required: Bool
    /// Whether clients may write the property: by their own mapping (decision D4), at registration and in updates.
    package var clientMappable: Bool
    package var visibleTo: Visibility
    /// Whether the column has an index of its own, for searches of the users collection.
    package var indexed: Bool

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

/// A value of a property in its stored form.
package enum PropertyValue: Sendable, Equatable {
    /// A value of STRING and TEXT.
    case text(String)
    case integer(Int64)
    case double(Double)
    case boolean(Bool)
    case date(CalendarDate)
    /// A value of DATETIME, in milliseconds since 1970 UTC.
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

    /// The value as responses carry it: DATE as `YYYY-MM-DD`, DATETIME as milliseconds since 1970, JSON as itself.
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
    /// The type of the property's column, as PostgreSQL's `format_type` writes it.
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

/// The logins at which the mapping writes a property, if the provider's profile has a value for it.
package enum SyncMode: String, Sendable, CaseIterable {
    /// The mapping writes the property at every login.
    case always
    /// The mapping writes the property only when the login creates the user.
    case firstLogin
    /// The mapping writes the property only while the property has no value or an empty text.
    case ifEmpty
    /// The mapping writes the property only while the stored value is the one that the mapping wrote last.
    case untilEdited
}

extension PropertyType {
    /// Reads a text that an operator typed, in a command or a form, as JSON; an empty text is no value.
    ///
    /// The caller checks whether the value fits the type.
    ///
    /// - Returns: The value; nil if the type is JSON and the text is not valid JSON.
    package func value(typed text: String) -> JSONValue? {
        guard !text.isEmpty else { return .null }
        switch self {
        case .json: return try? JSONParser.parse(text, limits: .document)
        case .boolean: return text == "true" ? .bool(true) : text == "false" ? .bool(false) : .string(text)
        case .int, .double: return (try? JSONParser.parse(text, limits: .document)) ?? .string(text)
        case .string, .text, .date, .dateTime: return .string(text)
        }
    }
}

/// A column of a users table in the database.
package struct LiveColumn: Sendable, Equatable {
    package let name: String
    /// The column's type as PostgreSQL's `format_type` writes it: `text`, `bigint`, `timestamp with time zone`.
    package let sqlType: String
    package let notNull: Bool
    /// Whether the column has a default or is generated.
    package let hasDefault: Bool

    package init(name: String, sqlType: String, notNull: Bool, hasDefault: Bool) {
        self.name = name
        self.sqlType = sqlType
        self.notNull = notNull
        self.hasDefault = hasDefault
    }
}

extension Property {
    /// Describes the JSON members with which an operator declares a property, except the name.
    package static let description = ObjectDescription(
        Property(name: .name, type: .json),
        unknown: "is not known here",
        [
            Field(
                "type",
                \.type,
                .word,
                "Type",
                """
                STRING and TEXT: text, both alike. INT: a 64-bit integer. DOUBLE: a floating-point number. \
                BOOLEAN: true or false. DATE: a day. DATETIME: a point in time. JSON: any JSON value.
                """,
                isRequired: true
            ),
            Field(
                "required",
                \.required,
                .flag,
                "Required",
                "Whether every user must have a value. The column is then NOT NULL."
            ),
            Field(
                "clientMappable",
                \.clientMappable,
                .flag,
                "Writable by clients",
                "Whether clients may write the property: by their own mapping, at registration and in updates."
            ),
            Field(
                "visibleTo",
                \.visibleTo,
                .word,
                "Visible to",
                """
                Who sees the property in responses. self: the user. users: also other users with a right in the users \
                collection. server: only servers.
                """
            ),
            Field(
                "indexed",
                \.indexed,
                .flag,
                "Indexed",
                "Whether the column has an index for searches. A JSON property has none."
            ),
        ]
    )
}
