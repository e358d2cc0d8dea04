import Postgres
import Tracing

/// A database client that records a span for each statement or transaction of a traced request.
///
/// A span contains neither the statement, which names properties, nor the values, which are users' data.
struct TracedClient: Sendable {
    let client: PostgresClient

    nonisolated(nonsending) func query(
        _ statement: Statement,
        near affinity: Affinity? = nil,
        isRare: Bool = false
    ) async throws(PostgresError) -> ResultSet {
        guard let span = Self.span("postgresql statement") else {
            return try await client.query(statement, near: affinity, isRare: isRare)
        }
        defer { span.end() }
        do throws(PostgresError) {
            return try await client.query(statement, near: affinity, isRare: isRare)
        } catch {
            span.setStatus(SpanStatus(code: .error))
            throw error
        }
    }

    func withTransaction<Result: Sendable>(
        isRepeated: Bool = true,
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        let span = Self.span("postgresql transaction")
        defer { span?.end() }
        return try await client.withTransaction(isRepeated: isRepeated, body)
    }

    func withConnection<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        try await client.withConnection(body)
    }

    /// Returns a new span; nil where the request is not traced.
    private static func span(_ name: String) -> (any Span)? {
        guard let context = InstrumentationContext.current else { return nil }
        let span = startSpan(name, context: context, ofKind: .client)
        if span.isRecording { span.attributes = ["db.system.name": "postgresql"] }
        return span
    }
}
