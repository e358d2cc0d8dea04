import Domain
package import Encodings
package import Postgres

/// The value of a jsonb column, read by the service's only JSON parser.
///
/// PostgreSQL accepts more than the parser, and an operator may have stored such a value. The column is then malformed:
/// an error names it (`Failure.unreadable`), and it is never read as `null`.
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
    /// Returns the failure for a column whose value cannot be read as the expected type.
    static func undecodable(_ failure: DecodingFailure) -> Failure {
        switch failure.reason {
        case .wrongType: .otherColumns(cause: "\(failure)")
        case .malformed where failure.wanted == "\(JSONValue.self)": .unreadable(failure.column, cause: "\(failure)")
        case .null, .malformed, .absent, .surplus:
            Failure(.internal, "The service could not read its own data.", cause: "\(failure)")
        }
    }

    /// Returns the failure for stored JSON that the parser refuses.
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

    /// Returns the failure for a result that exceeds the limit of bytes.
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
