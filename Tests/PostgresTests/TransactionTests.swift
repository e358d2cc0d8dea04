import NIOConcurrencyHelpers
import Testing

@testable import Postgres

extension WithPostgreSQL {
    @Suite("Transactions")
    struct Transactions {
        private struct Refusal: Error {}

        /// Creates an empty table that no other test uses.
        private func table(_ client: PostgresClient, _ name: String) async throws {
            _ = try await client.query("DROP TABLE IF EXISTS \(identifier: name)")
            _ = try await client.query("CREATE TABLE \(identifier: name) (id bigint, n bigint DEFAULT 0)")
        }

        @Test("what returns is committed, what throws is rolled back")
        func outcome() async throws {
            try await withClient { client in
                try await table(client, "outcome")
                let result = try await client.withTransaction { connection in
                    _ = try await connection.query("INSERT INTO outcome VALUES (1)")
                    return "done"
                }
                #expect(result == "done")
                await #expect(throws: Refusal.self) {
                    try await client.withTransaction { connection in
                        _ = try await connection.query("INSERT INTO outcome VALUES (2)")
                        throw Refusal()
                    }
                }
                let ids = try await client.query("SELECT id FROM outcome").all(Int.self)
                #expect(ids == [1])
                let status = await client.status()
                #expect(status.exclusiveOpen == 1)
                #expect(status.leased == 0)
            }
        }

        @Test(
            "a collision runs all of it again, at most twice",
            arguments: [("40001", 2, 3, true), ("40P01", 1, 2, true), ("40001", 5, 3, false), ("23505", 1, 1, false)]
        )
        func collisions(code: String, failures: Int, runs: Int, succeeds: Bool) async throws {
            try await withClient { client in
                try await table(client, "collisions")
                let count = NIOLockedValueBox(0)
                let error = await postgresError {
                    try await client.withTransaction { connection in
                        let run = count.withLockedValue { count in
                            count += 1
                            return count
                        }
                        _ = try await connection.query("INSERT INTO collisions VALUES (\(run))")
                        guard run <= failures else { return }
                        _ = try await connection.query("DO \(unsafeRaw: "$$ BEGIN RAISE SQLSTATE '\(code)'; END $$")")
                    }
                }
                #expect(count.withLockedValue { $0 } == runs)
                #expect((error == nil) == succeeds)
                let kept = try await client.query("SELECT id FROM collisions").all(Int.self)
                #expect(kept == (succeeds ? [runs] : []))
            }
        }

