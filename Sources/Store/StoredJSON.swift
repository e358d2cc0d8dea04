import Domain
package import Encodings
package import Postgres

/// The value of a jsonb column, read by the service's only JSON parser.
///
/// PostgreSQL accepts JSON that the parser refuses, and an operator may have stored such a value. Reading it throws an
/// error that names the column (`Failure.unreadable`). It is never read as `null`.
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
            The stored JSON of \(column) cannot be read: it is too large or too deep, or has a number that is not a \
            finite double. The operator must correct it in the database.
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
                "The result is larger than \(excess.limit) bytes. Request less at once.",
                cause: "\(excess)"
            )
        }
        return Failure(
            .storedValueUnreadable,
            """
            A stored row is larger than \(excess.limit) bytes, mostly because of \(column). The operator must shorten \
            it in the database.
            """,
            details: ["property": .string(column)],
            cause: "\(excess)"
        )
    }
}
