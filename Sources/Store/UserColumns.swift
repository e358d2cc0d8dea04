import Domain
import Encodings
import FoundationEssentials
import Postgres

extension PropertyType {
    /// Whether values of the type are texts.
    package var isText: Bool { self == .string || self == .text }

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

/// The columns of a users table in the order in which every statement returns them, and the conversion of a row to a
/// user.
struct UserColumns: Sendable {
    private let properties: [Property]

    /// The columns that every users table has in addition to those of properties.
    static let system = [
        "object_id", "created", "updated", "last_login", "user_status", "social_account", "locale", "dynamic",
        "email_verified",
    ]

    init(application: Application) {
        properties = application.properties
    }

    /// Returns the select list of all columns of a user, each qualified by the table's alias.
    func list(of alias: String) -> String {
        (Self.system + properties.map(\.name.text)).map { alias + "." + quoted($0) }.joined(separator: ", ")
    }

    /// Returns the select list of all columns of a user, with `null` in place of columns that the query does not read.
    func list(of alias: String, for query: UserQuery) -> String {
        let system = Self.system.map { $0 == "dynamic" && !query.readsUndeclared ? "null" : alias + "." + quoted($0) }
        let properties = properties.map {
            query.unread.contains($0.name) ? "null" : alias + "." + quoted($0.name.text)
        }
        return (system + properties).joined(separator: ", ")
    }

    /// Reads the user from a row whose next columns are those of `list`.
    func user(in row: inout Row) throws(PostgresError) -> User {
        let objectID = try row.next(ObjectID.self)
        let (created, updated) = (try row.next(Timestamp.self), try row.next(Timestamp?.self))
        let lastLogin = try row.next(Timestamp?.self)
        let status = UserStatus(rawValue: try row.next(String.self)) ?? .disabled
        let (socialAccount, locale) = (try row.next(String?.self), try row.next(String?.self))
        let dynamic = try row.next(JSONValue?.self)
        let emailVerified = try row.next(Bool.self)
        var values: [(name: PropertyName, value: PropertyValue?, visibleTo: Visibility)] = []
        values.reserveCapacity(properties.count)
        for property in properties {
            values.append((property.name, try value(of: property.type, in: &row), property.visibleTo))
        }
        return User(
            objectID: objectID,
            created: created.milliseconds,
            updated: updated?.milliseconds,
            lastLogin: lastLogin?.milliseconds,
            status: status,
            socialAccount: socialAccount,
            locale: locale,
            emailVerified: emailVerified,
            properties: values,
            dynamic: undeclared(dynamic?.object)
        )
    }

    /// Returns the members of the column `dynamic` that are not declared properties.
    ///
    /// While a property is being declared, an instance that does not know the declaration yet still writes the
    /// property's value to `dynamic`. A response must not contain the name of the property twice.
    private func undeclared(_ dynamic: JSONObject?) -> JSONObject {
        JSONObject(
            (dynamic?.members ?? []).filter { member in
                !properties.contains { $0.name.text.hasSameBytes(as: member.key) }
            }
        )
    }

    private func value(of type: PropertyType, in row: inout Row) throws(PostgresError) -> PropertyValue? {
        switch type {
        case .string, .text: try row.next(String?.self).map(PropertyValue.text)
        case .int: try row.next(Int64?.self).map(PropertyValue.integer)
        case .double: try row.next(Double?.self).map(PropertyValue.double)
        case .boolean: try row.next(Bool?.self).map(PropertyValue.boolean)
        case .date:
            try row.next(Day?.self)
                .flatMap { CalendarDate(daysSince1970: Int($0.daysSince1970)) }.map(PropertyValue.date)
        case .dateTime: try row.next(Timestamp?.self).map { PropertyValue.dateTime($0.milliseconds) }
        case .json: try row.next(JSONValue?.self).map(PropertyValue.json)
        }
    }
}
