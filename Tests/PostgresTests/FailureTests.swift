import Foundation
import NIOConcurrencyHelpers
import Testing

@testable import Postgres

extension WithPostgreSQL {
    @Suite("When connections break")
    struct Failures {
        /// Returns the port of the server that the client writes to.
        private func port(_ client: PostgresClient) async throws -> Int? {
            try await client.query("SELECT inet_server_port()").first(Int.self)
        }

        @Test("a backend killed in mid-statement leaves the outcome unknown, is not asked again, and is replaced")
        func killed() async throws {
            let cluster = try await Cluster.shared
            try await withClient(
                nil,
                { configuration in
                    patient(&configuration)
                    configuration.pipelinedConnections = 1
                    configuration.pipelineDepth = 1
                    configuration.leaseTimeout = .seconds(60)
                }
            ) { client in
                _ = try await client.query("DROP SEQUENCE IF EXISTS runs")
                _ = try await client.query("CREATE SEQUENCE runs")
                let sent = Task {
                    await postgresError { _ = try await client.query("SELECT nextval('runs'), pg_sleep(60) AS mid") }
                }
                let running = try await eventually {
                    try await cluster.psql(
                        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%AS mid' AND wait_event = 'PgSleep'"
                    ) == "1\n"
                }
                #expect(running)
                let waiting = Task { try await client.query("SELECT 1").count }
                let queued = await eventually { await client.status().queuedStatements == 1 }
                #expect(queued)
                try await cluster.psql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%AS mid' AND wait_event = 'PgSleep'"
                )
                guard case .connectionLost(outcomeUnknown: true)? = await sent.value else {
                    Issue.record("\(String(describing: await sent.value))")
                    return
                }
                // The statement that was not yet sent goes to the next connection.
                #expect(try await waiting.value == 1)
                try await expectServes(client)
                #expect(try await cluster.psql("SELECT last_value FROM runs") == "1\n")
                #expect(await client.status().connectionsLost == 1)
            }
        }

        @Test("a transaction whose connection breaks before its commit certainly had no effect")
        func killedInTransaction() async throws {
            let cluster = try await Cluster.shared
            try await withClient(nil, { $0.exclusiveConnections = 1 }) { client in
                let runs = NIOLockedValueBox(0)
                let error = await postgresError {
                    try await client.withTransaction { connection in
                        runs.withLockedValue { $0 += 1 }
                        let pid = try await connection.query("SELECT pg_backend_pid()::bigint").first(Int.self)
                        try await cluster.psql("SELECT pg_terminate_backend(\(pid ?? 0))")
                        let gone = await eventually { await client.status().connectionsLost == 1 }
                        #expect(gone)
                        _ = try await connection.query("SELECT 1")
                    }
                }
                guard case .connectionLost(outcomeUnknown: false)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(runs.withLockedValue { $0 } == 1)
                try await expectServes(client)
            }
        }

        @Test("idle connections that the server closes are replaced before anybody notices")
        func killedIdle() async throws {
            let cluster = try await Cluster.shared
            try await withClient(nil, { $0.applicationName = "idle" }) { client in
                try await expectServes(client)
                for _ in 1...3 {
                    let open = await eventually { await client.status().pipelinedOpen == 4 }
                    #expect(open)
                    let before = await client.status()
                    try await cluster.psql(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'idle'"
                    )
                    let noticed = await eventually {
                        await client.status().connectionsLost - before.connectionsLost
                            == before.pipelinedOpen + before.exclusiveOpen
                    }
                    #expect(noticed)
                    try await expectServes(client)
                }
            }
        }

        @Test("F-23: a server that is stopped fails every caller within the limit, is not hammered, and is found again")
        func stopped() async throws {
            let cluster = try await Cluster.start()
            // Within a minute only the lease timeout ends a call.
            let configure: (inout PostgresConfiguration) -> Void = { configuration in
                patient(&configuration)
                configuration.connectTimeout = .seconds(60)
            }
            try await withClient(cluster.url, configure) { client in
                try await expectServes(client)
                try await cluster.stop()
                let clock = ContinuousClock()
                let before = await client.status().connectAttempts
                let start = clock.now
                for _ in 0..<2 {
                    let duration = await clock.measure {
                        await withTaskGroup(of: Void.self) { group in
                            for _ in 0..<20 {
                                group.addTask {
                                    switch await postgresError({ _ = try await client.query("SELECT 1") }) {
                                    case .unavailable?, .connectionLost?: break
                                    case let other: Issue.record("\(String(describing: other))")
                                    }
                                }
                            }
                            group.addTask {
                                switch await postgresError({ try await client.withTransaction { _ in } }) {
                                case .unavailable?, .connectionLost?: break
                                case let other: Issue.record("\(String(describing: other))")
                                }
                            }
                        }
                    }
                    // The timeout is a second; the rest is for a busy machine.
                    #expect(duration <= .seconds(10))
                }
                let seconds = (clock.now - start) / .seconds(1)
                let status = await client.status()
                #expect(Double(status.connectAttempts - before) <= 10 * max(1, seconds))
                #expect(status.lastConnectFailure?.contains("refused") == true)
                try await cluster.resume()
                // The client retries at least every two seconds.
                let served = await eventually(.seconds(20)) {
                    await postgresError { try await expectServes(client) } == nil
                }
                #expect(served)
            }
            try await cluster.stop()
        }

