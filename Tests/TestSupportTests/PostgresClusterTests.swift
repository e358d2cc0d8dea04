import Testing
import TestSupport

@Suite("Private PostgreSQL clusters")
struct PostgresClusterTests {
    @Test("keep what was committed over a stop, an immediate restart and a killed postmaster")
    func durability() async throws {
        try await withPostgresCluster(settings: ["max_connections": "21"]) { cluster in
            #expect(try await cluster.psql("SHOW max_connections") == [["21"]])
            try await cluster.psql("CREATE TABLE kept (step text)")

            try await cluster.psql("INSERT INTO kept VALUES ('before stop')")
            try await cluster.stop()
            await #expect(throws: SQLFailure.self) { try await cluster.psql("SELECT 1") }
            try await cluster.start()

            try await cluster.psql("INSERT INTO kept VALUES ('before immediate restart')")
            try await cluster.restart(.immediate)

            try await cluster.psql("INSERT INTO kept VALUES ('before kill')")
            let before = try await cluster.postmaster()
            try await cluster.killPostmaster()
            try await cluster.start()
            #expect(try await cluster.postmaster() != before)

            #expect(try await cluster.psql("SELECT count(*) FROM kept") == [["3"]])
            #expect(try await cluster.psql("SHOW max_connections") == [["21"]])
        }
    }

    @Test("recover by themselves from a killed backend")
    func backend() async throws {
        try await withPostgresCluster { cluster in
            let session = try await ManagedProcess.start("psql", [cluster.database().url, "-c", "SELECT pg_sleep(60)"])
            let pid = try await eventually("the session sleeps") {
                try await cluster.psql("SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'").first?.first
                    .flatMap { $0 }.flatMap { Int32($0) }
            }
            cluster.killBackend(pid)
            #expect(try await session.waitForExit() == .exited(2))
            try await eventually("the server is back") { try await cluster.psql("SELECT 1") == [["1"]] }
        }
    }

    @Test("answer nothing while frozen, and go on when thawed")
    func frozen() async throws {
        try await withPostgresCluster { cluster in
            try await cluster.freeze()
            let session = try await ManagedProcess.start("psql", [cluster.database().url, "-tAc", "SELECT 7"])
            await #expect(throws: DeadlinePassed.self) { try await session.waitForExit(within: .milliseconds(300)) }
            try await cluster.thaw()
            #expect(try await session.waitForExit() == .exited(0))
            #expect(session.standardOutput == "7\n")
        }
    }

    @Test("are deleted while frozen, and nothing listens any more")
    func deleted() async throws {
        let cluster = try await PostgresCluster.start()
        try await cluster.freeze()
        try await cluster.delete()
        await #expect(throws: HTTPFailure.refused) { try await HTTPClient(port: cluster.port).exchange("") }
    }

    @Test("hold databases of their own")
    func databases() async throws {
        try await withPostgresCluster { cluster in
            let database = try await cluster.createDatabase("shop", .empty)
            #expect(try await database.psql("SELECT current_database()") == [["shop"]])
        }
    }
}
