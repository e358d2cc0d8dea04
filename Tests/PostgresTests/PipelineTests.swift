import Foundation
import NIOConcurrencyHelpers
import Testing

@testable import Postgres

extension WithPostgreSQL {
    @Suite("Many callers at once")
    struct Pipelining {
        @Test("a thousand statements over four connections each get their own answer")
        func thousand() async throws {
            try await withClient { client in
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<1000 {
                        group.addTask {
                            // Some statements fail, since errors must not shift the results of their neighbours.
                            if number % 7 == 0 {
                                let error = await postgresError {
                                    _ = try await client.query("SELECT 1 / \(number % 1)")
                                }
                                return error?.sqlState == "22012"
                            }
                            var row = try await client.query(
                                "SELECT \(number), pg_sleep(\(Double(number % 5) / 10_000))"
                            ).first
                            return try row?.next(Int.self) == number
                        }
                    }
                    let right = try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                    #expect(right == 1000)
                }
                let status = await client.status()
                #expect(status.statementsInFlight == 0)
                #expect(status.queuedStatements == 0)
                #expect(status.connectionsLost == 0)
            }
        }

        @Test("a caller who is cancelled is free at once, and its neighbours are served")
        func cancellation() async throws {
            try await withClient(
                nil,
                { configuration in
                    patient(&configuration)
                    configuration.pipelinedConnections = 1
                }
            ) { client in
                _ = try await client.query("SELECT 1")
                let neighbours = try await whileHeld {
                    let slow = Task { await postgresError { _ = try await client.query(held) } }
                    let inFlight = await eventually { await client.status().statementsInFlight == 1 }
                    #expect(inFlight)
                    let neighbours = (0..<10).map { number in
                        Task { try await client.query("SELECT \(number)").first(Int.self) }
                    }
                    // The caller is free while its statement goes on: only the end of this closure ends the statement.
                    slow.cancel()
                    let error = await slow.value
                    guard case .cancelled? = error else {
                        Issue.record("\(String(describing: error))")
                        return neighbours
                    }
                    return neighbours
                }
                for (number, neighbour) in neighbours.enumerated() { #expect(try await neighbour.value == number) }
                #expect(await client.status().connectionsLost == 0)
            }
        }

        @Test("a slow statement holds nobody up who comes after it")
        func slowNeighbour() async throws {
            try await withClient(
                nil,
                { configuration in
                    patient(&configuration)
                    configuration.pipelinedConnections = 2
                }
            ) { client in
                let open = await eventually { await client.status().pipelinedOpen == 2 }
                #expect(open)
                let slow = try await whileHeld {
                    let slow = Task { try await client.query(held).count }
                    let inFlight = await eventually { await client.status().statementsInFlight == 1 }
                    #expect(inFlight)
                    // A connection counts as slow after 20 ms of work.
                    try await Task.sleep(for: .milliseconds(30))
                    // A statement behind the slow one would wait until the statement timeout ends both.
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 0..<20 { group.addTask { _ = try await client.query("SELECT 1") } }
                        try await group.waitForAll()
                    }
                    #expect(await client.status().statementsInFlight == 1, "the slow one goes on")
                    return slow
                }
                #expect(try await slow.value == 1)
            }
        }

        @Test("one who is cancelled before sending sends nothing")
        func cancelledBefore() async throws {
            try await withClient { client in
                _ = try await client.query("DROP TABLE IF EXISTS untouched")
                _ = try await client.query("CREATE TABLE untouched (a bigint)")
                // The cancellation reaches the event loop before, with or after the statement.
                for _ in 0..<500 {
                    let task = Task {
                        withUnsafeCurrentTask { $0?.cancel() }
                        return [
                            await postgresError { _ = try await client.query("INSERT INTO untouched VALUES (1)") },
                            await postgresError { try await client.withTransaction { _ in } },
                        ]
                    }
                    for error in await task.value {
                        guard case .cancelled? = error else {
                            Issue.record("not cancelled")
                            return
                        }
                    }
                }
                #expect(await client.status().leased == 0)
                #expect(try await client.query("SELECT * FROM untouched").count == 0)
            }
        }

        @Test("statements beyond the bound are refused at once, and the others are served")
        func overload() async throws {
            try await withClient(
                nil,
                { configuration in
                    patient(&configuration)
                    configuration.pipelinedConnections = 1
                    configuration.pipelineDepth = 2
                    configuration.maxQueued = 3
                    configuration.leaseTimeout = .seconds(60)
                }
            ) { client in
                _ = try await client.query("SELECT 1")
                let refused = NIOLockedValueBox(0)
                let callers = try await whileHeld {
                    let callers = (0..<10).map { _ in
                        Task {
                            let error = await postgresError { _ = try await client.query(held) }
                            guard case .overloaded? = error else {
                                return error == nil ? "served" : "\(String(describing: error))"
                            }
                            refused.withLockedValue { $0 += 1 }
                            return "overloaded"
                        }
                    }
                    // The others are refused while sent and waiting statements fill all places.
                    let areRefused = await eventually { refused.withLockedValue { $0 } == 5 }
                    #expect(areRefused)
                    return callers
                }
                var outcomes: [String: Int] = [:]
                for caller in callers { outcomes[await caller.value, default: 0] += 1 }
                #expect(outcomes == ["served": 5, "overloaded": 5])
            }
        }

