import Curl
import Testing

@Suite("Many calls at once")
struct ConcurrencyTests {
    @Test("calls one after another share a connection")
    func reuse() async throws {
        let server = try ScriptedServer { connection in
            while connection.readRequest() != nil { connection.reply() }
        }
        let client = try CurlClient()
        for number in 0..<100 {
            #expect(try await client.send(request(.get, server.url("/\(number)"))).status == 200)
        }
        #expect(server.connections == 1)
    }

    @Test("each of many calls gets its own reply")
    func ownReplies() async throws {
        let server = try ScriptedServer { connection in
            while let request = connection.readRequest() {
                connection.reply(String(request.dropFirst("GET ".count).prefix { $0 != " " }))
            }
        }
        let client = try CurlClient()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<32 {
                group.addTask {
                    for number in 0..<50 {
                        let target = "/\(caller)/\(number)"
                        let reply = try await client.send(request(.get, server.url(target)))
                        #expect(String(decoding: reply.body, as: UTF8.self) == target)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(server.requests.count == 1600)
        #expect(server.connections <= 64)
    }

    @Test("2 000 calls at once all succeed")
    func manyAtOnce() async throws {
        guard raiseDescriptorLimit() >= 10_000 else { return }
        let nginx = try await Nginx.start([Nginx.Site()])
        let client = try CurlClient()
        let call = try request(.get, "http://127.0.0.1:\(nginx.ports[0])/")
        let outcomes = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<2000 {
                group.addTask {
                    if case .success(let reply) = await client.outcome(of: call) { reply.status } else { nil }
                }
            }
            return await group.reduce(into: [Int?]()) { $0.append($1) }
        }
        #expect(outcomes == [Int?](repeating: 200, count: 2000))
    }

    @Test("a call beyond the bound is refused at once and the others go on")
    func overload() async throws {
        let server = try ScriptedServer { $0.waitForClose() }
        let client = try CurlClient(configuration: CurlConfiguration(maxInFlight: 3))
        let call = try request(.get, server.url())
        await withTaskGroup(of: CurlError?.self) { group in
            for _ in 0..<3 { group.addTask { await client.failure(of: call) } }
            #expect(await eventually { server.connections == 3 })
            #expect(await client.failure(of: call) == .overloaded)
            group.cancelAll()
            // The refused call did not wait for one of these to end.
            for await error in group { #expect(error == .cancelled) }
        }
        #expect(server.connections == 3)
        // The slots of the cancelled calls are free again.
        let late = try request(.get, server.url(), timeout: .milliseconds(500))
        #expect(await client.failure(of: late) == .timeout(.waiting))
    }

    @Test("calls wait for a connection within their limits where connections are few")
    func fewConnections() async throws {
        let hanging = try ScriptedServer { $0.waitForClose() }
        let configuration = CurlConfiguration(maxConnections: 2, maxConnectionsPerHost: 2)
        let client = try CurlClient(configuration: configuration)
        let call = try request(.get, hanging.url(), timeout: .milliseconds(600))
        let errors = await withTaskGroup(of: CurlError?.self) { group in
            for _ in 0..<20 { group.addTask { await client.failure(of: call) } }
            return await group.reduce(into: [CurlError?]()) { $0.append($1) }
        }
        #expect(errors.contains(.timeout(.waiting)))
        #expect(errors.contains(.timeout(.connecting)))
        #expect(errors.allSatisfy { $0 == .timeout(.waiting) || $0 == .timeout(.connecting) })
        // The server may see a new connection before it sees the end of the previous one.
        #expect(hanging.peak <= 4)

        let answering = try ScriptedServer { connection in
            while connection.readRequest() != nil { connection.reply() }
        }
        let other = try request(.get, answering.url())
        let statuses = await withTaskGroup(of: CurlError?.self) { group in
            for _ in 0..<20 { group.addTask { await client.failure(of: other) } }
            return await group.reduce(into: [CurlError?]()) { $0.append($1) }
        }
        #expect(statuses.allSatisfy { $0 == nil })
        #expect(answering.peak <= 4)
    }

    @Test("a cancelled call ends at once and takes its connection along")
    func cancellation() async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.waitForClose()
        }
        let client = try CurlClient()
        let call = try request(.get, server.url())
        let task = Task { await client.failure(of: call) }
        #expect(await eventually { server.requests.count == 1 })
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(await eventually { server.openConnections == 0 })
    }

    @Test("a call of a cancelled task sends nothing")
    func cancelledBefore() async throws {
        let server = try ScriptedServer { $0.waitForClose() }
        let client = try CurlClient()
        let call = try request(.get, server.url())
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await client.failure(of: call)
        }
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(server.connections == 0)
    }

    @Test("cancelling some of many calls leaves the others alone")
    func cancellationAmongMany() async throws {
        let server = try ScriptedServer { connection in
            while connection.readRequest() != nil { connection.reply() }
        }
        let client = try CurlClient()
        await withTaskGroup(of: Void.self) { group in
            for caller in 0..<16 {
                group.addTask {
                    for number in 0..<40 {
                        guard let call = try? request(.get, server.url("/\(caller)/\(number)")) else { continue }
                        let task = Task { await client.outcome(of: call) }
                        if number.isMultiple(of: 3) { task.cancel() }
                        switch await task.value {
                        case .success(let reply): #expect(reply.status == 200)
                        case .failure(let error): #expect(error == .cancelled && number.isMultiple(of: 3))
                        }
                    }
                }
            }
        }
    }

    @Test("a shutdown ends the calls in flight, closes all connections and refuses new calls")
    func shutdown() async throws {
        let server = try ScriptedServer { connection in
            while let request = connection.readRequest() {
                if request.hasPrefix("GET /hang") { return connection.waitForClose() }
                connection.reply()
            }
        }
        let client = try CurlClient()
        let idle = try request(.get, server.url("/idle"))
        let hanging = try request(.get, server.url("/hang"))
        let errors = await withTaskGroup(of: CurlError?.self) { group in
            for _ in 0..<20 { group.addTask { await client.failure(of: hanging) } }
            #expect(await eventually { server.requests.count == 20 })
            #expect(await client.failure(of: idle) == nil)
            #expect(server.openConnections == 21)
            await client.shutdown()
            return await group.reduce(into: [CurlError?]()) { $0.append($1) }
        }
        #expect(errors == [CurlError?](repeating: .shutDown, count: 20))
        #expect(await eventually { server.openConnections == 0 })
        #expect(await client.failure(of: hanging) == .shutDown)
        await client.shutdown()
    }

    @Test("a released client closes its connections and ends its thread")
    func release() async throws {
        let server = try ScriptedServer { connection in
            while connection.readRequest() != nil { connection.reply() }
        }
        weak var released: CurlClient?
        do {
            let client = try CurlClient()
            released = client
            _ = try await client.send(request(.get, server.url()))
            #expect(server.openConnections == 1)
        }
        #expect(await eventually(within: .seconds(60)) { server.openConnections == 0 })
        #expect(released == nil)
    }

    /// The thread may hold the last reference during a turn, and must not sleep after that turn.
    @Test("a client that is released within its thread's turn ends as quickly")
    func releaseWithinTurn() async throws {
        let server = try ScriptedServer { connection in
            while connection.readRequest() != nil { connection.reply() }
        }
        for _ in 0..<300 {
            _ = try await CurlClient().send(request(.get, server.url()))
        }
        #expect(await eventually(within: .seconds(30)) { server.openConnections == 0 })
    }
}
