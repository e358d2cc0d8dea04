@testable import Backendless
import Domain
import Encodings
import Postgres
@testable import Store

extension FuzzTarget {
    /// The target of where clauses.
    ///
    /// An accepted clause names only the offered columns, and adds no word or sign of its own to the SQL. It is the
    /// same filter when written and read again. A refusal has a position within the clause.
    static let whereClause = FuzzTarget("where-clause") { input in
        let text = String(decoding: input, as: UTF8.self)
        let filter: UserFilter
        do throws(Failure) {
            guard let read = try WhereClause.read(text, column: column) else { return false }
            filter = read
        } catch {
            let position = error.details["position"]?.integer ?? -1
            try promise("a refusal has its reason", error.reason == .queryInvalid)
            try promise("a refusal has a place", (0...Int64(text.unicodeScalars.count)).contains(position))
            return false
        }
        let clause = filter.clause
        if clause.utf8.count <= WhereClause.maxBytes {
            let again = try? WhereClause.read(clause, column: column)
            try promise("what is written is read as the same: \(clause)", again == filter)
        }
        let statement = filter.condition(in: "app")
        let (sql, words) = (statement.sql, statement.sql.split(whereSeparator: isSign))
        try promise("SQL has no words but ours: \(sql)", words.allSatisfy(isOurs))
        try promise(
            "SQL has no text and no comment: \(sql)",
            !["'", ";", "--", "/*", "\\"].contains { sql.contains($0) }
        )
        let places = words.filter { $0.hasPrefix("$") }
        let expected = (0..<statement.binds.count).map { "$\($0 + 1)" }
        try promise("each value is bound in its place: \(sql)", places.elementsEqual(expected) { $0 == $1 })
        return true
    }

    private static let types: [(String, PropertyType)] = [
        ("email", .string), ("name", .string), ("age", .int), ("weight", .double), ("isActive", .boolean),
        ("birthday", .date), ("seen", .dateTime), ("address", .json),
    ]

    private static let columns: [(name: String, column: UserColumn)] =
        [
            ("objectId", .objectID), ("created", .created), ("updated", .updated), ("lastLogin", .lastLogin),
            ("userStatus", .status), ("socialAccount", .socialAccount), ("blUserLocale", .locale),
        ]
        + types.compactMap { name, type in
            PropertyName(name).map { (name, .property(Property(name: $0, type: type))) }
        }

    private static func column(_ name: String) -> UserColumn? { columns.first { $0.name == name }?.column }

    fileprivate static func name(of column: UserColumn) -> String {
        columns.first { $0.column == column }?.name ?? ""
    }

    private static func isSign(_ character: Character) -> Bool { " \n(),.=<>\"".contains(character) }

    private static func isOurs(_ word: Substring) -> Bool {
        ourWords.contains(word) || word.first == "$" && Int(word.dropFirst()) != nil
    }

    private static let ourWords: Set<Substring> = [
        "and", "or", "not", "is", "null", "like", "in", "lower", "left", "512", "collate", "C", "u", "object_id",
        "created", "updated", "last_login", "user_status", "social_account", "locale", "email", "name", "age", "weight",
        "isActive", "birthday", "seen", "address",
    ]
}

extension UserFilter {
    /// The filter as a clause, nested no deeper than the clause that it was read from.
    fileprivate var clause: String {
        switch self {
        case .any(let parts): parts.map { $0.operand(besides: .any([])) }.joined(separator: " or ")
        case .all(let parts): parts.map { $0.operand(besides: .all([])) }.joined(separator: " and ")
        case .not(.isNull(let column)): "\(column.quoted) is not null"
        case .not(.isOne(let column, let values)): "\(column.quoted) not in (\(values.list))"
        case .not(.between(let column, let least, let max)):
            "\(column.quoted) not between \(least.literal) and \(max.literal)"
        case .not(.like(let column, let pattern)): "\(column.quoted) not like \(Statement.quoted(literal: pattern))"
        case .not(let filter): "not \(filter.operand(besides: self))"
        case .isNull(let column): "\(column.quoted) is null"
        case .isOne(let column, let values): "\(column.quoted) in (\(values.list))"
        case .between(let column, let least, let max):
            "\(column.quoted) between \(least.literal) and \(max.literal)"
        case .like(let column, let pattern): "\(column.quoted) like \(Statement.quoted(literal: pattern))"
        case .comparison(let column, let sign, let value): "\(column.quoted) \(sign.text) \(value.literal)"
        case .hasRole: ""
        }
    }

    /// Returns the clause, in parentheses unless it binds tighter than the outer filter.
    private func operand(besides outer: UserFilter) -> String {
        switch (self, outer) {
        case (.any, _), (.all, .all), (.all, .not): "(\(clause))"
        default: clause
        }
    }
}

extension UserColumn {
    fileprivate var quoted: String { "`\(FuzzTarget.name(of: self))`" }
}

extension UserFilter.Sign {
    fileprivate var text: String {
        switch self {
        case .equal: "="
        case .different: "!="
        case .less: "<"
        case .atMost: "<="
        case .greater: ">"
        case .atLeast: ">="
        }
    }
}

extension [UserFilter.Value] {
    fileprivate var list: String { map(\.literal).joined(separator: ",") }
}

extension UserFilter.Value {
    fileprivate var literal: String {
        switch self {
        case .objectID(let id): "'\(id)'"
        case .property(.text(let text)): Statement.quoted(literal: text)
        case .property(.integer(let number)): "\(number)"
        case .property(.double(let number)): "\(number)"
        case .property(.boolean(let truth)): "\(truth)"
        case .property(.date(let date)): "'\(date)'"
        case .property(.dateTime(let milliseconds)): "\(milliseconds)"
        case .property(.json(let value)): value.text
        }
    }
}