        @Test("serializable transactions that collide all come through")
        func serializable() async throws {
            try await withClient { client in
                try await table(client, "counters")
                _ = try await client.query("INSERT INTO counters VALUES (1, 0)")
                let (runs, read) = (NIOLockedValueBox(0), NIOLockedValueBox(0))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<2 {
                        group.addTask {
                            try await client.withTransaction { connection in
                                runs.withLockedValue { $0 += 1 }
                                _ = try await connection.query("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
                                let n = try await connection.query("SELECT n FROM counters").first(Int.self)
                                // Both transactions read before either writes.
                                read.withLockedValue { $0 += 1 }
                                let haveRead = await eventually { read.withLockedValue { $0 } >= 2 }
                                #expect(haveRead)
                                _ = try await connection.query("UPDATE counters SET n = \((n ?? 0) + 1)")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await client.query("SELECT n FROM counters").first(Int.self) == 2)
                #expect(runs.withLockedValue { $0 } >= 3)
            }
        }

        @Test("a failure that the closure swallows is not committed in silence")
        func swallowed() async throws {
            try await withClient { client in
                let error = await postgresError {
                    try await client.withTransaction { connection in
                        _ = try? await connection.query("SELECT 1 / 0")
                    }
                }
                #expect(error?.sqlState == "25P02")
                try await expectServes(client)
            }
        }

        @Test("all connections lent: a caller waits for the limit, others beyond the bound not at all")
        func waiting() async throws {
            try await withClient(
                nil,
                { configuration in
                    patient(&configuration)
                    configuration.exclusiveConnections = 2
                    configuration.maxQueued = 1
                    configuration.leaseTimeout = .seconds(1)
                }
            ) { client in
                let holders = try await whileHeld {
                    var holders: [Task<Void, any Error>] = []
                    for count in 1...2 {
                        holders.append(Task { try await client.withTransaction { _ = try await $0.query(held) } })
                        let lent = await eventually { await client.status().leased == count }
                        #expect(lent)
                    }
                    let waiter = Task { await postgresError { try await client.withTransaction { _ in } } }
                    let queued = await eventually { await client.status().queuedLeases == 1 }
                    #expect(queued)
                    let beyond = await postgresError { try await client.withTransaction { _ in } }
                    guard case .overloaded? = beyond else {
                        Issue.record("the bound was passed: \(String(describing: beyond))")
                        return holders
                    }
                    let ended = await waiter.value
                    guard case .leaseTimeout? = ended else {
                        Issue.record("the wait did not end: \(String(describing: ended))")
                        return holders
                    }
                    return holders
                }
                for holder in holders { try await holder.value }
                try await client.withTransaction { _ in }
            }
        }

        @Test("one who is cancelled waits for no lease")
        func cancelledWaiter() async throws {
            try await withClient(
                nil,
                { configuration in
                    configuration.exclusiveConnections = 1
                    configuration.leaseTimeout = .seconds(10)
                }
            ) { client in
                try await client.withTransaction { _ in
                    let waiter = Task { await postgresError { try await client.withTransaction { _ in } } }
                    let queued = await eventually { await client.status().queuedLeases == 1 }
                    #expect(queued)
                    waiter.cancel()
                    guard case .cancelled? = await waiter.value else {
                        Issue.record("not cancelled")
                        return
                    }
                    #expect(await client.status().queuedLeases == 0)
                }
            }
        }

        @Test("a transaction that is cancelled in the middle is rolled back, its connection replaced")
        func cancelledHolder() async throws {
            try await withClient(
                nil,
                { configuration in
                    patient(&configuration)
                    configuration.exclusiveConnections = 1
                }
            ) { client in
                try await table(client, "cancelled")
                let holder = Task {
                    await postgresError {
                        try await client.withTransaction { connection in
                            _ = try await connection.query("INSERT INTO cancelled VALUES (1)")
                            _ = try await connection.query("SELECT pg_sleep(5) AS holder")
                        }
                    }
                }
                let inserted = try await eventually {
                    try await client.query(
                        "SELECT * FROM pg_stat_activity WHERE query LIKE '% AS holder' AND state = 'active'"
                    ).count == 1
                }
                #expect(inserted)
                holder.cancel()
                guard case .cancelled? = await holder.value else {
                    Issue.record("not cancelled")
                    return
                }
                #expect(try await client.withTransaction { try await $0.query("SELECT * FROM cancelled").count } == 0)
            }
        }

        @Test("a lease that has ended is an error to use")
        func ended() async throws {
            try await withClient { client in
                let transaction = try await client.withTransaction { $0 }
                let session = try await client.withConnection { $0 }
                for connection in [transaction, session] {
                    guard case .leaseEnded? = await postgresError({ _ = try await connection.query("SELECT 1") }) else {
                        Issue.record("the lease lives on")
                        return
                    }
                    guard case .leaseEnded? = await postgresError({ try await connection.execute(script: "SELECT 1") })
                    else {
                        Issue.record("the lease lives on")
                        return
                    }
                }
            }
        }

        @Test("statements of one lease may be in flight together and are answered in order")
        func together() async throws {
            try await withClient { client in
                let sum = try await client.withTransaction { connection in
                    try await withThrowingTaskGroup(of: Int.self) { group in
                        for number in 1...50 {
                            group.addTask {
                                try await connection.query("SELECT \(number)").first(Int.self) ?? 0
                            }
                        }
                        return try await group.reduce(0, +)
                    }
                }
                #expect(sum == 1275)
            }
        }
    }

    @Suite("Sessions")
    struct Sessions {
        @Test("a script runs all of its statements, in one transaction")
        func script() async throws {
            try await withClient { client in
                try await client.withConnection { connection in
                    try await connection.execute(
                        script: """
                            DROP TABLE IF EXISTS scripted;
                            CREATE TABLE scripted (a bigint);
                            INSERT INTO scripted SELECT generate_series(1, 3);
                            SELECT * FROM scripted;
                            """
                    )
                    #expect(try await connection.query("SELECT * FROM scripted WHERE a > \(1)").count == 2)
                    let error = await postgresError {
                        try await connection.execute(script: "DELETE FROM scripted; SELECT 1 / 0; SELECT 1")
                    }
                    #expect(error?.sqlState == "22012")
                    #expect(try await connection.query("SELECT * FROM scripted").count == 3)
                    try await connection.execute(script: "")
                }
            }
        }

        @Test("what a session changed is undone, advisory locks and open transactions included")
        func cleaning() async throws {
            try await withClient(nil, { $0.exclusiveConnections = 1 }) { client in
                let first = try await client.withConnection { connection in
                    try await connection.execute(script: "SET statement_timeout = 0; CREATE TEMP TABLE mine (a bigint)")
                    _ = try await connection.query("SELECT pg_advisory_lock(\(7))")
                    try await connection.execute(script: "BEGIN")
                    return try await connection.query("SELECT pg_backend_pid()::bigint").first(Int.self)
                }
                let second = try await client.withConnection { connection in
                    let timeout = try await connection.query("SELECT current_setting('statement_timeout')").first(
                        String.self
                    )
                    #expect(timeout == "2s")
                    #expect(
                        await postgresError { _ = try await connection.query("SELECT * FROM mine") }?.sqlState
                            == "42P01"
                    )
                    return try await connection.query("SELECT pg_backend_pid()::bigint").first(Int.self)
                }
                #expect(first == second)
                let free = try await client.query("SELECT pg_try_advisory_xact_lock(\(7))").first(Bool.self)
                #expect(free == true)
                await #expect(throws: CancellationError.self) {
                    try await client.withConnection { connection in
                        try await connection.execute(script: "SET lock_timeout = 0")
                        throw CancellationError()
                    }
                }
                let third = try await client.withTransaction { connection in
                    try await connection.query("SELECT current_setting('lock_timeout')").first(String.self)
                }
                #expect(third == "1s")
            }
        }

        @Test("a session may run longer than the limits that it lifts")
        func long() async throws {
            try await withClient(nil, { $0.statementTimeout = .milliseconds(200) }) { client in
                try await client.withConnection { connection in
                    try await connection.execute(script: "SET statement_timeout = 0")
                    _ = try await connection.query("SELECT pg_sleep(1.5)")
                    try await connection.execute(script: "SELECT pg_sleep(0.3)")
                }
                #expect(await client.status().connectionsLost == 0)
            }
        }

        @Test("a script wants its connection to itself")
        func alone() async throws {
            try await withClient(nil, patient) { client in
                try await client.withConnection { connection in
                    let slow = try await whileHeld {
                        let slow = Task { try await connection.query(held).count }
                        let running = try await eventually {
                            try await client.query(
                                "SELECT 1 FROM pg_stat_activity WHERE query = \(held.sql) AND wait_event = 'advisory'"
                            ).count == 1
                        }
                        #expect(running)
                        let error = await postgresError { try await connection.execute(script: "SELECT 1") }
                        guard case .invalidStatement(.scriptNotAlone)? = error else {
                            Issue.record("\(String(describing: error))")
                            return slow
                        }
                        return slow
                    }
                    #expect(try await slow.value == 1)
                    try await connection.execute(script: "SELECT 1")
                }
            }
        }
    }
}
