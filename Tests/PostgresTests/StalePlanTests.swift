import NIOConcurrencyHelpers
import Testing

@testable import Postgres

extension WithPostgreSQL {
    @Suite("Tables that others change under prepared statements")
    struct StalePlans {
        /// The other session's changes of the table `changing (a bigint, b text)`, and its columns afterwards.
        static let changes = [
            ("ADD c bigint", ["a", "b", "c"]), ("DROP b", ["a"]), ("RENAME b TO renamed", ["a", "renamed"]),
            ("ALTER a TYPE text", ["a", "b"]),
        ]

        private func makeTable(_ cluster: Cluster) async throws {
            try await cluster.psql("DROP TABLE IF EXISTS changing")
            try await cluster.psql("CREATE TABLE changing (a bigint, b text)")
            try await cluster.psql("INSERT INTO changing VALUES (1, 'x')")
        }

        @Test("single statements go on without an error, on every connection", arguments: changes)
        func single(change: String, columns: [String]) async throws {
            let cluster = try await Cluster.shared
            try await makeTable(cluster)
            try await withClient(
                nil,
                { configuration in
                    patient(&configuration)
                    configuration.pipelinedConnections = 4
                    configuration.pipelineDepth = 1
                }
            ) { client in
                /// Runs a statement on each connection at once; the statements end when all of them are under way.
                @Sendable func atOnce(_ statement: Statement) async throws -> [ResultSet] {
                    let statements = try await whileHeld {
                        let statements = (0..<4).map { _ in Task { try await client.query(statement) } }
                        let areUnderWay = await eventually { await client.status().statementsInFlight == 4 }
                        #expect(areUnderWay)
                        return statements
                    }
                    var sets: [ResultSet] = []
                    for statement in statements { sets.append(try await statement.value) }
                    return sets
                }
                /// Returns the columns as each connection sees them, by its backend's process id.
                @Sendable func everywhere() async throws -> [Int: [String]] {
                    let sets = try await atOnce(
                        """
                        SELECT pg_backend_pid()::bigint, pg_advisory_xact_lock_shared(4711)::text, changing.*
                        FROM changing
                        """
                    )
                    return try sets.reduce(into: [:]) { columns, set in
                        var row = set.first
                        columns[try row?.next(Int.self) ?? 0] = Array(set.columnNames.dropFirst(2))
                    }
                }
                let open = await eventually { await client.status().pipelinedOpen == 4 }
                #expect(open)
                let before = try await everywhere()
                #expect(before.values.allSatisfy { $0 == ["a", "b"] })
                try await cluster.psql("ALTER TABLE changing \(change)")
                for _ in 0..<2 {
                    let after = try await everywhere()
                    #expect(after.keys.sorted() == before.keys.sorted())
                    #expect(after.values.allSatisfy { $0 == columns })
                }
                // The statement is prepared again, and the old plan is gone.
                let prepared = try await atOnce(
                    """
                    SELECT count(*), pg_advisory_xact_lock_shared(4711)::text FROM pg_prepared_statements
                    WHERE statement LIKE 'SELECT pg_backend_pid()%'
                    """
                ).map { set -> Int? in
                    var row = set.first
                    return try row?.next(Int.self)
                }
                #expect(prepared == [1, 1, 1, 1])
                #expect(await client.status().connectionsLost == 0)
            }
        }

        @Test("a transaction runs once more at most, however many of its statements and connections are concerned")
        func transactions() async throws {
            let cluster = try await Cluster.shared
            try await makeTable(cluster)
            try await withClient(nil, { $0.exclusiveConnections = 4 }) { client in
                /// Runs four transactions of five statements at once, and returns how often each transaction ran.
                @Sendable func transactions(columns: Int) async throws -> [Int] {
                    let begun = NIOLockedValueBox(0)
                    return try await withThrowingTaskGroup(of: Int.self) { group in
                        for _ in 0..<4 {
                            group.addTask {
                                let runs = NIOLockedValueBox(0)
                                try await client.withTransaction { connection in
                                    runs.withLockedValue { $0 += 1 }
                                    // All four are open at once, so each has a connection of its own.
                                    begun.withLockedValue { $0 += 1 }
                                    let haveBegun = await eventually { begun.withLockedValue { $0 } >= 4 }
                                    #expect(haveBegun)
                                    for number in 0..<5 {
                                        let text = "SELECT changing.* FROM changing WHERE \(number) = \(number)"
                                        let set = try await connection.query(Statement(sql: text))
                                        #expect(set.columnCount == columns)
                                    }
                                }
                                return runs.withLockedValue { $0 }
                            }
                        }
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                }
                #expect(try await transactions(columns: 2) == [1, 1, 1, 1])
                try await cluster.psql("ALTER TABLE changing ADD c bigint")
                let runs = try await transactions(columns: 3)
                #expect(runs.max() == 2)
                #expect(try await transactions(columns: 3) == [1, 1, 1, 1])
                #expect(await client.status().connectionsLost == 0)
            }
        }

        @Test("a statement that the change has made wrong fails with its own error, until the change is undone")
        func wrong() async throws {
            let cluster = try await Cluster.shared
            try await makeTable(cluster)
            try await withClient(nil, { $0.pipelinedConnections = 1 }) { client in
                for _ in 0..<2 {
                    #expect(try await client.query("SELECT b FROM changing").count == 1)
                    try await cluster.psql("ALTER TABLE changing RENAME b TO renamed")
                    for _ in 0..<2 {
                        let error = await postgresError { _ = try await client.query("SELECT b FROM changing") }
                        #expect(error?.sqlState == "42703")
                    }
                    try await cluster.psql("ALTER TABLE changing RENAME renamed TO b")
                }
                #expect(try await client.query("SELECT b FROM changing").count == 1)
            }
        }
    }
}
