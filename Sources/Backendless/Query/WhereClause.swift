import Domain
import Encodings

/// A parser of where clauses in Backendless' dialect (docs/protocols/backendless.md §3.6) into a checked tree.
///
/// A client's text becomes at most a value of the tree. Columns are looked up among those that the caller may see, and
/// keywords and operators become constants of this service.
struct WhereClause {
    /// The most bytes of a clause.
    static let mostBytes = 8192
    /// The deepest nesting of parentheses and `not`.
    static let mostDepth = 32
    /// The most values of one clause; each value of a list counts.
    static let mostValues = 1000

    private let tokens: [WhereToken]
    private var position = 0
    private var values = 0
    private let column: (String) -> UserColumn?

    /// Reads a clause.
    ///
    /// - Parameters:
    ///   - text: The clause, as received.
    ///   - column: Returns the column of a name; nil for a name that is unknown or hidden from the caller.
    /// - Returns: The tree; nil for a clause of nothing but spaces.
    /// - Throws: `query_invalid` with `position` in its details, the number of characters in front of the error.
    static func read(_ text: String, column: @escaping (String) -> UserColumn?) throws(Failure) -> UserFilter? {
        do throws(WhereProblem) {
            guard text.utf8.count <= mostBytes else {
                throw WhereProblem("a clause has at most \(mostBytes) bytes", at: mostBytes)
            }
            var clause = WhereClause(tokens: try WhereScanner.tokens(of: text), column: column)
            guard clause.current.kind != .end else { return nil }
            let filter = try clause.disjunction(depth: 0)
            guard clause.current.kind == .end else {
                throw clause.problem("the clause should have ended, or gone on with and or or")
            }
            return filter
        } catch {
            let position = scalars(before: error.offset, in: text)
            throw Failure(
                .queryInvalid,
                "The where clause cannot be used: \(error.text) (behind \(position) characters).",
                details: ["position": .integer(Int64(position))]
            )
        }
    }

    private init(tokens: [WhereToken], column: @escaping (String) -> UserColumn?) {
        self.tokens = tokens
        self.column = column
    }
}

/// Returns the number of Unicode scalars that begin in front of a byte.
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
        guard depth < Self.mostDepth else { throw problem("conditions are nested at most \(Self.mostDepth) deep") }
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
            guard take("null") else { throw problem("null is expected behind is") }
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
        guard !isNegated else { throw problem("in, between or like is expected behind not") }
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
        if isAt(symbol: "(") { throw WhereProblem("functions are not known here", at: start) }
        guard let column = column(name) else { throw WhereProblem("there is no such property", at: start) }
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
            guard take("or") else { throw problem("or is expected behind at") }
            if take("after") { sign = .atLeast } else if take("before") { sign = .atMost }
        }
        guard let sign else {
            throw WhereProblem("a comparison is expected: =, !=, <, <=, >, >=, like, in, between or is null", at: start)
        }
        let isOrder = sign != .equal && sign != .different
        if case .property(let property) = column {
            if property.type == .json { throw WhereProblem("a JSON value can only be asked for by is null", at: start) }
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
        guard take(symbol: "(") else { throw problem("an opening parenthesis is expected behind in") }
        if isAt("select") { throw problem("there are no queries within queries here") }
        var values = [try value(of: column)]
        while take(symbol: ",") { values.append(try value(of: column)) }
        guard take(symbol: ")") else { throw problem("a comma or a closing parenthesis is expected") }
        return values
    }

    private mutating func pattern(for column: UserColumn) throws(WhereProblem) -> String {
        guard column.isText else { throw problem("like is for texts") }
        guard case .text(let pattern) = current.kind else { throw problem("a text in single quotes is expected") }
        // PostgreSQL fails the query at the first row whose match reaches such a backslash.
        guard pattern.utf8.reversed().prefix(while: { $0 == UInt8(ascii: "\\") }).count.isMultiple(of: 2) else {
            throw problem("a pattern ends with a backslash that nothing follows; doubled it stands for itself")
        }
        try count()
        position += 1
        return pattern
    }

    private mutating func count() throws(WhereProblem) {
        values += 1
        guard values <= Self.mostValues else { throw problem("a clause has at most \(Self.mostValues) values") }
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
            case "null": throw problem("nothing equals null; ask for is null or is not null")
            default:
                throw problem(
                    "a number, or a text in single quotes, is expected; columns are compared with values alone"
                )
            }
        case .name, .symbol, .end: throw problem("a number, or a text in single quotes, is expected")
        }
        guard let value = literal.value(for: column) else {
            throw problem("this is no value of the property: \(column.valueRule)")
        }
        position += 1
        return value
    }
}
