import Domain
import Postgres

extension UserFilter {
    /// Returns the filter as a SQL condition on a row `u` of the users table.
    ///
    /// Values are bound as parameters. The SQL text contains only names of known columns.
    func condition(in schema: String) -> Statement {
        switch self {
        case .all(let parts): Self.joined(parts, by: "and", in: schema)
        case .any(let parts): Self.joined(parts, by: "or", in: schema)
        case .not(let filter): "not \(filter.condition(in: schema))"
        case .hasRole(.system(.guestUser)): "(u.user_status = 'GUEST')"
        case .hasRole(.system(.authenticatedUser)): "(u.user_status <> 'GUEST')"
        case .hasRole(.given(let role)):
            "(u.object_id in (select r.object_id from \(identifier: schema).user_roles r where r.role = \(role)))"
        case .isNull(let column): "(\(column.key) is null)"
        case .like(let column, let pattern): Self.condition(on: column, like: pattern)
        case .between(let column, let min, let max):
            "(\(Self.condition(on: column, .atLeast, min)) and \(Self.condition(on: column, .atMost, max)))"
        case .isOne(let column, let values): Self.condition(on: column, isOneOf: values)
        case .comparison(let column, let sign, let value): Self.condition(on: column, sign, value)
        }
    }

    private static func joined(_ parts: [UserFilter], by word: Statement, in schema: String) -> Statement {
        joined(parts.map { $0.condition(in: schema) }, by: word)
    }

    private static func joined(_ conditions: [Statement], by word: Statement) -> Statement {
        var statement: Statement = "("
        for (index, condition) in conditions.enumerated() {
            if index > 0 { statement.append(word) }
            statement.append(condition)
        }
        statement.append(")")
        return statement
    }

    /// Returns the SQL condition that compares a column with a value.
    ///
    /// Times are compared to the millisecond, as responses show them, while columns store microseconds.
    private static func condition(on column: UserColumn, _ sign: Sign, _ value: Value) -> Statement {
        if column == .objectID, case .property(.text(let text)) = value {
            return switch sign {
            case .equal: "(false)"
            case .different: "(true)"
            case .less, .atMost, .greater, .atLeast: "(\(column.idText) \(unsafeRaw: sign.sql) \(text))"
            }
        }
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
        // Addresses are indexed in lower case, and are the same mailbox in whatever case (decision D6).
        if column.isEmail, sign == .equal || sign == .different {
            return "(lower(\(name)) \(unsafeRaw: sign.sql) lower(\(bound)))"
        }
        return "(\(column.key(comparedWith: [value])) \(unsafeRaw: sign.sql) \(bound))"
    }

    /// Returns the SQL condition that a column matches a LIKE pattern.
    ///
    /// The index serves the pattern's beginning before the first wildcard. The rest is matched against the text itself.
    private static func condition(on column: UserColumn, like pattern: String) -> Statement {
        guard column != .objectID else { return "(\(column.idText) like \(pattern))" }
        let beginning = literalBeginning(of: pattern)
        guard !beginning.isEmpty, beginning.count < PropertyType.keyCharacters else {
            return "(\(column.name) like \(pattern))"
        }
        let beginsWith: Statement = "\(column.key) like \(String(beginning) + "%")"
        let rest = pattern.unicodeScalars[beginning.endIndex...]
        return rest.elementsEqual(["%"]) ? "(\(beginsWith))" : "(\(beginsWith) and \(column.name) like \(pattern))"
    }

    private static func condition(on column: UserColumn, isOneOf values: [Value]) -> Statement {
        let values = column == .objectID ? values.filter(\.isID) : values
        guard !values.isEmpty else { return "(false)" }
        let isPlain = values.allSatisfy { value in
            if case .property(.dateTime) = value { return false }
            return true
        }
        guard isPlain else { return joined(values.map { condition(on: column, .equal, $0) }, by: "or") }
        var statement: Statement =
            column.isEmail ? "(lower(\(column.name)) in (" : "(\(column.key(comparedWith: values)) in ("
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
        case .objectID(let id): id.uuid.bind
        }
    }

    fileprivate var isID: Bool {
        if case .objectID = self { true } else { false }
    }
}

extension UserColumn {
    /// The column's qualified name in a row `u` of the users table.
    var name: Statement {
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

    /// The SQL text of a user's id as responses show the id; these texts sort like the ids.
    fileprivate var idText: Statement { #"upper(u.object_id::text) collate "C""# }

    /// The SQL expression of the column's index, by which users are also sorted.
    var key: Statement {
        guard case .property(let property) = self else { return name }
        return "\(unsafeRaw: property.key(of: "u." + quoted(property.name.text)))"
    }

    /// Returns the expression to compare with the given values: the column's index expression, or else the column.
    ///
    /// The index expression of a text is only the beginning of the text. It is used if all given values are shorter
    /// than this beginning, since the comparison then has the same result as with the whole text.
    fileprivate func key(comparedWith values: [UserFilter.Value]) -> Statement {
        let isShort = values.allSatisfy { value in
            guard case .property(.text(let text)) = value else { return true }
            return text.unicodeScalars.count < PropertyType.keyCharacters
        }
        guard isShort || !isText else { return #"\#(name) collate "C""# }
        return key
    }

    private var isText: Bool {
        guard case .property(let property) = self else { return false }
        return property.type.isText
    }

    fileprivate var isEmail: Bool {
        guard case .property(let property) = self else { return false }
        return property.name == .email
    }
}

extension Property {
    /// Returns the expression in the property's index, given an expression of the property's column.
    ///
    /// For a text, the expression is only the beginning, since PostgreSQL refuses to store a row whose text is longer
    /// than an index allows. The beginning is in byte order, which serves searches by prefix and is the same in every
    /// database.
    func key(of column: String) -> String {
        type.isText ? #"left(\#(column), \#(PropertyType.keyCharacters)) collate "C""# : column
    }
}

extension PropertyType {
    /// The number of characters at the beginning of a text that an index contains.
    ///
    /// A character has at most four bytes, and an index entry has at most 2704 bytes.
    static let keyCharacters = 512
}
