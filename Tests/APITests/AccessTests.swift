@testable import AdministrationAPI
import Domain
import Encodings
import HTTPTypes
import Postgres
import Testing
import TestSupport

@Suite("What operators may do")
struct AccessTests {
    @Test("T-113: each route refuses the roles below its own, and each refusal is one entry of the audit log")
    func roles() async throws {
        try await Operators.lend { operators in
            // The setup token creates the first owner, and only while there is no operator.
            for route in AdministrationRoute.all where !route.path.hasSuffix("/setup") {
                for role in OperatorRole.allCases {
                    let entries = try await operators.auditCount()
                    let reply = try await operators.send(route.method, route.filledPath, as: role)
                    let place: Comment = "\(role) at \(route.method.rawValue) \(route.path): \(reply.text)"
                    guard role < route.role else {
                        #expect(![401, 403, 405, 500].contains(reply.status), place)
                        // Opening a session is the only POST that succeeds without a body.
                        let opens = route.method == .post && route.path.hasSuffix("/operator/sessions")
                        #expect(try await operators.auditCount() == entries + (opens ? 1 : 0), place)
                        continue
                    }
                    #expect(reply.reason == "operator_forbidden", place)
                    #expect(reply.status == 403, place)
                    #expect(reply.json?["errorData"]?.object?["role"]?.string == route.role.rawValue, place)
                    #expect(try await operators.auditCount() == entries + 1, place)
                }
            }
            let rows = try await operators.database.psql(
                "select distinct actor, source, application_id from federation.audit_log where actor <> 'test'"
            )
            #expect(Set(rows.map { $0[0] }) == ["viewer", "editor", "owner"])
            #expect(Set(rows.map { $0[1] }) == ["192.0.2.1"])
            #expect(Set(rows.map { $0[2] }) == ["x", nil])
        }
    }

    @Test("what cannot be undone, or opens a way in, asks for a second factor of the last five minutes")
    func demands() {
        let lasting = ["/bans/", "/sessions", "/invitations/"]
        for route in AdministrationRoute.all {
            let opens = [
                "/operators", "/tokens", "/keys", "/serviceAccounts", "/operator/factors",
                "/factors/{factorId}/confirm",
            ]
            let removes = route.method == .delete && !lasting.contains { route.path.contains($0) }
            let adds = route.method == .post && opens.contains { route.path.hasSuffix($0) }
            let others = [
                "/operators/{name}", "/token-keys/rotate", "/document", "/applications/{application}",
                "/providers/{provider}", "/roles/{role}", "/erasures", "/imports", "/identityImports",
                "/merge", "/undo",
            ]
            let changes = [.patch, .put, .post].contains(route.method) && others.contains { route.path.hasSuffix($0) }
            let isLasting = removes || adds || changes
            let ways = ["/secondFactor/start", "/secondFactor/finish", "/operator", "/openapi.json", "/setup"]
            let isWay = ways.contains { route.path.hasSuffix($0) } || route.path.contains("/operator/sessions")
            let expected: OperatorFactorDemand = isWay ? .none : isLasting ? .within5Minutes : .within12Hours
            #expect(route.factor == expected, "\(route.method.rawValue) \(route.path)")
        }
    }

    @Test("what a person has is opened by no program's token, whatever its role; all else is")
    func programs() async throws {
        try await Operators.lend { operators in
            let document = #"{"machine": true}"#
            let made = try await operators.send(.post, "operators/owner/tokens", json: document)
            let token = try #require(made.json?["token"]?.string, "\(made.text)")
            for route in AdministrationRoute.all {
                let isOwn = ["/operator/", "/operators/{name}/factors"].contains { route.path.contains($0) }
                #expect(route.isForPeople == isOwn, "\(route.method.rawValue) \(route.path)")
                let reply = try await operators.listeners.manage(
                    route.method,
                    route.filledPath,
                    headers: [.authorization: "Bearer \(token)"]
                )
                #expect((reply.reason == "operator_forbidden") == isOwn, "\(route.path): \(reply.text)")
            }
            let sessions = try await operators.database.psql(
                "select from federation.operator_tokens where purpose = 'session'"
            )
            #expect(sessions.isEmpty)
        }
    }

    @Test("a factor counts for the time that was asked for, of people who have one, and of nobody else")
    func satisfied() {
        func caller(_ isMachine: Bool, _ hasFactor: Bool, _ ago: Int64?) -> CallingOperator {
            CallingOperator(
                name: OperatorName("ann")!,
                role: .owner,
                id: ObjectID("0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60")!,
                tokenHash: [],
                purpose: .calls,
                isMachine: isMachine,
                hasFactor: hasFactor,
                factorShownAgo: ago
            )
        }
        for demand in OperatorFactorDemand.allCases {
            #expect(caller(true, true, nil).satisfies(demand))
            #expect(caller(false, false, nil).satisfies(demand))
            #expect(caller(false, true, nil).satisfies(demand) == (demand == .none))
            #expect(caller(false, true, 300).satisfies(demand))
            #expect(caller(false, true, 301).satisfies(demand) == (demand != .within5Minutes))
            #expect(caller(false, true, 43_201).satisfies(demand) == (demand == .none))
        }
    }

