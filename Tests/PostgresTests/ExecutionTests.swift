import FoundationEssentials
import NIOConcurrencyHelpers
import Testing

@testable import Postgres

extension WithPostgreSQL {
    @Suite("Statements on the server")
    struct Execution {
        @Test("an injection stays a value, and an identifier a name")
        func injection() async throws {
            let table = "we\"ird; table \(UUID())"
            try await withClient { client in
                _ = try await client.query("CREATE TABLE \(identifier: table) (\(identifier: "a\"b") text)")
                let text = "'); DROP TABLE \(Statement.quoted(identifier: table)); --"
                let inserted = try await client.query("INSERT INTO \(identifier: table) VALUES (\(text))")
                #expect(inserted.affectedRows == 1)
                #expect(inserted.commandTag == "INSERT 0 1")
                let set = try await client.query(
                    "SELECT \(identifier: "a\"b") FROM \(identifier: table) WHERE \(identifier: "a\"b") = \(text)"
                )
                #expect(set.columnNames == ["a\"b"])
                #expect(try set.first(String.self) == text)
                _ = try await client.query("DROP TABLE \(identifier: table)")
            }
        }

        @Test("a template runs with its values, and one parameter can stand twice")
        func template() async throws {
            struct Input {
                let number: Int64
                let text: String
            }
            try await withClient { client in
                let number = Parameter<Input>("number") { .int64($0.number) }
                let text = Parameter<Input>("text") { .text($0.text) }
                let template = StatementTemplate<Input>(
                    "SELECT \(number) + \(number) AS a, '$1' AS b, \(text) AS c, \(number) AS d"
                )
                let row = try await client.query(template.filled(with: Input(number: 2, text: "x")))
                    .first(Int.self, String.self, String.self, Int.self)
                #expect(row.map { $0 == (4, "$1", "x", 2) } == true)
            }
        }

        @Test("a statement inside another one runs with its values")
        func composition() async throws {
            try await withClient { client in
                let inner: Statement = "SELECT \(2) + \(2) AS a, '$1' AS b, \("x") AS c"
                let row = try await client.query("SELECT \(1) AS one, t.* FROM (\(inner)) t")
                    .first(Int.self, Int.self, String.self, String.self)
                #expect(row.map { $0 == (1, 4, "$1", "x") } == true)
            }
        }

        @Test("what the server refuses comes back with its names")
        func refusals() async throws {
            let schema = "s\(UUID().uuidString.lowercased().filter { $0 != "-" })"
            try await withClient { client in
                _ = try await client.query("CREATE SCHEMA \(identifier: schema)")
                _ = try await client.query(
                    """
                    CREATE TABLE \(identifier: schema).people (id bigint CONSTRAINT people_key PRIMARY KEY,
                    age bigint NOT NULL CONSTRAINT grown CHECK (age > 17))
                    """
                )
                _ = try await client.query("INSERT INTO \(identifier: schema).people VALUES (424242, 20)")
                let duplicate = await postgresError {
                    _ = try await client.query("INSERT INTO \(identifier: schema).people VALUES (\(424_242), 20)")
                }
                #expect(duplicate?.handling == .constraintViolation)
                #expect(duplicate?.constraint == "people_key")
                #expect(
                    duplicate.map { "\($0)" } == "PostgreSQL error 23505, constraint people_key, table \(schema).people"
                )
                let young = await postgresError {
                    _ = try await client.query("INSERT INTO \(identifier: schema).people VALUES (1, \(3))")
                }
                #expect(young?.constraint == "grown")
                guard
                    case .server(let missing)? = await postgresError({
                        _ = try await client.query("INSERT INTO \(identifier: schema).people (id) VALUES (2)")
                    })
                else {
                    Issue.record("NULL was taken")
                    return
                }
                #expect(missing.sqlState == "23502")
                #expect(missing.column == "age")
                #expect(missing.table == "people")
                #expect(missing.schema == schema)
                _ = try await client.query("DROP SCHEMA \(identifier: schema) CASCADE")
            }
        }

        @Test("a value that the server repeats in its message does not show")
        func messages() async throws {
            try await withClient { client in
                let error = await postgresError { _ = try await client.query("SELECT \("canary")::uuid") }
                guard case .server(let server)? = error else {
                    Issue.record("no error")
                    return
                }
                #expect(server.sqlState == "22P02")
                #expect(server.message.contains("canary"))
                #expect(error?.handling == .clientFault)
                #expect(!"\(server) \(String(reflecting: error))".contains("canary"))
            }
        }

        @Test("a NUL in a value is the server's to refuse, one in the text is refused here")
        func nul() async throws {
            try await withClient { client in
                let inValue = await postgresError { _ = try await client.query("SELECT \("a\0b")") }
                #expect(inValue?.sqlState == "22021")
                let inText = await postgresError { _ = try await client.query("SELECT 1 AS \(identifier: "a\0b")") }
                guard case .invalidStatement(.nulInText)? = inText else {
                    Issue.record("\(String(describing: inText))")
                    return
                }
                try await client.withConnection { connection in
                    let inScript = await postgresError { try await connection.execute(script: "SELECT 1\0") }
                    guard case .invalidStatement(.nulInText)? = inScript else {
                        Issue.record("\(String(describing: inScript))")
                        return
                    }
                }
            }
        }

        @Test("more values than the protocol can carry are refused here")
        func tooMany() async throws {
            try await withClient { client in
                let binds = Array(repeating: Bind.bool(true), count: 65_536)
                let error = await postgresError { _ = try await client.query(Statement(sql: "SELECT 1", binds: binds)) }
                guard case .invalidStatement(.tooManyOrTooLargeBinds)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                try await expectServes(client)
            }
        }

        @Test("two statements in one text are refused")
        func twoStatements() async throws {
            try await withClient { client in
                #expect(await postgresError { _ = try await client.query("SELECT 1; SELECT 2") }?.sqlState == "42601")
                #expect(try await client.query("").count == 0)
                try await expectServes(client)
            }
        }

        @Test("COPY is refused and harms no later statement")
        func copy() async throws {
            try await withClient { client in
                #expect(await postgresError { _ = try await client.query("COPY (SELECT 1) TO STDOUT") } != nil)
                #expect(await postgresError { _ = try await client.query("COPY pg_class FROM STDIN") } != nil)
                let error = await postgresError {
                    try await client.withConnection { try await $0.execute(script: "COPY (SELECT 1) TO STDOUT") }
                }
                #expect(error != nil)
                try await expectServes(client)
            }
        }

        @Test("a constraint that is checked at commit fails the statement")
        func deferred() async throws {
            try await withClient { client in
                _ = try await client.query("DROP TABLE IF EXISTS late")
                _ = try await client.query(
                    "CREATE TABLE late (id bigint CONSTRAINT late_key UNIQUE DEFERRABLE INITIALLY DEFERRED)"
                )
                _ = try await client.query("INSERT INTO late VALUES (1)")
                // Some statements are in flight together, and the neighbours of the failing one must succeed.
                async let before = client.query("SELECT 1")
                async let error = postgresError { _ = try await client.query("INSERT INTO late VALUES (\(1))") }
                async let after = client.query("SELECT 2")
                #expect(await error?.constraint == "late_key")
                #expect(try await before.count + after.count == 2)
                let inTransaction = await postgresError {
                    try await client.withTransaction { _ = try await $0.query("INSERT INTO late VALUES (\(1))") }
                }
                #expect(inTransaction?.constraint == "late_key")
                #expect(try await client.query("SELECT * FROM late").count == 1)
            }
        }

        @Test("a transaction that was begun on a shared connection swallows no later statement")
        func strayTransaction() async throws {
            try await withClient(nil, { $0.pipelinedConnections = 1 }) { client in
                _ = try await client.query("DROP TABLE IF EXISTS stray")
                _ = try await client.query("CREATE TABLE stray (a bigint)")
                _ = try await client.query("BEGIN")
                _ = try await client.query("INSERT INTO stray VALUES (1)")
                let kept = try await client.withTransaction { try await $0.query("SELECT * FROM stray").count }
                #expect(kept == 1)
            }
        }

        @Test("every session has its limits")
        func limits() async throws {
            try await withClient(
                nil,
                { configuration in
                    configuration.statementTimeout = .milliseconds(300)
                    configuration.lockTimeout = .milliseconds(200)
                    configuration.idleInTransactionTimeout = .milliseconds(400)
                    configuration.applicationName = "limits"
                }
            ) { client in
                let query: Statement = """
                    SELECT current_setting('statement_timeout'), current_setting('lock_timeout'),
                    current_setting('idle_in_transaction_session_timeout'), current_setting('application_name'),
                    current_setting('client_encoding')
                    """
                let expected = ["300ms", "200ms", "400ms", "limits", "UTF8"]
                func values(_ set: ResultSet) throws -> [String]? {
                    try set.first { row throws(PostgresError) in
                        [try row.next(), try row.next(), try row.next(), try row.next(), try row.next()]
                    }
                }
                let single = try values(try await client.query(query))
                #expect(single == expected)
                let leased = try values(try await client.withTransaction { try await $0.query(query) })
                #expect(leased == expected)
                let slow = await postgresError { _ = try await client.query("SELECT pg_sleep(10)") }
                #expect(slow?.sqlState == "57014")
                #expect(slow?.handling == .wait)
                // The connection works as before.
                try await expectServes(client)
                #expect(await client.status().connectionsLost == 0)
            }
        }
    }

    @Suite("Prepared statements on the server")
    struct Preparing {
        private func single(_ configuration: inout PostgresConfiguration) {
            configuration.pipelinedConnections = 1
            configuration.exclusiveConnections = 1
        }

        @Test("a statement is prepared once for each connection")
        func once() async throws {
            try await withClient(nil, single) { client in
                for number in 0..<3 { _ = try await client.query("SELECT 1 + \(number)") }
                let names = try await client.query(
                    "SELECT statement FROM pg_prepared_statements WHERE statement LIKE 'SELECT 1 +%'"
                )
                #expect(names.count == 1)
            }
        }

        @Test("statements that the server has forgotten are prepared again")
        func discarded() async throws {
            try await withClient(nil, single) { client in
                for _ in 0..<3 {
                    #expect(try await client.query("SELECT \(1)").count == 1)
                    _ = try await client.query("DEALLOCATE ALL")
                }
                #expect(try await client.query("SELECT \(1)").count == 1)
            }
        }

        @Test("a plan whose columns have changed is made again")
        func altered() async throws {
            try await withClient(nil, single) { client in
                _ = try await client.query("DROP TABLE IF EXISTS changing")
                _ = try await client.query("CREATE TABLE changing (a bigint)")
                _ = try await client.query("INSERT INTO changing VALUES (1)")
                #expect(try await client.query("SELECT * FROM changing").columnCount == 1)
                _ = try await client.query("ALTER TABLE changing ADD b bigint")
                #expect(try await client.query("SELECT * FROM changing").columnCount == 2)
                #expect(try await client.query("SELECT * FROM changing").columnCount == 2)
                // Within a transaction the error cannot be undone alone, so the whole transaction runs again.
                let runs = NIOLockedValueBox(0)
                let columns = try await client.withTransaction { connection in
                    try await connection.query("SELECT * FROM changing").columnCount
                }
                #expect(columns == 2)
                _ = try await client.query("ALTER TABLE changing DROP b")
                let fewer = try await client.withTransaction { connection in
                    runs.withLockedValue { $0 += 1 }
                    return try await connection.query("SELECT * FROM changing").columnCount
                }
                #expect(fewer == 1)
                #expect(runs.withLockedValue { $0 } == 2)
            }
        }

        @Test("a statement that cannot be prepared fails with its own error, however often and however many at once")
        func failing() async throws {
            try await withClient(nil, single) { client in
                let states = await withTaskGroup(of: SQLState?.self) { group in
                    for _ in 0..<20 {
                        group.addTask {
                            await postgresError { _ = try await client.query("SELECT \(1) FROM no_such_table") }?
                                .sqlState
                        }
                    }
                    return await group.reduce(into: Set<SQLState?>()) { $0.insert($1) }
                }
                #expect(states == ["42P01"])
                try await expectServes(client)
            }
        }

        @Test("the text of prepared statements is bounded, on both sides")
        func bounded() async throws {
            try await withClient(
                nil,
                {
                    single(&$0)
                    $0.preparedBytes = 100_000
                }
            ) { client in
                for number in 0..<600 { _ = try await client.query(Statement(sql: "SELECT \(number)")) }
                for number in [599, 300, 0] {
                    _ = try await client.query(Statement(sql: "SELECT \(number)"))
                }
                let kept = try await client.query(
                    "SELECT sum(octet_length(statement) + 256)::bigint FROM pg_prepared_statements"
                )
                #expect((99_000...100_000).contains(try kept.first(Int.self) ?? 0))
            }
        }

        @Test("where none is kept, each is planned for its one use")
        func unkept() async throws {
            try await withClient(
                nil,
                {
                    single(&$0)
                    $0.preparedBytes = 0
                }
            ) { client in
                for number in 0..<3 { _ = try await client.query("SELECT \(number)") }
                #expect(try await client.query("SELECT * FROM pg_prepared_statements").count == 0)
                let inTransaction = try await client.withTransaction { connection in
                    try await connection.query("SELECT * FROM pg_prepared_statements").count
                }
                #expect(inTransaction == 0)
            }
        }

        @Test("one text with values of different types works")
        func retyped() async throws {
            try await withClient(nil, single) { client in
                for _ in 0..<3 {
                    let number = try await client.query("SELECT \(7)").first(Int.self)
                    #expect(number == 7)
                    let text = try await client.query("SELECT \("7")").first(String.self)
                    #expect(text == "7")
                }
            }
        }
    }
}
