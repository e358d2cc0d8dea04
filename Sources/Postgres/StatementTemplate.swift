/// A named parameter of a ``StatementTemplate``; each run of the statement gives it a new value.
package struct Parameter<Input>: Sendable {
    /// The name; parameters with the same name are the same parameter.
    package let name: String
    fileprivate let type: String?
    fileprivate let value: @Sendable (Input) -> Bind

    /// Creates a parameter.
    ///
    /// - Parameters:
    ///   - name: The name by which the text refers to the parameter.
    ///   - type: The SQL type to cast the value to; nil for the value's own type.
    ///   - value: Computes the value from the input of a run.
    package init(_ name: String, as type: String? = nil, value: @escaping @Sendable (Input) -> Bind) {
        self.name = name
        self.type = type
        self.value = value
    }

    /// Creates a parameter whose value may be NULL.
    package init<Value: PostgresValue>(
        _ name: String,
        as type: String? = nil,
        of value: @escaping @Sendable (Input) -> Value?
    ) {
        self.init(name, as: type) { Bind(value($0)) }
    }
}

/// SQL text with named parameters: a part of a ``StatementTemplate``.
///
/// Parts are composed by interpolation. Only the complete statement numbers its parameters:
/// ```swift
/// let owner: SQL<Login> = "select object_id from identities where subject = \(.subject)"
/// let statement = StatementTemplate("select * from users where object_id = (\(owner))")
/// ```
package struct SQL<Input>: Sendable {
    fileprivate enum Piece: Sendable {
        /// SQL text, whose lines can be re-indented.
        case text(String)
        /// Text that is kept byte for byte.
        case verbatim(String)
        case parameter(Parameter<Input>)
    }

    fileprivate var pieces: [Piece] = []

    /// Returns the text, with a placeholder for each parameter.
    ///
    /// - Parameters:
    ///   - isIndented: Whether lines keep their indentation.
    ///   - placeholder: Returns the placeholder of a parameter.
    /// - Returns: The text.
    fileprivate func text(isIndented: Bool, _ placeholder: (Parameter<Input>) -> String) -> String {
        var text = ""
        for piece in pieces {
            switch piece {
            case .verbatim(let part): text += part
            case .text(let part) where isIndented: text += part
            case .text(let part):
                let lines = part.split(separator: "\n", omittingEmptySubsequences: false)
                text += lines[0]
                for line in lines.dropFirst() { text += "\n" + line.drop { $0 == " " } }
            case .parameter(let parameter):
                text += placeholder(parameter)
                if let type = parameter.type { text += "::" + type }
            }
        }
        return text
    }

    /// Returns this part as a statement, with the values that its parameters have for `input`.
    ///
    /// The statement is meant to be interpolated into others whose text differs at each run.
    package func bound(to input: Input) -> Statement {
        var statement = Statement.StringInterpolation(literalCapacity: 0, interpolationCount: 0)
        for piece in pieces {
            switch piece {
            case .text(let part), .verbatim(let part): statement.appendLiteral(part)
            case .parameter(let parameter):
                statement.appendInterpolation(bind: parameter.value(input))
                if let type = parameter.type { statement.appendLiteral("::" + type) }
            }
        }
        return Statement(stringInterpolation: statement)
    }
}

extension SQL: CustomStringConvertible {
    /// The text, in which each parameter appears as a colon and its name.
    package var description: String { text(isIndented: true) { ":" + $0.name } }
}

extension SQL: ExpressibleByStringInterpolation {
    package init(stringLiteral value: String) {
        pieces = [.text(value)]
    }

    package init(stringInterpolation: StringInterpolation) {
        pieces = stringInterpolation.sql.pieces
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var sql = SQL()
        /// The spaces at the start of the current line.
        private var indentation = ""

        package init(literalCapacity: Int, interpolationCount: Int) {
            sql.pieces.reserveCapacity(2 * interpolationCount + 1)
        }

        package mutating func appendLiteral(_ literal: String) {
            guard !literal.isEmpty else { return }
            if let line = literal.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().last {
                indentation = String(line.prefix { $0 == " " })
            }
            sql.pieces.append(.text(literal))
        }

        /// Appends a reference to a parameter.
        package mutating func appendInterpolation(_ parameter: Parameter<Input>) {
            sql.pieces.append(.parameter(parameter))
        }

        /// Appends another part of a statement, and indents its lines like the current line.
        package mutating func appendInterpolation(_ part: SQL) {
            for piece in part.pieces {
                guard case .text(let text) = piece, !indentation.isEmpty else {
                    sql.pieces.append(piece)
                    continue
                }
                let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
                sql.pieces.append(.text(lines.joined(separator: "\n" + indentation)))
            }
        }

        /// Appends an identifier (of a table, a column, …) in quotes.
        ///
        /// The quotes keep it from being read as SQL.
        package mutating func appendInterpolation(identifier: String) {
            sql.pieces.append(.verbatim(Statement.quoted(identifier: identifier)))
        }

        /// Appends a string literal in quotes.
        ///
        /// The quotes keep it from being read as SQL.
        package mutating func appendInterpolation(literal: String) {
            sql.pieces.append(.verbatim(Statement.quoted(literal: literal)))
        }

        /// Appends text unchanged.
        ///
        /// Only for text that this program built itself and that holds no placeholder.
        package mutating func appendInterpolation(unsafeRaw text: String) {
            sql.pieces.append(.verbatim(text))
        }
    }
}

extension Sequence {
    /// Returns the parts, concatenated with a separator between them.
    package func joined<Input>(separator: String) -> SQL<Input> where Element == SQL<Input> {
        var joined = SQL<Input>()
        for (position, part) in enumerated() {
            if position > 0 { joined.pieces.append(.text(separator)) }
            joined.pieces += part.pieces
        }
        return joined
    }
}

/// A statement whose text is complete; only the values of its parameters are supplied at each run.
///
/// Parameters are numbered in the order of their first use in the text. The indentation of lines is removed, since
/// every connection keeps the text in memory.
package struct StatementTemplate<Input>: Sendable {
    /// The text, with placeholders `$1`, `$2`, ….
    package let sql: String
    /// The parameters in the order of their numbers.
    private let numbered: [Parameter<Input>]

    /// The names of the parameters in the order of their numbers.
    package var parameters: [String] { numbered.map(\.name) }

    package init(_ parts: SQL<Input>) {
        var numbers: [String: Int] = [:]
        var parameters: [Parameter<Input>] = []
        sql = parts.text(isIndented: false) { parameter in
            if let number = numbers[parameter.name] { return "$\(number)" }
            parameters.append(parameter)
            numbers[parameter.name] = parameters.count
            return "$\(parameters.count)"
        }
        numbered = parameters
    }

    /// Returns the statement with the values for one run.
    package func filled(with input: Input) -> Statement {
        var binds: [Bind] = []
        binds.reserveCapacity(numbered.count)
        // `map` takes three times as long when the type of the input is not known.
        for parameter in numbered { binds.append(parameter.value(input)) }
        return Statement(sql: sql, binds: binds)
    }
}
