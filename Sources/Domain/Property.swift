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

    /// Returns whether a property of this type may change to another type, which holds every value of this one.
    ///
    /// STRING and TEXT are alike and hold everything but JSON. JSON holds everything. A DOUBLE holds integers up to
    /// ±2⁵³, which is checked where the values are. A DATETIME holds a DATE as its midnight in UTC.
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

/// Who sees a property in responses and can search by it; the raw value is the word in documents.
package enum Visibility: String, Sendable, CaseIterable {
    /// Only servers and operators.
    case server
    /// Also the user, in the user's own record.
    case owner = "self"
    /// Also other users, as far as the application lets users see each other at all.
    case users
}

/// A property that the operator declared: a name, a type, and who may write it.
package struct Property: Sendable, Equatable {
    package let name: PropertyName
    package var type: PropertyType
    /// Whether every user must have a value.
    package var required: Bool
    /// Whether a client's own mapping may write the property (decision D4).
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

/// When a mapping writes a property that the profile has a value for.
package enum SyncMode: String, Sendable, CaseIterable {
    /// At every login.
    case always
    /// Only when the login creates the user.
    case firstLogin
    /// As long as the property has no value or an empty text.
    case ifEmpty
    /// As long as the stored value is the one that the mapping wrote last.
    case untilEdited
}

extension PropertyType {
    /// Reads typed text as JSON; an empty text is no value.
    ///
    /// The caller checks whether the value fits the type.
    ///
    /// - Returns: Nil for text that is not JSON where the type is JSON.
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
    /// As `format_type` writes it: `text`, `bigint`, `timestamp with time zone`.
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
    /// The members of a property that an operator declares, besides its name.
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
                STRING and TEXT are text, INT a whole number of 64 bits, DOUBLE a floating-point number, DATE a day, \
                DATETIME a moment, JSON any value.
                """,
                isRequired: true
            ),
            Field(
                "required",
                \.required,
                .flag,
                "Required",
                "Whether every user must have a value: the column is NOT NULL."
            ),
            Field(
                "clientMappable",
                \.clientMappable,
                .flag,
                "Clients may write it",
                "Whether clients may write the property: by a mapping of their own, at a registration, in an update."
            ),
            Field(
                "visibleTo",
                \.visibleTo,
                .word,
                "Visible to",
                """
                Who sees the property in replies. self: the user. users: other users as well, where the collection's \
                rights let them. server: servers alone.
                """
            ),
            Field(
                "indexed",
                \.indexed,
                .flag,
                "Indexed",
                "Whether the column has an index, which serves searches. A JSON property has none."
            ),
        ]
    )
}
