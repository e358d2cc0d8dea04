import Domain
import Encodings
import Postgres

/// The SQL assignments of a statement that updates a row `u` of the users table.
///
/// If any value changes, `updated` becomes the present time.
///
/// A changed e-mail address becomes unverified, unless the statement confirms the given address.
struct UserAssignments {
    private var sets = Statement(sql: "")
    private var watched: [(column: String, value: Statement)] = []

    init(_ given: GivenProperties, confirmingAddress confirmsAddress: Bool = false) {
        for (property, value) in given.values {
            let bind = value?.bind ?? .null(property.type.nullType)
            set(property.name.text, to: "\(bind: bind)")
            if property.name == .email {
                sets.append(
                    confirmsAddress
                        ? "email_verified = true,"
                        : "email_verified = u.email_verified and u.email is not distinct from \(bind: bind),"
                )
            }
        }
        if let locale = given.locale { set("locale", to: "\(locale.value)") }
        if !given.dynamic.members.isEmpty {
            let gone = given.dynamic.members.filter(\.value.isNull).map(\.key)
            set("dynamic", to: "(u.dynamic - \(gone)) || \(given.presentDynamic)")
        }
    }

    mutating func set(_ column: String, to value: Statement) {
        sets.append("\(identifier: column) = \(value),")
        watched.append((column, value))
    }

    /// The assignments as SQL: the list after `set`.
    var statement: Statement {
        var statement = sets
        statement.append("updated = case when false")
        for (column, value) in watched {
            statement.append("or u.\(identifier: column) is distinct from \(value)")
        }
        statement.append("then now() else u.updated end")
        return statement
    }
}

extension JSONObject {
    /// The maximum size, in bytes, of a user's undeclared properties after a client has written some.
    ///
    /// Logins may add more, up to the limit of the constraint `dynamic_is_bounded`.
    private static let maxDynamicBytes = 65_536
    /// The maximum size that the constraint `dynamic_is_bounded` allows, in bytes.
    static let maxStoredDynamicBytes = 262_144

    /// Checks the size of a user's undeclared properties.
    ///
    /// - Throws: `payload_too_large` when they exceed the maximum size.
    func checkDynamicSize() throws(Failure) {
        guard JSONValue.object(self).storedBytes <= Self.maxDynamicBytes else {
            throw .dynamicTooLarge(over: Self.maxDynamicBytes)
        }
    }
}

extension Failure {
    /// Returns the failure for undeclared properties of a user that exceed a number of bytes.
    static func dynamicTooLarge(over limit: Int) -> Failure {
        Failure(
            .payloadTooLarge,
            "The undeclared properties of a user can have at most \(limit) bytes in total, as the database writes them."
        )
    }
}
