import Domain
import Encodings

/// Parses where clauses in Backendless's dialect (docs/protocols/backendless.md §3.6) into a validated tree.
///
/// A client's text can only become a value in the tree. Names of columns are looked up among those that the client may
/// see. Keywords and operators become constants of this service.
struct WhereClause {
    /// The maximum number of bytes in a where clause.
    static let maxBytes = 8192
    /// The maximum depth to which parentheses and `not` may be nested in a where clause.
    static let maxDepth = 32
    /// The maximum number of values in one clause.
    ///
    /// Each value of a list counts.
    static let maxValues = 1000

    private let tokens: [WhereToken]
    private var position = 0
    private var values = 0
    private let column: (String) -> UserColumn?

    /// Parses a where clause.
    ///
    /// - Parameters:
    ///   - text: The clause, as received.
    ///   - column: Returns the column with a name; nil for a name that is unknown or that the client may not see.
    /// - Returns: The clause as a tree; nil for an empty clause.
    /// - Throws: `query_invalid`. The detail `position` is the number of characters before the error.
    static func read(_ text: String, column: @escaping (String) -> UserColumn?) throws(Failure) -> UserFilter? {
        do throws(WhereProblem) {
            guard text.utf8.count <= maxBytes else {
                throw WhereProblem("a clause has at most \(maxBytes) bytes", at: maxBytes)
            }
            var clause = WhereClause(tokens: try WhereScanner.tokens(of: text), column: column)
            guard clause.current.kind != .end else { return nil }
            let filter = try clause.disjunction(depth: 0)
            guard clause.current.kind == .end else {
                throw clause.problem("the end of the clause, and or or is expected")
            }
            return filter
        } catch {
            let position = scalars(before: error.offset, in: text)
            throw Failure(
                .queryInvalid,
                "The where clause is not valid: \(error.text) (after \(position) characters).",
                details: ["position": .integer(Int64(position))]
            )
        }
    }

    private init(tokens: [WhereToken], column: @escaping (String) -> UserColumn?) {
        self.tokens = tokens
        self.column = column
    }
}

/// Returns the number of the text's Unicode scalars that begin before a byte offset.
private func scalars(before offset: Int, in text: String) -> Int {
    var (bytes, scalars) = (0, 0)
    for scalar in text.unicodeScalars {
        guard bytes < offset else { break }
        bytes += UTF8.width(scalar)
        scalars += 1
    }
    return scalars
}

// MARK: Grammar

extension WhereClause {
    private var current: WhereToken { tokens[min(position, tokens.count - 1)] }

    private func problem(_ text: String) -> WhereProblem { WhereProblem(text, at: current.offset) }

    private func isAt(_ keyword: String) -> Bool {
        guard case .word(let word) = current.kind else { return false }
        return word.utf8.count == keyword.utf8.count && word.lowercased() == keyword
    }

    private func isAt(symbol: String) -> Bool { current.kind == .symbol(symbol) }

    private mutating func take(_ keyword: String) -> Bool {
        guard isAt(keyword) else { return false }
        position += 1
        return true
    }

    private mutating func take(symbol: String) -> Bool {
        guard isAt(symbol: symbol) else { return false }
        position += 1
        return true
    }

    private mutating func disjunction(depth: Int) throws(WhereProblem) -> UserFilter {
        var parts = [try conjunction(depth: depth)]
        while take("or") { parts.append(try conjunction(depth: depth)) }
        return parts.count == 1 ? parts[0] : .any(parts)
    }

