package import Postgres
package import Vocabulary

/// What a jsonb column holds, read by the one parser that there is.
///
/// PostgreSQL takes more than the parser does, and an operator may have put it there: then the column is malformed,
/// which is an error that names it (`Failure.unreadable`), never `null`.
extension JSONValue: PostgresValue {
    package static var nullType: Bind.NullType { .json }
    package var bind: Bind { .json(JSONText(text)) }

    package static func read(_ cell: Cell) throws(CellMismatch) -> JSONValue {
        let text = try JSONText.read(cell).text
        guard let value = try? JSONParser.parse(text, limits: .stored) else { throw .malformed }
        return value
    }
}

extension Failure {
    /// A column that does not hold what it was read as.
    static func undecodable(_ failure: DecodingFailure) -> Failure {
        switch failure.reason {
        case .wrongType: .otherColumns(cause: "\(failure)")
        case .malformed where failure.wanted == "\(JSONValue.self)": .unreadable(failure.column, cause: "\(failure)")
        case .null, .malformed, .absent:
            Failure(.internal, "The service could not read its own data.", cause: "\(failure)")
        }
    }

    /// JSON is stored that the parser refuses.
    static func unreadable(_ column: String, cause: String? = nil) -> Failure {
        Failure(
            .storedValueUnreadable,
            """
            The stored JSON of \(column) cannot be read: it is too large or too deep, or a number in it is no finite double. Its \
            operator has to mend it in the database.
            """,
            details: ["property": .string(column)],
            cause: cause
        )
    }

    /// More is stored than is read at once.
    static func tooLarge(_ excess: ResultExcess) -> Failure {
        guard let column = excess.column else {
            return Failure(
                .storedValueUnreadable,
                "This is more than \(excess.limit) bytes in all. Ask for less at once.",
                cause: "\(excess)"
            )
        }
        return Failure(
            .storedValueUnreadable,
            """
            A stored row has more than \(excess.limit) bytes, most of them in \(column), and is not read. Its operator has to mend it \
            in the database.
            """,
            details: ["property": .string(column)],
            cause: "\(excess)"
        )
    }
}
