/// The reason why a request to PostgreSQL failed.
///
/// No description contains the value of a parameter or a column. ``ServerError/message`` may repeat a value and is
/// therefore left out of descriptions.
package enum PostgresError: Error, Sendable {
    /// The server refused the statement; it had no effect.
    case server(ServerError)
    /// The connection broke.
    ///
    /// If `outcomeUnknown` is true, the statement had been sent and may have been carried out. Otherwise it had no
    /// effect.
    case connectionLost(outcomeUnknown: Bool)
    /// No connection is open, and none was opened within `leaseTimeout`.
    ///
    /// The value is the failure of the latest attempt to connect, if there was one.
    case unavailable(ConnectFailure?)
    /// Connections are open, but none came free within `leaseTimeout`.
    case leaseTimeout
    /// Too many statements or callers already wait for a connection; nothing was sent.
    case overloaded
    /// The task was cancelled. A statement that had been sent may still be carried out.
    case cancelled
    /// A column does not hold the expected type of value.
    case decoding(DecodingFailure)
    /// The result exceeds a size limit. The statement has run; outside of a transaction its effect is permanent.
    case tooLarge(ResultExcess)
    /// The program itself refuses to send the statement, for the given reason; nothing was sent.
    case withheld(String)
    /// The client has been shut down; nothing was sent.
    case shutDown
    /// A leased connection was used after the closure that it was leased to had returned; nothing was sent.
    case leaseEnded
    /// The statement cannot be sent at all.
    case invalidStatement(InvalidStatement)
}

/// The reason why an attempt to connect failed.
package struct ConnectFailure: Sendable, Hashable {
    /// The error message, on one line.
    ///
    /// It may name host, port, user and database, never the password.
    package let text: String
    /// The SQLSTATE of the server's refusal, if the server responded.
    package let sqlState: SQLState?
    /// Whether a retry is useless: attempts to connect to this host will fail until an operator changes something.
    package let isFinal: Bool

    /// Whether the configuration is wrong, as opposed to a server that is down.
    package var isMisconfigured: Bool { isFinal && !isRefused }

    /// Whether the server itself refused the connection, for a reason that will make it refuse again.
    package var isOfServer: Bool { sqlState.map(Self.finalCodes.contains) ?? false }

    /// Whether nothing listens at the address.
    private var isRefused: Bool { Self.refusals.contains { text.contains($0) } }

    /// The system's messages for `ECONNREFUSED` and for a missing socket.
    private static let refusals = ["Connection refused", "No such file or directory"]

    /// libpq's messages for a server whose TLS or password authentication does not meet the client's requirements.
    private static let otherSecurity = [
        "does not support SSL", "certificate verify failed", "does not match host name", "root certificate file",
        "channel binding required",
    ]

    /// The codes of refusals that a retry cannot change.
    ///
    /// They mean: unknown role or database, wrong password, role that may not connect.
    private static let finalCodes: Set<SQLState> = ["28P01", "28000", "3D000", "42501"]

    package init(text: String, sqlState: SQLState? = nil, isFinal: Bool = false) {
        self.text = text
        self.sqlState = sqlState
        self.isFinal =
            isFinal
            || sqlState.map(Self.finalCodes.contains)
                ?? (Self.refusals + Self.otherSecurity).contains { text.contains($0) }
    }

    private static func isOfCode(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }

    /// Parses an error message of libpq, in the verbose format `PQERRORS_VERBOSE`, and replaces `password` in it by
    /// dots.
    ///
    /// If the server wrote the message, the error code follows the severity (such as `FATAL`). The last line, which
    /// names a position in PostgreSQL's source code, is left out.
    init(libpq message: String, hiding password: String?) {
        let lines = message.split(separator: "\n").map { line in line.drop { $0 == " " || $0 == "\t" } }
        var text = lines.filter { !$0.hasPrefix("LOCATION: ") }.joined(separator: "; ")
        var code: SQLState?
        if let severity = text.firstRange(of: ":  ") {
            let rest = text[severity.upperBound...]
            let characters = rest.prefix(5)
            if characters.utf8.count == 5, characters.utf8.allSatisfy(Self.isOfCode),
                rest.dropFirst(5).hasPrefix(": ")
            {
                code = SQLState(bytes: characters.utf8)
                text = "\(text[..<severity.lowerBound]): \(rest.dropFirst(7))"
            }
        }
        // libpq does not repeat the password, but a pooler in between may.
        if let password, !password.isEmpty { text.replace(password, with: "•••") }
        self.init(text: String(decoding: text.utf8.prefix(500), as: UTF8.self), sqlState: code)
    }
}

/// The reason why a statement was not sent.
package enum InvalidStatement: Sendable, Hashable {
    /// The text holds a NUL. libpq would cut the text there.
    case nulInText
    /// The statement has more than 65,535 values, or all its values together have more than 1 GB.
    case tooManyOrTooLargeBinds
    /// A script was submitted while the connection has a request in flight, or any request while it has a script in
    /// flight. A script must be alone.
    case scriptNotAlone
}

