import Testing

@testable import Postgres

@Suite("Connections that have learnt too much")
struct RenewalTests {
    private static let bound = 100 * 264

    private func bounded(_ configuration: inout PostgresConfiguration) {
        configuration.pipelinedConnections = 2
        configuration.exclusiveConnections = 1
        configuration.preparedBytes = 10 * 264
        configuration.discardedBytes = Self.bound
    }

    @Test("give way to others while all statements are answered, and none counts as lost")
    func lanes() async throws {
        try await withClient(nil, bounded) { client in
            var processes: Set<Int> = []
            var round = 0
            // A connection is renewed after a hundred statements, or later if another one is being renewed: busy
            // machines need more statements.
            while round < 10 || processes.count < 6 && round < 200 {
                round += 1
                try await withThrowingTaskGroup(of: Int?.self) { group in
                    for number in 0..<100 {
                        group.addTask { [round] in
                            let text = Statement(sql: "SELECT pg_backend_pid()::bigint, \(round), \(number)")
                            var row = try await client.query(text).first
                            return try row?.next(Int.self)
                        }
                    }
                    for try await process in group { processes.insert(try #require(process)) }
                }
            }
            #expect(processes.count >= 6)
            let status = await client.status()
            #expect(status.connectionsLost == 0 && status.connectFailures == 0)
            #expect(await eventually { await client.status().pipelinedOpen == 2 })
        }
    }

    @Test("are not lent again")
    func leases() async throws {
        try await withClient(nil, bounded) { client in
            var processes: [Int] = []
            for number in 0..<300 {
                let row = try await client.withTransaction { connection in
                    try await connection.query(Statement(sql: "SELECT pg_backend_pid()::bigint, \(number)")).first
                }
                var found = try #require(row)
                processes.append(try found.next(Int.self))
            }
            #expect((2...4).contains(Set(processes).count))
            #expect(await client.status().connectionsLost == 0)
        }
    }

    @Test("are a pooler's own affair where nothing is prepared")
    func pooler() async throws {
        try await withClient(
            nil,
            {
                bounded(&$0)
                $0.preparedStatements = false
            }
        ) { client in
            var processes: Set<Int> = []
            for number in 0..<500 {
                let text = Statement(sql: "SELECT pg_backend_pid()::bigint, \(number)")
                let row = try await client.query(text).first
                var found = try #require(row)
                processes.insert(try found.next(Int.self))
            }
            #expect(processes.count <= 2)
        }
    }
}