    @Test("the caller is told name and role, and a change of role counts with the next request")
    func caller() async throws {
        try await Operators.lend { operators in
            func caller() async throws -> String { try await operators.send(.get, "operator", as: .editor).text }
            func told(_ role: String) -> String {
                #"{"name":"editor","role":"\#(role)","purpose":"calls","machine":false,"#
                    + #""secondFactor":{"enrolled":false,"shownSecondsAgo":null}}"#
            }
            #expect(try await caller() == told("editor"))
            let headers: HTTPFields = [.ifMatch: "*"]
            try await operators.send(.patch, "operators/editor", headers: headers, json: #"{"role": "viewer"}"#)
            #expect(try await caller() == told("viewer"))
            #expect(try await operators.send(.post, "applications/x/properties", as: .editor).status == 403)
            #expect(try await operators.send(.delete, "operators/editor", headers: headers).status == 204)
            #expect(try await operators.send(.get, "operator", as: .editor).status == 401)
        }
    }

    @Test(
        "T-80: a token that counted lately is exempt from the waiting of its source; a new one, and a revoked one, are not"
    )
    func exemption() async throws {
        try await Operators.lend { operators in
            #expect(try await operators.send(.get, "operator", as: .editor).status == 200)
            for _ in 1...5 {
                let unknown: HTTPFields = [.authorization: "Bearer fedop_" + String(repeating: "A", count: 43)]
                #expect(
                    try await operators.listeners.manage(.get, "/admin/v1/operator", headers: unknown).status == 401
                )
            }
            #expect(try await operators.send(.get, "operator", as: .editor).status == 200)
            #expect(try await operators.send(.get, "operator", as: .viewer).status == 429)
            #expect(try await operators.send(.get, "operator", as: .viewer, from: "192.0.2.2").status == 200)
            #expect(try await operators.send(.get, "operator", as: .viewer).status == 200)
            let headers: HTTPFields = [.ifMatch: "*"]
            let gone = try await operators.send(.delete, "operators/editor", headers: headers, from: "192.0.2.2")
            #expect(gone.status == 204)
            #expect(try await operators.send(.get, "operator", as: .editor).status == 401)
            #expect(try await operators.send(.get, "operator", as: .editor).status == 429)
        }
    }

    @Test("twelve requests of a source and sixteen in all are under way at once; one more is told to come back")
    func overload() async throws {
        try await Operators.lend { operators in
            let (replies, arrived) = AsyncStream.makeStream(of: Reply.self)
            let tasks = try await operators.listeners.parts.postgres.withTransaction { connection in
                try await connection.execute(script: "lock table federation.operator_tokens in access exclusive mode")
                // Admitted requests wait for the lock, so only the refused ones get a response.
                var answers = replies.makeAsyncIterator()
                var tasks: [Task<Void, any Error>] = []
                func ask(_ count: Int, from source: String, letIn: Int) async {
                    tasks += (0..<count).map { _ in
                        Task { arrived.yield(try await operators.send(.get, "operator", from: source)) }
                    }
                    for _ in 0..<count - letIn {
                        let reply = await answers.next()
                        #expect(reply?.reason == "overloaded")
                        #expect(reply?.headers[.retryAfter] == "1")
                    }
                }
                await ask(40, from: "192.0.2.1", letIn: 12)
                await ask(10, from: "192.0.2.2", letIn: 4)
                #expect(try await operators.listeners.manage(.get, "/admin/v1/operator").status == 401)
                return tasks
            }
            var answered = 0
            for await reply in replies {
                #expect(reply.status == 200)
                answered += 1
                if answered == 16 { break }
            }
            for task in tasks { _ = try await task.value }
            #expect(try await operators.send(.get, "operator").status == 200)
        }
    }

    @Test("with a token, a path tells its methods, and what is not there is not found")
    func methods() async throws {
        try await Operators.lend { operators in
            for (path, allowed) in [
                ("applications", "GET, POST"), ("applications/x", "DELETE, GET, PATCH"),
                ("applications/x/mappings/facebook", "GET, PUT"), ("operator", "GET"),
            ] {
                for method in [HTTPRequest.Method.head, .options, .trace, .connect] {
                    let reply = try await operators.send(method, path)
                    #expect(reply.status == 405)
                    #expect(reply.headers[.allow] == allowed)
                }
            }
            for path in ["", "/admin", "applications/x/providers", "applications/x/providers/twitter", "nothing"] {
                #expect(try await operators.send(.get, path).reason == "not_found", "\(path)")
            }
        }
    }
}