        @Test("a statement that finds no room in time is given up, unsent")
        func leaseTimeout() async throws {
            try await withClient(
                nil,
                { configuration in
                    patient(&configuration)
                    configuration.pipelinedConnections = 1
                    configuration.pipelineDepth = 1
                    configuration.leaseTimeout = .milliseconds(500)
                }
            ) { client in
                let open = await eventually { await client.status().pipelinedOpen == 1 }
                #expect(open)
                let slow = try await whileHeld {
                    let slow = Task { try await client.query(held).count }
                    let inFlight = await eventually { await client.status().statementsInFlight == 1 }
                    #expect(inFlight)
                    let error = await postgresError { _ = try await client.query("SELECT 1") }
                    guard case .leaseTimeout? = error else {
                        Issue.record("\(String(describing: error))")
                        return slow
                    }
                    return slow
                }
                #expect(try await slow.value == 1)
                let isServed = await eventually { await postgresError { try await expectServes(client) } == nil }
                #expect(isServed)
            }
        }
    }

    @Suite("The life of a client")
    struct Life {
        @Test("a statement before the life begins waits for it")
        func early() async throws {
            let client = PostgresClient(configuration: try PostgresConfiguration(url: try await Cluster.shared.url))
            async let answer = client.query("SELECT 1")
            async let leased = client.withTransaction { try await $0.query("SELECT 1").count }
            let queued = await eventually {
                let status = await client.status()
                return status.queuedStatements == 1 && status.queuedLeases == 1
            }
            #expect(queued)
            let life = Task { await client.run() }
            #expect(try await answer.count == 1)
            #expect(try await leased == 1)
            life.cancel()
            await life.value
        }

        @Test("without a life statements fail within the limit")
        func never() async throws {
            var configuration = try PostgresConfiguration(url: try await Cluster.shared.url)
            configuration.leaseTimeout = .milliseconds(100)
            let client = PostgresClient(configuration: configuration)
            guard case .unavailable? = await postgresError({ _ = try await client.query("SELECT 1") }) else {
                Issue.record("not unavailable")
                return
            }
            guard case .unavailable? = await postgresError({ try await client.withTransaction { _ in } }) else {
                Issue.record("not unavailable")
                return
            }
        }

        @Test("at the end what was sent is answered, all else refused, and every connection closed")
        func ending() async throws {
            let cluster = try await Cluster.shared
            var configuration = try PostgresConfiguration(url: cluster.url)
            patient(&configuration)
            configuration.applicationName = "ending"
            configuration.leaseTimeout = .seconds(60)
            configuration.pipelinedConnections = 1
            configuration.pipelineDepth = 1
            let client = PostgresClient(configuration: configuration)
            let life = Task { await client.run() }
            _ = try await client.query("SELECT 1")
            let (sent, transaction) = try await whileHeld {
                let sent = Task { try await client.query(held).count }
                let transaction = Task {
                    try await client.withTransaction { connection in
                        _ = try await connection.query(held)
                        return try await connection.query("SELECT 1").count
                    }
                }
                let busy = await eventually {
                    let status = await client.status()
                    return status.statementsInFlight == 1 && status.leased == 1
                }
                #expect(busy)
                let waiting = Task { await postgresError { _ = try await client.query("SELECT 1") } }
                let queued = await eventually { await client.status().queuedStatements == 1 }
                #expect(queued)
                life.cancel()
                let error = await waiting.value
                guard case .shutDown? = error else {
                    Issue.record("the one who waited was not refused: \(String(describing: error))")
                    return (sent, transaction)
                }
                return (sent, transaction)
            }
            #expect(try await sent.value == 1)
            #expect(try await transaction.value == 1)
            await life.value
            guard case .shutDown? = await postgresError({ _ = try await client.query("SELECT 1") }) else {
                Issue.record("a late statement was not refused")
                return
            }
            let left = try await eventually {
                try await cluster.psql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ending'")
                    == "0\n"
            }
            #expect(left)
            // A second run after the shutdown returns at once.
            await client.run()
        }

        // The test runs in a process of its own, in which no other test has clients or opens descriptors.
        @Test("a client that is dropped leaves neither thread nor descriptor behind")
        func dropping() async throws {
            setenv("POSTGRES_TESTS_URL", try await Cluster.shared.url, 1)
            await #expect(processExitsWith: .success) {
                let url = String(cString: try #require(getenv("POSTGRES_TESTS_URL")))
                // The first client opens descriptors that the process keeps.
                try await withClient(url) { try await expectServes($0) }
                let quiet = await eventually(.seconds(30)) { threads() == 0 }
                #expect(quiet)
                let before = openDescriptors()
                for _ in 0..<5 {
                    try await withClient(url) { client in
                        try await expectServes(client)
                        #expect(threads() > 0)
                    }
                    _ = PostgresClient(configuration: try PostgresConfiguration(url: url))
                }
                let gone = await eventually(.seconds(30)) { threads() == 0 && openDescriptors() <= before }
                #expect(gone)
            }
        }
    }
}

/// Returns the number of the driver's event loop threads in this process.
private func threads() -> Int {
    let folder = "/proc/self/task"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.count { (try? String(contentsOfFile: "\(folder)/\($0)/comm", encoding: .utf8)) == "postgres\n" }
}