/// The server's error for a statement that it refused.
package struct ServerError: Sendable, Hashable {
    package let sqlState: SQLState
    package let schema: String?
    package let table: String?
    package let column: String?
    package let constraint: String?
    package let dataType: String?
    /// The row of a COPY that the error is about; the first row is 1.
    package let row: Int?
    /// The server's primary message.
    ///
    /// It may repeat a value that was sent, as the message of 22P02 does. So it must not get into a log or a response.
    package let message: String
}

extension ServerError {
    /// Returns the same error, with the names of the schema, table, column and constraint that it is about.
    package func naming(schema: String, table: String, column: String?, constraint: String?) -> ServerError {
        ServerError(
            sqlState: sqlState,
            schema: schema,
            table: table,
            column: column,
            constraint: constraint,
            dataType: dataType,
            row: row,
            message: message
        )
    }
}

/// A column that does not hold the expected type of value.
package struct DecodingFailure: Sendable, Hashable {
    package enum Reason: Sendable, Hashable {
        /// The column's type cannot be converted to the Swift type.
        case wrongType
        /// The column is NULL, and the Swift type is not optional.
        case null
        /// The bytes are not a value of the column's type, or the Swift type cannot hold the value.
        case malformed
        /// There is no such column.
        case absent
        /// The row has more columns than the program reads.
        case surplus
    }

    package let reason: Reason
    /// The column's name, or its position if it has none.
    package let column: String
    /// The SQL name of the column's type.
    package let found: String
    /// The expected Swift type.
    package let wanted: String
}

extension PostgresError {
    /// The reaction that the error calls for; see ``SQLState/handling``.
    package var handling: Handling {
        switch self {
        case .server(let error): error.sqlState.handling
        case .connectionLost: .dropConnection
        case .unavailable, .leaseTimeout, .overloaded, .withheld, .shutDown: .wait
        case .cancelled, .decoding, .tooLarge, .leaseEnded, .invalidStatement: .other
        }
    }

    /// Whether the connection on which the statement failed should be closed once it is idle.
    var endsConnection: Bool {
        if case .tooLarge = self { return true }
        return handling == .dropConnection
    }

    /// The server's code, if the server refused the statement.
    package var sqlState: SQLState? {
        guard case .server(let error) = self else { return nil }
        return error.sqlState
    }

    /// The violated constraint, if there is one.
    package var constraint: String? {
        guard case .server(let error) = self else { return nil }
        return error.constraint
    }
}

extension PostgresError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .server(let error): error.description
        case .connectionLost(outcomeUnknown: true): "connection to PostgreSQL lost, outcome of the statement unknown"
        case .connectionLost(outcomeUnknown: false): "connection to PostgreSQL lost, nothing was carried out"
        case .unavailable(let failure):
            "no connection to PostgreSQL" + (failure.map { ": \($0.text)" } ?? "")
        case .leaseTimeout: "no PostgreSQL connection came free in time"
        case .overloaded: "too many statements are waiting for PostgreSQL"
        case .cancelled: "cancelled while waiting for PostgreSQL"
        case .decoding(let failure): failure.description
        case .tooLarge(let excess): excess.description
        case .withheld(let reason): reason
        case .shutDown: "the PostgreSQL client has been shut down"
        case .leaseEnded: "a PostgreSQL connection was used after its lease had ended"
        case .invalidStatement(.nulInText): "statement not sent: its text holds a NUL"
        case .invalidStatement(.tooManyOrTooLargeBinds): "statement not sent: too many values or too large a value"
        case .invalidStatement(.scriptNotAlone): "script not sent: a statement is in flight on its connection"
        }
    }
}

extension ServerError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The error code and the names of the objects that the error is about, never the server's message.
    package var description: String {
        var text = "PostgreSQL error \(sqlState)"
        if let constraint { text += ", constraint \(constraint)" }
        if let table { text += ", table \(schema.map { "\($0)." } ?? "")\(table)" }
        if let column { text += ", column \(column)" }
        if let dataType { text += ", type \(dataType)" }
        if let row { text += ", row \(row)" }
        return text
    }

    package var debugDescription: String { description }

    package var customMirror: Mirror { Mirror(self, children: ["sqlState": sqlState]) }
}

extension DecodingFailure: CustomStringConvertible {
    package var description: String {
        switch reason {
        case .wrongType: "column \(column) is \(found) and cannot be read as \(wanted)"
        case .null: "column \(column) (\(found)) is NULL and was read as \(wanted)"
        case .malformed: "column \(column) (\(found)) holds a value that \(wanted) cannot represent"
        case .absent: "there is no column \(column) to be read as \(wanted)"
        case .surplus: "column \(column) is \(found) and nobody reads it"
        }
    }
}
