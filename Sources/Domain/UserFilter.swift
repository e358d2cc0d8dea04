import Encodings

/// A column of the users collection that a query may name.
package enum UserColumn: Sendable, Equatable {
    case objectID
    case created
    case updated
    case lastLogin
    case status
    case socialAccount
    case locale
    case property(Property)
}

/// The condition of a query for users, after all checks: every column exists, and every value has the type of its
/// column (decision D19).
///
/// A column without a value (NULL) satisfies only `isNull`, as in SQL.
package indirect enum UserFilter: Sendable, Equatable {
    case all([UserFilter])
    case any([UserFilter])
    case not(UserFilter)
    case comparison(UserColumn, Sign, Value)
    /// The column equals one of the values, of which there is at least one.
    case isOne(UserColumn, of: [Value])
    /// The column is between two values, both included.
    case between(UserColumn, Value, Value)
    /// The column matches a pattern: `%` for any text, `_` for any character, `\` to escape the next character.
    case like(UserColumn, pattern: String)
    case isNull(UserColumn)
    case hasRole(RoleHolders)

    package enum Sign: Sendable, Equatable, CaseIterable {
        case equal
        case different
        case less
        case atMost
        case greater
        case atLeast
    }

    package enum Value: Sendable, Equatable {
        /// A value of the column's type.
        ///
        /// For the column `objectId`, the value may be a text that is not a valid id. Ids are then compared as texts,
        /// in the form that responses use.
        case property(PropertyValue)
        case objectID(ObjectID)
    }
}

/// One column of a sort order.
package struct UserOrder: Sendable, Equatable {
    package let column: UserColumn
    package let isDescending: Bool

    package init(by column: UserColumn, isDescending: Bool) {
        self.column = column
        self.isDescending = isDescending
    }
}

/// A query of an application's users.
package struct UserQuery: Sendable {
    /// The condition that the users must satisfy; nil for all users.
    package var filter: UserFilter?
    /// The sort order; users that it leaves equal are sorted by id.
    package var order: [UserOrder] = []
    package var offset: Int64 = 0
    package var limit: Int64
    /// Columns by which the search removes duplicates; empty to find every user.
    ///
    /// Of all users whose values in these columns are equal, only the first is found.
    package var distinct: [UserColumn] = []
    /// The properties that the query does not read.
    ///
    /// They are nil in the users that it returns.
    package var unread: Set<PropertyName> = []
    package var readsUndeclared = true

    /// The maximum number of bytes of the users in one response, both as read from the database and as written.
    ///
    /// A response is held in memory until its client has read it, and one client may search on many connections.
    package static let maxBytes = 8 << 20

    package init(limit: Int64) {
        self.limit = limit
    }
}

extension Failure {
    /// Returns the failure for a response whose users exceed the limit of bytes.
    package static func pageTooLarge(over limit: Int, cause: String? = nil) -> Failure {
        Failure(
            .queryTooLarge,
            "This page of users is too large. Request a smaller page, or fewer members with props.",
            details: ["maxBytes": .integer(Int64(limit))],
            cause: cause
        )
    }
}
