import CLibPQ
import Glibc

/// A session of the tests with PostgreSQL.
///
/// libpq blocks, so each statement runs on a thread of its own.
///
/// `@unchecked Sendable`: a session has one owner at a time, but the compiler cannot see this. ``SQLSessions`` lends a
/// session to one caller, and this caller returns the session after the last use.
final class SQLSession: @unchecked Sendable {
    private let connection: OpaquePointer?

    private init(url: String) {
        // The URL is the value of `dbname`. The other parameters are added to those in the URL.
        connection = withParameters(
            ["dbname", "connect_timeout", "client_encoding", "application_name"],
            [url, "5", "UTF8", SQLSessions.applicationName]
        ) { PQconnectdbParams($0, $1, 1) }
        PQsetNoticeReceiver(connection, { _, _ in }, nil)
    }

    deinit { PQfinish(connection) }

    /// Opens a session.
    ///
    /// - Throws: ``SQLFailure`` when the server refuses the connection.
    static func open(_ url: String) async throws -> SQLSession {
        try await onThread {
            let session = SQLSession(url: url)
            guard PQstatus(session.connection) == CONNECTION_OK else { throw session.failure() }
            return session
        }
    }

    /// Whether the session can run further statements.
    ///
    /// A readable socket shows that the server has ended the session, since no response is outstanding.
    var isAlive: Bool {
        PQstatus(connection) == CONNECTION_OK && PQtransactionStatus(connection) == PQTRANS_IDLE
            && !isReadable(within: 0)
    }

    /// Sends SQL statements to the server in one message, and waits for their results.
    ///
    /// The statements are one transaction unless they contain transaction commands.
    ///
    /// - Parameters:
    ///   - sql: The statements.
    ///   - limit: The time allowed. After it, the session is unusable.
    /// - Returns: The rows of all results, each value as text, `nil` for NULL.
    /// - Throws: ``SQLFailure``, ``DeadlinePassed``.
    func run(_ sql: String, within limit: Duration) async throws -> [[String?]] {
        try await Self.onThread { [self] in
            guard PQsendQuery(connection, sql) == 1 else { throw failure() }
            let deadline = ContinuousClock.now + limit
            var rows: [[String?]] = []
            var failed: SQLFailure?
            while let result = try nextResult(by: deadline, limit) {
                defer { PQclear(result) }
                switch PQresultStatus(result) {
                case PGRES_TUPLES_OK: rows += Self.rows(of: result)
                case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
                default: failed = SQLFailure(message: String(cString: PQresultErrorMessage(result)))
                }
            }
            if let failed { throw failed }
            return rows
        }
    }

    private func nextResult(by deadline: ContinuousClock.Instant, _ limit: Duration) throws -> OpaquePointer? {
        while PQisBusy(connection) == 1 {
            guard ContinuousClock.now < deadline else {
                throw DeadlinePassed(what: "an answer of PostgreSQL", limit: limit, lastError: nil)
            }
            if isReadable(within: 100), PQconsumeInput(connection) == 0 { throw failure() }
        }
        return PQgetResult(connection)
    }

    private func isReadable(within milliseconds: Int32) -> Bool {
        var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, milliseconds) > 0
    }

    private func failure() -> SQLFailure { SQLFailure(message: String(cString: PQerrorMessage(connection))) }

    private static func rows(of result: OpaquePointer) -> [[String?]] {
        (0..<PQntuples(result)).map { row in
            (0..<PQnfields(result)).map { column in
                PQgetisnull(result, row, column) == 1
                    ? nil : PQgetvalue(result, row, column).map { String(cString: $0) }
            }
        }
    }

    private static func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { done in
            startThread { done.resume(with: Swift.Result { try body() }) }
        }
    }
}

/// An error: PostgreSQL refused a connection or a statement, or ended the session.
package struct SQLFailure: Error, CustomStringConvertible {
    /// The message of libpq or of the server, as `psql` prints it.
    package let message: String

    package var description: String { message }
}

/// Keeps idle database sessions for reuse, separately for each database URL.
actor SQLSessions {
    static let shared = SQLSessions()

    /// The name of these sessions in `pg_stat_activity`.
    static let applicationName = "tests"

    private var idle: [String: [SQLSession]] = [:]

    /// Runs statements on a session that no other caller uses meanwhile.
    ///
    /// The session is reset afterwards.
    func run(_ sql: String, at url: String, within limit: Duration) async throws -> [[String?]] {
        let session = try await take(url)
        // A session is not reused after a failure, since it may be in a transaction or in the middle of a response.
        let rows = try await session.run(sql, within: limit)
        if session.isAlive, (try? await session.run("DISCARD ALL", within: limit)) != nil {
            idle[url, default: []].append(session)
        }
        return rows
    }

    /// Closes the pooled sessions of a database.
    func end(_ url: String) { idle[url] = nil }

    private func take(_ url: String) async throws -> SQLSession {
        while let session = idle[url]?.popLast() {
            if session.isAlive { return session }
        }
        return try await SQLSession.open(url)
    }
}

/// Calls a closure with names and values as the null-terminated arrays that libpq takes.
private func withParameters<Result>(
    _ names: [String],
    _ values: [String],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
    let copies = (names + values).map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    let pointers = copies.map { UnsafePointer($0) }
    return body(Array(pointers[..<names.count]) + [nil], Array(pointers[names.count...]) + [nil])
}
