import NIOConcurrencyHelpers
import Testing
import TestSupport

@Suite("Leased databases")
struct DatabaseTests {
    private static let preparations = NIOLockedValueBox(0)

    private static let people = DatabaseTemplate(name: "people") { database in
        preparations.withLockedValue { $0 += 1 }
        try await database.psql("CREATE TABLE people (name text); INSERT INTO people VALUES ('Ann')")
    }

    @Test("are copies of a template that is prepared once", arguments: 0..<3)
    func copies(copy: Int) async throws {
        try await withDatabase(Self.people) { database in
            try await database.psql("INSERT INTO people VALUES ('Bob')")
            #expect(try await database.psql("SELECT name FROM people ORDER BY name") == [["Ann"], ["Bob"]])
        }
        #expect(Self.preparations.withLockedValue { $0 } == 1)
    }

    @Test("are dropped, open sessions or not, when the body ends with an error")
    func dropped() async throws {
        struct Failure: Error {}
        let name = NIOLockedValueBox("")
        await #expect(throws: Failure.self) {
            try await withDatabase(.empty) { database in
                name.withLockedValue { $0 = database.name }
                let session = try await ManagedProcess.start("psql", [database.url, "-c", "SELECT pg_sleep(60)"])
                try await eventually("the session sleeps") {
                    try await database.psql(
                        "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()"
                    ).count == 1
                }
                #expect(session.isRunning)
                throw Failure()
            }
        }
        let gone = name.withLockedValue { $0 }
        try await withDatabase(.empty) { other in
            let left = try await other.psql("SELECT 1 FROM pg_database WHERE datname = '\(gone)'")
            #expect(left.isEmpty)
        }
    }

    @Test("give rows of several results with NULLs, empty values and line feeds as they are")
    func rows() async throws {
        try await withDatabase(.empty) { database in
            let rows = try await database.psql(
                "SELECT NULL, '', E'a\\nb'; SELECT 'x' WHERE false; SELECT 1 UNION SELECT 2"
            )
            #expect(rows == [[nil, "", "a\nb"], ["1"], ["2"]])
        }
    }

    @Test("take each statement as if nothing had been set before, in a transaction that is over")
    func sessions() async throws {
        try await withDatabase(.empty) { database in
            let fresh = try await database.psql("SHOW datestyle")
            try await database.psql("CREATE TABLE kept (x int)")
            try await database.psql(
                "BEGIN; SET datestyle = 'German'; CREATE TEMPORARY TABLE own (x int); INSERT INTO kept VALUES (1)"
            )
            #expect(try await database.psql("SHOW datestyle; SELECT count(*) FROM kept") == fresh + [["0"]])
            try await database.psql(
                "SET datestyle = 'German'; CREATE TEMPORARY TABLE own (x int); SELECT pg_advisory_lock(1)"
            )
            let after = try await database.psql(
                """
                SHOW datestyle; SELECT to_regclass('own'), count(*) FROM pg_locks
                WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """
            )
            #expect(after == fresh + [[nil, "0"]])
        }
    }

    @Test("are asked anew once the server has ended the session")
    func endedSession() async throws {
        try await withDatabase(.empty) { database in
            let first = try await database.psql("SELECT pg_backend_pid()")
            #expect(try await database.psql("SELECT pg_backend_pid()") == first, "a session is used again")
            await #expect(throws: SQLFailure.self) {
                try await database.psql("SELECT pg_terminate_backend(pg_backend_pid())")
            }
            #expect(try await database.psql("SELECT pg_backend_pid()") != first)
            // An idle connection reports its termination only when it is used.
            let idle = try await database.psql("SELECT pg_backend_pid()")
            let session = try await ManagedProcess.start(
                "psql",
                [database.url, "-c", "SELECT pg_terminate_backend(\((idle.first?.first ?? nil) ?? ""), 10000)"]
            )
            #expect(try await session.waitForExit() == .exited(0))
            #expect(try await database.psql("SELECT 1") == [["1"]])
        }
    }

    @Test("are not waited for without end")
    func deadline() async throws {
        try await withDatabase(.empty) { database in
            await #expect(throws: DeadlinePassed.self) {
                try await database.psql("SELECT pg_sleep(60)", within: .milliseconds(200))
            }
            let rows = try await database.psql("SELECT 1")
            #expect(rows == [["1"]])
        }
    }

    @Test("report PostgreSQL's message when a statement fails")
    func failure() async throws {
        try await withDatabase(.empty) { database in
            let error = await #expect(throws: SQLFailure.self) { try await database.psql("SELECT nothing") }
            #expect(error?.message.contains("column \"nothing\" does not exist") == true)
        }
    }

    @Test("are reached through a proxy")
    func proxied() async throws {
        try await withDatabase(.empty) { database in
            try await withFaultyProxy(to: database.port) { proxy in
                let process = try await run("psql", [database.url(throughPort: proxy.port), "-tAc", "SELECT 42"])
                #expect(process.standardOutput == "42\n")
                #expect(proxy.traffic.accepted == 1)
            }
        }
    }
}
