import Postgres
import Vocabulary

/// What an update of a row `u` of the users table sets, `updated` among it where anything becomes another.
///
/// An e-mail address that becomes another is unverified.
struct UserAssignments {
    private var sets = Statement(sql: "")
    private var watched: [(column: String, value: Statement)] = []

    init(_ given: GivenProperties) {
        for (property, value) in given.values {
            let bind = value?.bind ?? .null(property.type.nullType)
            set(property.name.text, to: "\(bind: bind)")
            if property.name == .email {
                sets.append("email_verified = u.email_verified and u.email is not distinct from \(bind: bind),")
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

    /// The list behind `set`.
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
    /// Bytes that all undeclared properties of a user may have together when a client gives some.
    ///
    /// What logins bring in besides is bounded by the constraint `dynamic_is_bounded`.
    private static let mostDynamicBytes = 65_536
    /// Bytes of the constraint.
    static let mostStoredDynamicBytes = 262_144

    /// - Throws: `payload_too_large` for more than a user's undeclared properties may be.
    func checkDynamicSize() throws(Failure) {
        guard JSONValue.object(self).storedBytes <= Self.mostDynamicBytes else {
            throw .dynamicTooLarge(over: Self.mostDynamicBytes)
        }
    }
}

extension Failure {
    /// The undeclared properties of a user are too many bytes.
    static func dynamicTooLarge(over limit: Int) -> Failure {
        Failure(
            .payloadTooLarge,
            "The undeclared properties of a user have at most \(limit) bytes in all, as the database writes them."
        )
    }
}