    private mutating func conjunction(depth: Int) throws(WhereProblem) -> UserFilter {
        var parts = [try factor(depth: depth)]
        while take("and") { parts.append(try factor(depth: depth)) }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    private mutating func factor(depth: Int) throws(WhereProblem) -> UserFilter {
        guard depth < Self.maxDepth else { throw problem("conditions are nested at most \(Self.maxDepth) deep") }
        if take("not") { return .not(try factor(depth: depth + 1)) }
        guard take(symbol: "(") else { return try condition() }
        let filter = try disjunction(depth: depth + 1)
        guard take(symbol: ")") else { throw problem("a closing parenthesis is expected") }
        return filter
    }

    private mutating func condition() throws(WhereProblem) -> UserFilter {
        let column = try named()
        if take("is") {
            let isNegated = take("not")
            guard take("null") else { throw problem("null is expected after is") }
            return negated(isNegated, .isNull(column))
        }
        let isNegated = take("not")
        if take("in") { return negated(isNegated, .isOne(column, of: try list(of: column))) }
        if isAt("between") {
            try checkOrder(of: column)
            position += 1
            let least = try value(of: column)
            guard take("and") else { throw problem("and is expected between the two values") }
            return negated(isNegated, .between(column, least, try value(of: column)))
        }
        if take("like") { return negated(isNegated, .like(column, pattern: try pattern(for: column))) }
        guard !isNegated else { throw problem("in, between or like is expected after not") }
        let sign = try sign(for: column)
        return .comparison(column, sign, try value(of: column))
    }

    private func negated(_ isNegated: Bool, _ filter: UserFilter) -> UserFilter { isNegated ? .not(filter) : filter }

    private mutating func named() throws(WhereProblem) -> UserColumn {
        let name: String
        switch current.kind {
        case .word(let word): name = word
        case .name(let text): name = text
        case .text, .number: throw problem("a condition begins with the name of a property")
        case .symbol, .end: throw problem("the name of a property is expected")
        }
        let start = current.offset
        position += 1
        if isAt(symbol: "(") { throw WhereProblem("functions are not supported", at: start) }
        guard let column = column(name) else { throw WhereProblem("this property does not exist", at: start) }
        return column
    }

    private mutating func sign(for column: UserColumn) throws(WhereProblem) -> UserFilter.Sign {
        let start = current.offset
        var sign: UserFilter.Sign?
        if case .symbol(let symbol) = current.kind {
            sign = Self.signs[symbol]
            if sign != nil { position += 1 }
        } else if take("after") {
            sign = .greater
        } else if take("before") {
            sign = .less
        } else if take("at") {
            guard take("or") else { throw problem("or is expected after at") }
            if take("after") { sign = .atLeast } else if take("before") { sign = .atMost }
        }
        guard let sign else {
            throw WhereProblem("a comparison is expected: =, !=, <, <=, >, >=, like, in, between or is null", at: start)
        }
        let isOrder = sign != .equal && sign != .different
        if case .property(let property) = column {
            if property.type == .json { throw WhereProblem("a JSON property only supports is null", at: start) }
        }
        if isOrder { try checkOrder(of: column, at: start) }
        return sign
    }

    private func checkOrder(of column: UserColumn, at start: Int? = nil) throws(WhereProblem) {
        guard case .property(let property) = column, property.type == .boolean else { return }
        throw WhereProblem("truth values are equal or different, and have no order", at: start ?? current.offset)
    }

    private static let signs: [String: UserFilter.Sign] = [
        "=": .equal, "!=": .different, "<>": .different, "<": .less, "<=": .atMost, ">": .greater, ">=": .atLeast,
    ]

    private mutating func list(of column: UserColumn) throws(WhereProblem) -> [UserFilter.Value] {
        guard take(symbol: "(") else { throw problem("an opening parenthesis is expected after in") }
        if isAt("select") { throw problem("subqueries are not supported") }
        var values = [try value(of: column)]
        while take(symbol: ",") { values.append(try value(of: column)) }
        guard take(symbol: ")") else { throw problem("a comma or a closing parenthesis is expected") }
        return values
    }

    private mutating func pattern(for column: UserColumn) throws(WhereProblem) -> String {
        guard column.isText else { throw problem("like is for texts") }
        guard case .text(let pattern) = current.kind else { throw problem("a text in single quotes is expected") }
        // A single backslash at the end of a pattern is an error in PostgreSQL. It fails the query at the first row
        // whose match reaches the backslash.
        guard pattern.utf8.reversed().prefix(while: { $0 == UInt8(ascii: "\\") }).count.isMultiple(of: 2) else {
            throw problem("a pattern ends with a single backslash; write a backslash as two")
        }
        try count()
        position += 1
        return pattern
    }

    private mutating func count() throws(WhereProblem) {
        values += 1
        guard values <= Self.maxValues else { throw problem("a clause has at most \(Self.maxValues) values") }
    }

    private mutating func value(of column: UserColumn) throws(WhereProblem) -> UserFilter.Value {
        try count()
        let literal: WhereLiteral
        switch current.kind {
        case .text(let text): literal = .text(text)
        case .number(let text): literal = .number(text)
        case .word(let word):
            switch word.lowercased() {
            case "true": literal = .boolean(true)
            case "false": literal = .boolean(false)
            case "null": throw problem("nothing equals null; use is null or is not null")
            default:
                throw problem(
                    "a number or a text in single quotes is expected; columns can only be compared with values"
                )
            }
        case .name, .symbol, .end: throw problem("a number, or a text in single quotes, is expected")
        }
        guard let value = literal.value(for: column) else {
            throw problem("this value does not fit the property: \(column.valueRule)")
        }
        position += 1
        return value
    }
}
