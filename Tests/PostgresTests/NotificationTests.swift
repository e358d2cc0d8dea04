import Foundation
import NIOConcurrencyHelpers
import Testing

@testable import Postgres

extension WithPostgreSQL {
    @Suite("Notifications")
    struct Notifications {
        @Test(
            "what another session sends is received, by the channel's exact name",
            arguments: ["changes", "Changes", "a\"b; --", "änderungen"]
        )
        func receiving(channel: String) async throws {
            try await withClient { other in
                try await withClient { client in
                    var stream = client.notifications(on: channel).makeAsyncIterator()
                    #expect(await stream.next() == .listening)
                    for payload in ["", "17", "größer als “'$1\n"] {
                        _ = try await other.query("SELECT pg_notify(\(channel), \(payload))")
                        #expect(await stream.next() == .received(payload: payload))
                    }
                    _ = try await other.query("SELECT pg_notify('elsewhere', 'x')")
                    // A notification within a transaction is sent by the commit only.
                    _ = await postgresError {
                        try await other.withTransaction { connection in
                            _ = try await connection.query("SELECT pg_notify(\(channel), 'never')")
                            _ = try await connection.query("SELECT 1 / 0")
                        }
                    }
                    try await other.withTransaction { connection in
                        _ = try await connection.query("SELECT pg_notify(\(channel), 'committed')")
                    }
                    #expect(await stream.next() == .received(payload: "committed"))
                }
            }
        }

        @Test("a listener whose backend is terminated listens again, and says that it may have missed something")
        func terminated() async throws {
            let cluster = try await Cluster.shared
            try await withClient(nil, { $0.applicationName = "terminated" }) { client in
                var stream = client.notifications(on: "changes").makeAsyncIterator()
                #expect(await stream.next() == .listening)
                for round in 1...3 {
                    #expect(try await cluster.terminate(listenersOf: "terminated") == 1)
                    #expect(await stream.next() == .listening)
                    try await cluster.psql("NOTIFY changes, '\(round)'")
                    #expect(await stream.next() == .received(payload: "\(round)"))
                }
                #expect(await client.status().connectionsLost == 3)
            }
        }

        @Test("a server that restarts is listened to again")
        func restarted() async throws {
            let cluster = try await Cluster.start()
            try await withClient(cluster.url) { client in
                var stream = client.notifications(on: "changes").makeAsyncIterator()
                #expect(await stream.next() == .listening)
                try await cluster.stop()
                let noticed = await eventually { await client.status().listening == 0 }
                #expect(noticed)
                try await cluster.resume()
                #expect(await stream.next() == .listening)
                try await cluster.psql("NOTIFY changes, 'again'")
                #expect(await stream.next() == .received(payload: "again"))
                try await expectServes(client)
            }
            try await cluster.stop()
        }

        @Test("a connection that is open and dead is found out by the missing sign of life")
        func halfDead() async throws {
            let cluster = try await Cluster.shared
            try await withClient(
                nil,
                { configuration in
                    configuration.applicationName = "half-dead"
                    configuration.listenPause = .milliseconds(100)
                    configuration.listenTimeout = .seconds(2)
                }
            ) { client in
                var stream = client.notifications(on: "changes").makeAsyncIterator()
                #expect(await stream.next() == .listening)
                let pid = try #require(try await cluster.listeners(of: "half-dead").first)
                // The keepalive statements are answered, one after the other, and the connection stays.
                var signs: Set<String> = []
                let isAlive = try await eventually {
                    signs.insert(
                        try await cluster.psql("SELECT state_change FROM pg_stat_activity WHERE pid = \(pid)")
                    )
                    return signs.count >= 4
                }
                #expect(isAlive)
                #expect(await client.status().connectionsLost == 0)
                // The client gives the connection up while its backend is stopped, so only the missing response can be
                // the reason.
                try await run(asPostgres: "kill -STOP \(pid)")
                #expect(await stream.next() == .listening)
                try await run(asPostgres: "kill -CONT \(pid)")
                #expect(await client.status().connectionsLost == 1)
                try await cluster.psql("NOTIFY changes, 'alive'")
                #expect(await stream.next() == .received(payload: "alive"))
            }
        }

        @Test("a server that has become read-only is left by the listeners, too")
        func readOnly() async throws {
            let first = try await Cluster.start()
            let second = try await Cluster.start()
            for cluster in [first, second] { try await cluster.psql("CREATE TABLE t (a bigint)") }
            let url = "postgres://postgres@127.0.0.1:\(first.port),127.0.0.1:\(second.port)/postgres"
            try await withClient(url) { client in
                var stream = client.notifications(on: "changes").makeAsyncIterator()
                #expect(await stream.next() == .listening)
                try await first.psql("NOTIFY changes, 'first'")
                #expect(await stream.next() == .received(payload: "first"))
                try await first.psql("ALTER SYSTEM SET default_transaction_read_only = on")
                try await first.psql("SELECT pg_reload_conf()")
                let refused = await eventually {
                    await postgresError { _ = try await client.query("INSERT INTO t VALUES (1)") }?.sqlState == "25006"
                }
                #expect(refused)
                #expect(await stream.next() == .listening)
                try await second.psql("NOTIFY changes, 'second'")
                #expect(await stream.next() == .received(payload: "second"))
            }
            try await first.stop()
            try await second.stop()
        }

