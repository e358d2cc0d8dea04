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

/// Which users a query is about: a tree in which every column is there, and every value is of its column's type
/// (decision D19).
///
/// What a column does not have (NULL) satisfies `isNull` alone, as in SQL.
package indirect enum UserFilter: Sendable, Equatable {
    case all([UserFilter])
    case any([UserFilter])
    case not(UserFilter)
    case comparison(UserColumn, Sign, Value)
    /// One of the values, of which there is at least one.
    case isOne(UserColumn, of: [Value])
    /// From the first to the second, both included.
    case between(UserColumn, Value, Value)
    /// A pattern in which `%` stands for any text and `_` for any character; `\` takes that meaning from what follows.
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
        /// For `objectId`: a text that is no id. The id is compared with it as text, in the form that replies have.
        case property(PropertyValue)
        case objectID(ObjectID)
    }
}

/// One column by which users are put in order.
package struct UserOrder: Sendable, Equatable {
    package let column: UserColumn
    package let isDescending: Bool

    package init(by column: UserColumn, isDescending: Bool) {
        self.column = column
        self.isDescending = isDescending
    }
}

/// A question about the users of an application.
package struct UserQuery: Sendable {
    /// Nil for all of them.
    package var filter: UserFilter?
    /// Where it leaves two users equal, their ids decide.
    package var order: [UserOrder] = []
    package var offset: Int64 = 0
    package var limit: Int64
    /// Of users who are alike in all of these only the first is found; none: every user for itself.
    package var distinct: [UserColumn] = []
    /// Properties whose values nobody wants: they are not read, and are nil in the users.
    package var unread: Set<PropertyName> = []
    /// Whether undeclared properties are read.
    package var readsUndeclared = true

    /// Bytes of the users of one answer, as they are read and as they are written: a reply is held in memory until its
    /// client has read it, and who may search may do that in many connections.
    package static let mostBytes = 8 << 20

    package init(limit: Int64) {
        self.limit = limit
    }
}

extension Failure {
    /// An answer whose users have more bytes than one may have.
    package static func pageTooLarge(over limit: Int, cause: String? = nil) -> Failure {
        Failure(
            .queryTooLarge,
            "The users of this page have too much together. Ask for a smaller pageSize, or for fewer members by props.",
            details: ["mostBytes": .integer(Int64(limit))],
            cause: cause
        )
    }
}
