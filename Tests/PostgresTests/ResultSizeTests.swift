import Testing

@testable import Postgres

extension WithPostgreSQL {
    @Suite("Results that are too large")
    struct ResultSizes {
        private static func excess(_ error: PostgresError?) -> ResultExcess? {
            guard case .tooLarge(let excess)? = error else { return nil }
            return excess
        }

        @Test("a row over the bound is an error that names its widest column, and its neighbours are answered")
        func row() async throws {
            try await withClient(
                nil,
                {
                    $0.pipelinedConnections = 1
                    $0.rowBytes = 100_000
                }
            ) { client in
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<200 {
                        group.addTask {
                            guard number % 20 == 7 else {
                                var row = try await client.query("SELECT \(number), repeat('x', 40000)").first
                                return try row?.next(Int.self) == number
                            }
                            let error = await postgresError {
                                _ = try await client.query("SELECT 'secret' AS first, repeat('secret', 20000) AS wide")
                            }
                            return Self.excess(error) == ResultExcess(limit: 100_000, column: "wide")
                                && error?.description.contains("secret") == false
                        }
                    }
                    let right = try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                    #expect(right == 200)
                }
                #expect(await client.status().connectionsLost == 0)
                try await expectServes(client)
            }
        }

        @Test("many rows that are each within the bound are taken up to the bound of all")
        func result() async throws {
            try await withClient(
                nil,
                {
                    $0.rowBytes = 100_000
                    $0.resultBytes = 1_000_000
                }
            ) { client in
                let rows: Statement = "SELECT repeat('x', 10000) FROM generate_series(1, 50)"
                #expect(try await client.query(rows).count == 50)
                let error = await postgresError {
                    _ = try await client.query("SELECT repeat('x', 10000) FROM generate_series(1, 500)")
                }
                #expect(Self.excess(error) == ResultExcess(limit: 1_000_000, column: nil))
                try await expectServes(client)
            }
        }

        @Test("the connection that a row over the bound came over is closed, and a transaction rolled back")
        func closed() async throws {
            try await withClient(
                nil,
                {
                    $0.pipelinedConnections = 1
                    $0.exclusiveConnections = 1
                    $0.rowBytes = 100_000
                }
            ) { client in
                _ = try await client.query("DROP TABLE IF EXISTS oversized")
                _ = try await client.query("CREATE TABLE oversized (a text)")
                func backend() async throws -> Int? {
                    try await client.query("SELECT pg_backend_pid()").first(Int.self)
                }
                let first = try await backend()
                let error = await postgresError { _ = try await client.query("SELECT repeat('x', 200000)") }
                #expect(Self.excess(error) != nil)
                #expect(try await backend() != first)

                let inside = await postgresError {
                    try await client.withTransaction { connection in
                        _ = try await connection.query("INSERT INTO oversized VALUES (repeat('x', 200000)) RETURNING a")
                    }
                }
                #expect(Self.excess(inside) != nil)
                #expect(try await client.query("SELECT FROM oversized").count == 0)
                let script = await postgresError {
                    try await client.withTransaction { connection in
                        try await connection.execute(script: "SELECT repeat('x', 200000)")
                    }
                }
                #expect(Self.excess(script) != nil)
                try await expectServes(client)
            }
        }
    }
}
