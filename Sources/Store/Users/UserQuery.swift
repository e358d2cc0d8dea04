import Postgres
package import Vocabulary

extension Store {
    /// The users that a query is about, in its order.
    package func users(matching query: UserQuery, of application: Application) async throws(Failure) -> [User] {
        let columns = UserColumns(application: application)
        var statement: Statement = """
            select \(unsafeRaw: columns.list(of: "u")) from \(identifier: application.schema).users u
            """
        if let filter = query.filter { statement.append("where \(filter.condition)") }
        statement.append("order by")
        for order in query.order {
            statement.append(
                "\(order.column.name) \(unsafeRaw: order.isDescending ? "desc nulls last" : "asc nulls first"),"
            )
        }
        statement.append("u.object_id limit \(query.limit) offset \(query.offset)")
        let result = try await self.query(statement, of: application, isRare: true)
        return try read { () throws(PostgresError) in
            var users: [User] = []
            users.reserveCapacity(result.count)
            for row in result.rows { users.append(try columns.user(in: row, from: 0)) }
            return users
        }
    }

    /// How many users there are of whom a filter holds; of all when it is nil.
    package func userCount(matching filter: UserFilter?, of application: Application) async throws(Failure) -> Int64 {
        var statement: Statement = "select count(*) from \(identifier: application.schema).users u"
        if let filter { statement.append("where \(filter.condition)") }
        let result = try await query(statement, of: application, isRare: true)
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: Int64.self) ?? 0 }
    }
}

extension UserFilter {
    /// What must hold for a row `u` of the users table; values are bound, and names are those of declared columns.
    var condition: Statement {
        switch self {
        case .all(let parts): Self.joined(parts, by: "and")
        case .any(let parts): Self.joined(parts, by: "or")
        case .not(let filter): "not \(filter.condition)"
        case .isNull(let column): "(\(column.name) is null)"
        case .like(let column, let pattern): "(\(column.name) like \(pattern))"
        case .between(let column, let least, let most):
            UserFilter.all([.comparison(column, .atLeast, least), .comparison(column, .atMost, most)]).condition
        case .isOne(let column, let values): Self.condition(on: column, isOneOf: values)
        case .comparison(let column, let sign, let value): Self.condition(on: column, sign, value)
        }
    }

    private static func joined(_ parts: [UserFilter], by word: Statement) -> Statement {
        var statement: Statement = "("
        for (index, part) in parts.enumerated() {
            if index > 0 { statement.append(word) }
            statement.append(part.condition)
        }
        statement.append(")")
        return statement
    }

    /// A moment is meant to the millisecond, which is all that replies tell of it, and a column keeps microseconds.
    private static func condition(on column: UserColumn, _ sign: Sign, _ value: Value) -> Statement {
        let name = column.name
        if case .property(.dateTime(let milliseconds)) = value {
            let (start, end) = (
                PropertyValue.dateTime(milliseconds).bind, PropertyValue.dateTime(milliseconds + 1).bind
            )
            return switch sign {
            case .equal: "(\(name) >= \(bind: start) and \(name) < \(bind: end))"
            case .different: "(\(name) < \(bind: start) or \(name) >= \(bind: end))"
            case .less: "(\(name) < \(bind: start))"
            case .atMost: "(\(name) < \(bind: end))"
            case .greater: "(\(name) >= \(bind: end))"
            case .atLeast: "(\(name) >= \(bind: start))"
            }
        }
        let bound: Statement = "\(bind: value.bind)"
        // Addresses have an index by their lower case, and are one mailbox in whatever case (decision D6).
        if column.isEmail, sign == .equal || sign == .different {
            return "(lower(\(name)) \(unsafeRaw: sign.sql) lower(\(bound)))"
        }
        return "(\(name) \(unsafeRaw: sign.sql) \(bound))"
    }

    private static func condition(on column: UserColumn, isOneOf values: [Value]) -> Statement {
        let isPlain = values.allSatisfy { value in
            if case .property(.dateTime) = value { return false }
            return true
        }
        guard isPlain else { return joined(values.map { .comparison(column, .equal, $0) }, by: "or") }
        var statement: Statement = column.isEmail ? "(lower(\(column.name)) in (" : "(\(column.name) in ("
        for (index, value) in values.enumerated() {
            if index > 0 { statement.append(",") }
            let bound: Statement = "\(bind: value.bind)"
            statement.append(column.isEmail ? "lower(\(bound))" : bound)
        }
        statement.append("))")
        return statement
    }
}

extension UserFilter.Sign {
    fileprivate var sql: String {
        switch self {
        case .equal: "="
        case .different: "<>"
        case .less: "<"
        case .atMost: "<="
        case .greater: ">"
        case .atLeast: ">="
        }
    }
}

extension UserFilter.Value {
    fileprivate var bind: Bind {
        switch self {
        case .property(let value): value.bind
        case .objectID(let id?): id.uuid.bind
        case .objectID(nil): .null(.uuid)
        }
    }
}

extension UserColumn {
    fileprivate var name: Statement {
        switch self {
        case .objectID: "u.object_id"
        case .created: "u.created"
        case .updated: "u.updated"
        case .lastLogin: "u.last_login"
        case .status: "u.user_status"
        case .socialAccount: "u.social_account"
        case .locale: "u.locale"
        case .property(let property): "u.\(identifier: property.name.text)"
        }
    }

    fileprivate var isEmail: Bool {
        guard case .property(let property) = self else { return false }
        return property.name == .email
    }
}