        @Test("F-21: a server that restarts under load costs only what was in flight")
        func restarted() async throws {
            let cluster = try await Cluster.start()
            try await withClient(cluster.url) { client in
                _ = try await client.query("CREATE TABLE acknowledged (id bigint PRIMARY KEY)")
                let stop = NIOLockedValueBox(false)
                let written = NIOLockedValueBox([Int]())
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<8 {
                        group.addTask {
                            var number = writer
                            while !stop.withLockedValue({ $0 }) {
                                let id = number
                                number += 8
                                switch await postgresError({
                                    _ = try await client.query("INSERT INTO acknowledged VALUES (\(id))")
                                }) {
                                case nil: written.withLockedValue { $0.append(id) }
                                case .connectionLost?, .unavailable?: break
                                case .server(let error)? where error.sqlState.handling == .dropConnection: break
                                case let other?: Issue.record("\(other)")
                                }
                            }
                        }
                    }
                    for _ in 0..<3 {
                        let before = written.withLockedValue(\.count)
                        let isBusy = await eventually { written.withLockedValue(\.count) >= before + 50 }
                        #expect(isBusy)
                        try await cluster.stop()
                        try await cluster.resume()
                        let served = await eventually(.seconds(20)) {
                            await postgresError { try await expectServes(client) } == nil
                        }
                        #expect(served)
                    }
                    stop.withLockedValue { $0 = true }
                    try await group.waitForAll()
                }
                let kept = Set(
                    try await client.query("SELECT id FROM acknowledged").all(Int.self)
                )
                let lost = written.withLockedValue { $0 }.filter { !kept.contains($0) }
                #expect(lost == [])
                #expect(!kept.isEmpty)
            }
            try await cluster.stop()
        }

        @Test("F-24: a server that has become read-only is left for the one that takes writes")
        func readOnly() async throws {
            let first = try await Cluster.start()
            let second = try await Cluster.start()
            for cluster in [first, second] { try await cluster.psql("CREATE TABLE t (a bigint)") }
            let url = "postgres://postgres@127.0.0.1:\(first.port),127.0.0.1:\(second.port)/postgres"
            try await withClient(url) { client in
                let open = await eventually { await client.status().pipelinedOpen == 4 }
                #expect(open)
                #expect(try await port(client) == first.port)
                try await client.withTransaction { _ in }
                try await first.psql("ALTER SYSTEM SET default_transaction_read_only = on")
                try await first.psql("SELECT pg_reload_conf()")
                let refusals = NIOLockedValueBox(0)
                let written = try await eventually {
                    let error = await postgresError { _ = try await client.query("INSERT INTO t VALUES (1)") }
                    if error?.sqlState == "25006" { refusals.withLockedValue { $0 += 1 } }
                    guard error == nil else { return false }
                    return try await port(client) == second.port
                }
                #expect(written)
                // After one refusal all connections move to the other server.
                #expect(refusals.withLockedValue { $0 } == 1)
                let leased = try await client.withTransaction { connection in
                    try await connection.query("SELECT inet_server_port()").first(Int.self)
                }
                #expect(leased == second.port)
            }
            try await first.stop()
            try await second.stop()
        }

        @Test("F-24: a standby that is promoted is found, and nothing that was acknowledged is lost")
        func failover() async throws {
            let primary = try await Cluster.start(settings: [
                "wal_level=replica", "synchronous_commit=remote_apply", "wal_log_hints=on",
            ])
            try await primary.psql("CREATE TABLE t (a bigint)")
            let standby = try await primary.standby()
            try await primary.psql("ALTER SYSTEM SET synchronous_standby_names = '*'")
            try await primary.psql("SELECT pg_reload_conf()")
            // The standby is first in the URL: the client must skip it while it accepts no writes.
            let url = "postgres://postgres@127.0.0.1:\(standby.port),127.0.0.1:\(primary.port)/postgres"
            try await withClient(url) { client in
                for number in 0..<50 { _ = try await client.query("INSERT INTO t VALUES (\(number))") }
                #expect(try await port(client) == primary.port)
                try await primary.stop()
                try await standby.psql("ALTER SYSTEM SET synchronous_standby_names = ''")
                try await standby.promote()
                let written = await eventually {
                    await postgresError { _ = try await client.query("INSERT INTO t VALUES (50)") } == nil
                }
                #expect(written)
                #expect(try await port(client) == standby.port)
                #expect(try await client.query("SELECT DISTINCT a FROM t").count == 51)
            }
            try await standby.stop()
        }

        @Test("F-25: a server that has no room for more is not hammered, and those connected go on")
        func tooMany() async throws {
            let cluster = try await Cluster.start()
            try await cluster.psql("CREATE ROLE few LOGIN CONNECTION LIMIT 2")
            try await withClient("postgres://few@127.0.0.1:\(cluster.port)/postgres") { client in
                let open = await eventually { await client.status().pipelinedOpen == 2 }
                #expect(open)
                let before = await client.status().connectAttempts
                try await Task.sleep(for: .seconds(2))
                #expect(await client.status().connectAttempts - before <= 20)
                #expect(try await client.query("SELECT 1").count == 1)
                #expect(await client.status().lastConnectFailure?.contains("too many connections") == true)
            }
            try await cluster.stop()
        }

        @Test("a host that takes the connection and says nothing is given up for the next one")
        func silentHost() async throws {
            let silent = try SilentServer()
            let cluster = try await Cluster.shared
            let url = "postgres://postgres@127.0.0.1:\(silent.port),localhost:\(cluster.port)/postgres"
            try await withClient(
                url,
                {
                    $0.connectTimeout = .seconds(1); $0.leaseTimeout = .seconds(5)
                }
            ) { client in
                try await expectServes(client)
                let open = await eventually { await client.status().pipelinedOpen == 4 }
                #expect(open)
                // Later connections go straight to the reachable host.
                let status = await client.status()
                #expect(status.connectFailures == 1, "\(status)")
            }
        }

        @Test("a name without address is no connection, and no way out of the limit")
        func unresolvable() async throws {
            let url = "postgres://postgres:canary@db.invalid/postgres?sslmode=verify-full"
            try await withClient(url, { $0.leaseTimeout = .milliseconds(300) }) { client in
                guard case .unavailable? = await postgresError({ _ = try await client.query("SELECT 1") }) else {
                    Issue.record("not unavailable")
                    return
                }
            }
        }

        @Test("why no connection can be had is known, without the password")
        func reason() async throws {
            let cluster = try await Cluster.shared
            let url = "postgres://postgres:canary@127.0.0.1:\(cluster.port)/nowhere"
            try await withClient(url, { $0.leaseTimeout = .milliseconds(300) }) { client in
                guard case .unavailable? = await postgresError({ _ = try await client.query("SELECT 1") }) else {
                    Issue.record("not unavailable")
                    return
                }
                let failure = await client.status().lastConnectFailure ?? ""
                #expect(failure.contains("nowhere"))
                #expect(!failure.contains("canary"))
            }
        }

        @Test("a backend that is stuck counts as lost when its reply is overdue")
        func stuck() async throws {
            let cluster = try await Cluster.shared
            try await withClient(
                nil,
                {
                    $0.pipelinedConnections = 1; $0.statementTimeout = .milliseconds(300)
                }
            ) { client in
                let pid = try await client.query("SELECT pg_backend_pid()::bigint").first(Int.self) ?? 0
                try await run(asPostgres: "kill -STOP \(pid)")
                // The call returns while the backend is stopped, so only the driver's own timeout can have ended it.
                let error = await postgresError { _ = try await client.query("SELECT 1") }
                try await run(asPostgres: "kill -CONT \(pid)")
                guard case .connectionLost(outcomeUnknown: true)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                try await expectServes(client)
                _ = cluster
            }
        }

        @Test("a connection over a socket works as well")
        func socket() async throws {
            let cluster = try await Cluster.shared
            let url = "postgres://postgres@/postgres?host=\(cluster.folder)&port=\(cluster.port)"
            try await withClient(url) { try await expectServes($0) }
        }
    }
}

/// A server that listens on 127.0.0.1 and never sends anything.
private final class SilentServer: Sendable {
    let port: Int
    private let descriptor: Int32

    init() throws {
        (descriptor, port) = listeningSocket()
    }

    deinit {
        close(descriptor)
    }
}
