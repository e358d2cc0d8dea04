/// A value of a statement whose text is made once and run with other values each time.
package struct Parameter<Input>: Sendable {
    /// Parameters of one name are one parameter.
    package let name: String
    fileprivate let type: String?
    fileprivate let value: @Sendable (Input) -> Bind

    /// Says what the value is.
    ///
    /// - Parameters:
    ///   - name: By what the text refers to it.
    ///   - type: The SQL type that it is cast to; nil where the value's own is what the text needs.
    ///   - value: Finds the value in what the statement is run with.
    package init(_ name: String, as type: String? = nil, value: @escaping @Sendable (Input) -> Bind) {
        self.name = name
        self.type = type
        self.value = value
    }
}

/// A part of a statement whose text is made once: SQL with parameters by their names.
///
/// Parts are put together by interpolation, and none knows which number a parameter will have in the whole:
/// ```swift
/// let owner: SQL<Login> = "select object_id from identities where subject = \(.subject)"
/// let statement = StatementTemplate("select * from users where object_id = (\(owner))")
/// ```
package struct SQL<Input>: Sendable {
    fileprivate enum Piece: Sendable {
        /// Text of the program, whose lines can be moved to the right.
        case text(String)
        /// Text that stays as it is to the byte.
        case verbatim(String)
        case parameter(Parameter<Input>)
    }

    fileprivate var pieces: [Piece] = []

    /// The text, with the placeholder that `placeholder` gives each parameter.
    ///
    /// - Parameters:
    ///   - isIndented: Whether the lines begin as far to the right as they do for a reader.
    ///   - placeholder: Gives a placeholder.
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

    /// The part with its values, for a statement that is made anew each time it is run.
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
    /// The text with the names of its parameters, each behind a colon.
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
        /// How far the current line is moved to the right.
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

        /// Refers to a parameter.
        package mutating func appendInterpolation(_ parameter: Parameter<Input>) {
            sql.pieces.append(.parameter(parameter))
        }

        /// Adds another part, whose lines begin where the current one does.
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

        /// Adds a name (of a table, a column, …) in quotes, so that it is nothing but a name.
        package mutating func appendInterpolation(identifier: String) {
            sql.pieces.append(.verbatim(Statement.quoted(identifier: identifier)))
        }

        /// Adds a text in quotes, so that it is nothing but a value.
        package mutating func appendInterpolation(literal: String) {
            sql.pieces.append(.verbatim(Statement.quoted(literal: literal)))
        }

        /// Adds text as it is.
        ///
        /// Only for text that this program made itself and that holds no placeholder.
        package mutating func appendInterpolation(unsafeRaw text: String) {
            sql.pieces.append(.verbatim(text))
        }
    }
}

extension Sequence {
    /// The parts one behind the other, with a text between them.
    package func joined<Input>(separator: String) -> SQL<Input> where Element == SQL<Input> {
        var joined = SQL<Input>()
        for (position, part) in enumerated() {
            if position > 0 { joined.pieces.append(.text(separator)) }
            joined.pieces += part.pieces
        }
        return joined
    }
}

/// A statement whose text is complete and whose values are still to come.
///
/// The parameters get their numbers here, in the order in which the text refers to them first. Lines are not indented,
/// since every connection keeps the text.
package struct StatementTemplate<Input>: Sendable {
    /// The text, with placeholders `$1`, `$2`, ….
    package let sql: String
    /// In the order of their numbers.
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

    /// The statement with the values of one run.
    package func filled(with input: Input) -> Statement {
        var binds: [Bind] = []
        binds.reserveCapacity(numbered.count)
        // `map` takes three times as long where the type of the input is not known.
        for parameter in numbered { binds.append(parameter.value(input)) }
        return Statement(sql: sql, binds: binds)
    }
}
