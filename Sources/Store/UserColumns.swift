import FoundationEssentials
import Postgres
import Vocabulary

extension PropertyType {
    var isText: Bool { self == .string || self == .text }

    var nullType: Bind.NullType {
        switch self {
        case .string, .text: .text
        case .int: .int64
        case .double: .double
        case .boolean: .bool
        case .date: .day
        case .dateTime: .timestamp
        case .json: .json
        }
    }
}

/// The columns of a users table in the order in which every statement returns them, and how they become a user.
struct UserColumns: Sendable {
    private let properties: [Property]

    /// The columns that every users table has besides those of properties.
    static let system = [
        "object_id", "created", "updated", "last_login", "user_status", "social_account", "locale", "dynamic",
        "email_verified",
    ]

    init(application: Application) {
        properties = application.properties
    }

    /// The select list, each column of the table with the given alias.
    func list(of alias: String) -> String {
        (Self.system + properties.map(\.name.text)).map { alias + "." + quoted($0) }.joined(separator: ", ")
    }

    /// The same, with nothing in place of what a query does not want.
    func list(of alias: String, for query: UserQuery) -> String {
        let system = Self.system.map { $0 == "dynamic" && !query.readsUndeclared ? "null" : alias + "." + quoted($0) }
        let properties = properties.map {
            query.unread.contains($0.name) ? "null" : alias + "." + quoted($0.name.text)
        }
        return (system + properties).joined(separator: ", ")
    }

    /// The user in a row whose columns from `first` on are those of `list`.
    func user(in row: Row, from first: Int) throws(PostgresError) -> User {
        let dynamic = try row.decode(first + 7, as: JSONValue?.self)
        var values: [(name: PropertyName, value: PropertyValue?, visibleTo: Visibility)] = []
        values.reserveCapacity(properties.count)
        for (offset, property) in properties.enumerated() {
            let column = first + Self.system.count + offset
            let value = try value(of: property.type, in: row, at: column)
            values.append((property.name, value, property.visibleTo))
        }
        return User(
            objectID: ObjectID(try row.decode(first, as: UUID.self)),
            created: try row.decode(first + 1, as: Timestamp.self).milliseconds,
            updated: try row.decode(first + 2, as: Timestamp?.self)?.milliseconds,
            lastLogin: try row.decode(first + 3, as: Timestamp?.self)?.milliseconds,
            status: UserStatus(rawValue: try row.decode(first + 4, as: String.self)) ?? .disabled,
            socialAccount: try row.decode(first + 5, as: String?.self),
            locale: try row.decode(first + 6, as: String?.self),
            emailVerified: try row.decode(first + 8, as: Bool.self),
            properties: values,
            dynamic: undeclared(dynamic?.object)
        )
    }

    /// The members that are no declared properties.
    ///
    /// While a property that used to be dynamic is being declared, an instance that does not know of it yet goes on
    /// writing the old way; a reply must not hold the name twice.
    private func undeclared(_ dynamic: JSONObject?) -> JSONObject {
        JSONObject(
            (dynamic?.members ?? []).filter { member in
                !properties.contains { $0.name.text.hasSameBytes(as: member.key) }
            }
        )
    }

    private func value(of type: PropertyType, in row: Row, at column: Int) throws(PostgresError) -> PropertyValue? {
        switch type {
        case .string, .text: try row.decode(column, as: String?.self).map(PropertyValue.text)
        case .int: try row.decode(column, as: Int64?.self).map(PropertyValue.integer)
        case .double: try row.decode(column, as: Double?.self).map(PropertyValue.double)
        case .boolean: try row.decode(column, as: Bool?.self).map(PropertyValue.boolean)
        case .date:
            try row.decode(column, as: Day?.self)
                .flatMap { CalendarDate(daysSince1970: Int($0.daysSince1970)) }.map(PropertyValue.date)
        case .dateTime: try row.decode(column, as: Timestamp?.self).map { PropertyValue.dateTime($0.milliseconds) }
        case .json: try row.decode(column, as: JSONValue?.self).map(PropertyValue.json)
        }
    }
}

extension Timestamp {
    /// Milliseconds since 1970, rounded towards the past.
    var milliseconds: Int64 {
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1000)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