        @Test("a server that refuses to listen is not hammered, and statements go on")
        func refused() async throws {
            try await withClient(nil, { $0.listenPause = .milliseconds(200) }) { client in
                try await expectServes(client)
                let open = await eventually { await client.status().pipelinedOpen == 4 }
                #expect(open)
                // PostgreSQL refuses this name.
                let stream = client.notifications(on: "")
                let reading = Task { await stream.first { _ in true } }
                try await Task.sleep(for: .seconds(1))
                let status = await client.status()
                #expect(status.listening == 0)
                #expect(status.connectionsLost == 0)
                #expect(status.connectAttempts <= 6)
                try await expectServes(client)
                reading.cancel()
                #expect(await reading.value == nil)
            }
        }

        @Test("a stream has a connection from its first look to its end, whichever way it ends")
        func life() async throws {
            let cluster = try await Cluster.shared
            try await withClient(nil, { $0.applicationName = "life" }) { client in
                func gone() async throws -> Bool { try await cluster.listeners(of: "life").isEmpty }
                let unread = client.notifications(on: "changes")
                try await expectServes(client)
                #expect(try await gone())

                let reading = Task { for await _ in unread {} }
                let listening = await eventually { await client.status().listening == 1 }
                #expect(listening)
                #expect(try await cluster.listeners(of: "life").count == 1)
                reading.cancel()
                await reading.value
                #expect(try await eventually { try await gone() })

                for await notification in client.notifications(on: "changes") {
                    #expect(notification == .listening)
                    break
                }
                #expect(try await eventually { try await gone() })

                let early = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    for await _ in client.notifications(on: "changes") { Issue.record("read after its end") }
                }
                await early.value
                #expect(try await eventually { try await gone() })
                #expect(await client.status().listening == 0)
                #expect(await client.status().connectionsLost == 0)
            }
        }

        @Test("a stream waits for the client's life to begin, and ends with it")
        func shutdown() async throws {
            let client = PostgresClient(configuration: try PostgresConfiguration(url: try await Cluster.shared.url))
            let heard = NIOLockedValueBox<[PostgresNotification]>([])
            let reading = Task {
                for await notification in client.notifications(on: "changes") {
                    heard.withLockedValue { $0.append(notification) }
                }
            }
            let life = Task { await client.run() }
            let listening = await eventually { heard.withLockedValue { $0 } == [.listening] }
            #expect(listening)
            client.shutdown()
            await reading.value
            await life.value
            for await _ in client.notifications(on: "changes") { Issue.record("read after the end") }
            #expect(heard.withLockedValue { $0 } == [.listening])
        }

        @Test("many streams that come and go leave no descriptor behind")
        func descriptors() async throws {
            try await withClient { client in
                try await expectServes(client)
                let open = await eventually { await client.status().pipelinedOpen == 4 }
                #expect(open)
                let before = openDescriptors()
                for _ in 0..<5 {
                    await withTaskGroup(of: Void.self) { group in
                        for number in 0..<20 {
                            group.addTask {
                                for await _ in client.notifications(on: "changes \(number)") { break }
                            }
                        }
                    }
                }
                let closed = await eventually { openDescriptors() <= before }
                #expect(closed)
            }
        }

        @Test("beside load, all notifications come in their order, and no statement notices them")
        func load() async throws {
            try await withClient(
                nil,
                { configuration in
                    configuration.exclusiveConnections = 2
                    configuration.maxQueued = 4096
                    configuration.listenPause = .milliseconds(1)
                    configuration.leaseTimeout = .seconds(10)
                }
            ) { client in
                var stream = client.notifications(on: "changes").makeAsyncIterator()
                #expect(await stream.next() == .listening)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<2000 {
                        group.addTask {
                            let answer = try await client.query("SELECT \(number)").first(Int.self)
                            #expect(answer == number)
                        }
                    }
                    for _ in 0..<20 { group.addTask { try await expectServes(client) } }
                    group.addTask {
                        for number in 0..<100 {
                            _ = try await client.query("SELECT pg_notify('changes', \("\(number)"))")
                        }
                    }
                    for number in 0..<100 { #expect(await stream.next() == .received(payload: "\(number)")) }
                    try await group.waitForAll()
                }
                let status = await client.status()
                #expect(status.pipelinedOpen == 4)
                #expect(status.exclusiveOpen <= 2)
                #expect(status.listening == 1)
                #expect(status.connectionsLost == 0)
            }
        }

        @Test("a reader who is slow is told that he has missed some, and gets the rest")
        func slow() async throws {
            let cluster = try await Cluster.shared
            try await withClient { client in
                var stream = client.notifications(on: "changes").makeAsyncIterator()
                #expect(await stream.next() == .listening)
                try await cluster.psql("SELECT pg_notify('changes', number::text) FROM generate_series(1, 2000) number")
                // The number of waiting notifications is a matter of luck, but no notification may be missing without a
                // notice.
                var last = 0
                var wasTold = false
                while last < 2000, let next = await stream.next() {
                    guard case .received(let payload) = next, let number = Int(payload) else {
                        wasTold = true
                        continue
                    }
                    #expect(number == last + 1 || (wasTold && number > last))
                    (last, wasTold) = (number, false)
                }
                #expect(last == 2000)
            }
        }
    }
}

extension Cluster {
    /// Returns the backends that listen for clients of that name.
    fileprivate nonisolated func listeners(of name: String) async throws -> [Int] {
        try await psql(
            "SELECT pid FROM pg_stat_activity WHERE application_name = '\(name)' AND query LIKE 'LISTEN%'"
        ).split(separator: "\n").compactMap { Int($0) }
    }

    /// Terminates the backends that listen for clients of that name, and returns their number.
    fileprivate nonisolated func terminate(listenersOf name: String) async throws -> Int {
        let pids = try await listeners(of: name)
        for pid in pids { try await psql("SELECT pg_terminate_backend(\(pid))") }
        return pids.count
    }
}
