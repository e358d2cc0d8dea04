import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The users collection",
    .serialized,
    .deployed(
        Document(
            hasServerKey: true,
            properties: #"""
                {"city": {"type": "STRING"}, "age": {"type": "INT"}, "extra": {"type": "JSON"},
                    "seen": {"type": "DATETIME"}, "isActive": {"type": "BOOLEAN"}}
                """#
        )
    )
)
struct UsersCollectionTests {
    let deployment: Deployment

    init() async throws {
        deployment = try Deployment.current
        guard try await deployment.value("select count(*) from demo.users") == "0" else { return }
        for (index, name) in ["Ann", "Bob", "Cleo", "Dan"].enumerated() {
            _ = try await deployment.register("\(name).canary@example.com")
            try await deployment.database.psql(
                """
                update demo.users set name = '\(name)', age = nullif(\(20 + index), 23), city = 'O''Fallon',
                    created = timestamptz '2020-01-0\(index + 1) 00:00+00' where lower(email) = lower('\(name).canary@example.com')
                """
            )
        }
    }

    private func server(_ method: String, _ endpoint: String, _ json: String? = nil) async throws -> HTTPReply {
        try await deployment.send(method, endpoint, json, key: Canary.serverAPIKey)
    }

    /// Returns the names in a response, in order.
    private func names(_ reply: HTTPReply, sourceLocation: SourceLocation = #_sourceLocation) throws -> [String] {
        let users = try #require(
            JSON.value(reply.text)?.array,
            "\(reply.status) \(reply.text)",
            sourceLocation: sourceLocation
        )
        return users.compactMap { $0.object?["name"]?.string }
    }

    @Test("a query goes as a body, as newer SDKs send it, and as a query string, with the same answer")
    func find() async throws {
        let cases: [(body: String, query: String, names: [String])] = [
            (#"{}"#, "", ["Ann", "Bob", "Cleo", "Dan"]),
            (#"{"pageSize": 10, "offset": 0}"#, "?pageSize=10&offset=0", ["Ann", "Bob", "Cleo", "Dan"]),
            (
                #"{"where": "email = 'ANN.canary@example.com'"}"#, "?where=email%20%3D%20'ANN.canary@example.com'",
                ["Ann"]
            ),
            (
                #"{"where": "age > 20 and city = 'O''Fallon'"}"#, "?where=age%3E20%20and%20city%3D'O''Fallon'",
                ["Bob", "Cleo"]
            ),
            (#"{"where": "age is null"}"#, "?where=age+is+null", ["Dan"]),
            (#"{"where": "created before '2020-01-02'"}"#, "?where=created%20before%20'2020-01-02'", ["Ann"]),
            (
                #"{"where": "name like '_o%' or name in ('Dan')"}"#, "?where=name+like+'_o%25'+or+name+in+('Dan')",
                ["Bob", "Dan"]
            ),
            (#"{"pageSize": 2, "offset": 1}"#, "?pageSize=2&offset=1", ["Bob", "Cleo"]),
        ]
        for (body, query, names) in cases {
            let order = #""sortBy": "created""#
            let ordered = body == "{}" ? "{\(order)}" : body.dropLast() + ", \(order)}"
            let found = try await server("POST", "data/Users/find", String(ordered))
            #expect(try self.names(found) == names, "\(body)")
            let again = try await server("GET", "data/Users\(query.isEmpty ? "?" : query + "&")sortBy=created")
            #expect(again.text == found.text, "\(query)")
            #expect(try await server("POST", "users/find", String(ordered)).text == found.text)
        }
        let backwards = try await server(
            "POST",
            "data/Users/find",
            #"{"sortBy": ["age desc", "name"], "pageSize": 100}"#
        )
        #expect(try names(backwards) == ["Cleo", "Bob", "Ann", "Dan"], "who has none comes last")
    }

    @Test("the members that were asked for come back, under the names that were asked for")
    func members() async throws {
        func first(_ body: String) async throws -> [String] {
            let reply = try await server("POST", "data/Users/find", body)
            return JSON.value(reply.text)?.array?.first?.object?.members.map(\.key) ?? [reply.text]
        }
        #expect(try await first(#"{"props": "email,name", "pageSize": 1}"#) == ["email", "name"])
        #expect(try await first(#"{"props": ["name as title", "`age`"], "pageSize": 1}"#) == ["title", "age"])
        let all = try await first(#"{"pageSize": 1}"#)
        #expect(all.contains("objectId") && all.contains("city") && !all.contains("password"))
        #expect(
            try await first(#"{"excludeProps": "city,___class", "pageSize": 1}"#)
                == all.filter { $0 != "city" && $0 != "___class" }
        )
        let id = try #require(try await deployment.value("select object_id from demo.users where name = 'Ann'"))
        let one = try await server("GET", "data/Users/\(id)?property=name&property=age")
        #expect(JSON.object(one.text)?.members.map(\.key) == ["name", "age"])
        try expectProblem(try await server("GET", "data/Users/\(id)?where=age=1"), "malformed_request")
    }

    @Test("the first and the last of a query, one of those who are alike, and a record by its key")
    func single() async throws {
        func name(_ endpoint: String) async throws -> String? {
            JSON.object(try await server("GET", endpoint).text)?["name"]?.string
        }
        #expect(try await name("data/Users/first") == "Ann")
        #expect(try await name("data/Users/last") == "Dan")
        #expect(try await name("data/Users/last?sortBy=age&where=age+is+not+null") == "Cleo")
        #expect(try await name("data/Users/first?sortBy=age%20desc") == "Cleo")
        try expectProblem(try await server("GET", "data/Users/first?where=age=99"), "not_found")
        let id = try #require(try await deployment.value("select object_id from demo.users where name = 'Bob'"))
        #expect(try await name("data/Users/pk?objectId=\(id)&props=name") == "Bob")
        try expectProblem(try await server("GET", "data/Users/pk"), "not_found")
        let alike = try await server("POST", "data/Users/find", #"{"props": "city", "distinct": true}"#)
        #expect(alike.text == #"[{"city":"O'Fallon"}]"#)
        let roles = try await server("GET", "users/role/AuthenticatedUser?loadRoles=true&where=age=20&props=name")
        #expect(roles.text == #"[{"name":"Ann","roles":["AuthenticatedUser"]}]"#)
    }

    @Test("a count is a bare number")
    func count() async throws {
        #expect(try await server("POST", "data/Users/count", #"{"where": "age >= 21"}"#).text == "2")
        #expect(try await server("GET", "data/Users/count?where=age%3E%3D21").text == "2")
        #expect(try await server("GET", "users/count").text == "4")
        #expect(try await server("POST", "data/Users/count").text == "4")
    }

    @Test("what cannot be honoured is an error with its place, and never ignored")
    func refused() async throws {
        let cases: [(String, String)] = [
            (#"{"where": "nobody = 1"}"#, "query_invalid"), (#"{"where": "password = 'x'"}"#, "query_invalid"),
            (#"{"where": "age = 'x'"}"#, "query_invalid"), (#"{"sortBy": "nobody"}"#, "query_invalid"),
            (#"{"sortBy": "extra"}"#, "query_invalid"), (#"{"sortBy": "age sideways"}"#, "query_invalid"),
            (#"{"props": "nobody"}"#, "query_invalid"), (#"{"props": "count(age)"}"#, "query_invalid"),
            (#"{"props": "city as a, city as b, city as c, city as d, city as e"}"#, "query_invalid"),
            (#"{"pageSize": 101}"#, "malformed_request"), (#"{"pageSize": 0}"#, "malformed_request"),
            (#"{"offset": -1}"#, "malformed_request"), (#"{"groupBy": "age"}"#, "malformed_request"),
            (#"{"having": "count(age) > 1"}"#, "malformed_request"),
            (#"{"loadRelations": "friends"}"#, "malformed_request"),
            (#"{"relationsDepth": "deep"}"#, "malformed_request"), (#"{"speed": 1}"#, "malformed_request"),
            (#"{"where": {"age": 1}}"#, "malformed_request"), (#"{"distinct": "often"}"#, "malformed_request"),
            (#"{"distinct": true, "props": "city", "sortBy": "age"}"#, "query_invalid"),
        ]
        for (body, reason) in cases { try expectProblem(try await server("POST", "data/Users/find", body), reason) }
        let fine =
            #"{"loadRelations": [], "relationsDepth": "1", "relationsPageSize": 10, "groupBy": "", "distinct": false, "having": null}"#
        #expect(try await server("POST", "data/Users/find", fine).status == 200)
        let names = #"{"props": ["city", "city as a", "city as b", "city as c", "city"]}"#
        #expect(try await server("POST", "data/Users/find", names).status == 200)
        let problem = try await server("POST", "data/Users/find", #"{"where": "age = 1 und age = 2"}"#)
        let data = JSON.object(problem.text)?["errorData"]?.object
        #expect(
            JSON.object(problem.text)?["code"] == .integer(1017) && data?["position"] == .integer(8),
            "\(problem.text)"
        )
        try expectProblem(try await server("POST", "data/Orders/find", "{}"), "table_unknown")
        for (method, path) in [
            ("GET", "data/Users/1/friends"), ("POST", "data/data-grouping/Users"), ("POST", "data/bulk/Users/delete"),
            ("PUT", "data/bulk/Users"),
            ("GET", "files/web/a/b.txt"), ("POST", "messaging/default"), ("DELETE", "counters/visits/x"),
            ("PUT", "log"),
        ] { try expectProblem(try await server(method, path), "not_offered") }
        try expectProblem(try await server("GET", "data/Users?where=age=1&where=age=2"), "malformed_request")
    }

    @Test("T-84: ten thousand random and hostile clauses are answered, or refused at their place, and change nothing")
    func hostileClauses() async throws {
        let users = "select md5(string_agg(u::text, ' ' order by object_id)) from demo.users u"
        let before = try await deployment.value(users)
        let answered = try await withThrowingTaskGroup(of: Int.self) { group in
            for seed in 1...8 as ClosedRange<UInt64> {
                group.addTask {
                    var clauses = HostileClauses(seed: seed)
                    var answered = 0
                    for _ in 0..<1250 {
                        let clause = clauses.next()
                        let body = JSONValue.object(["where": .string(clause)]).text
                        let reply = try await server("POST", "data/Users/count", body)
                        if reply.status == 200 {
                            answered += 1
                            continue
                        }
                        let error = JSON.object(reply.text)
                        let place = error?["errorData"]?.object?["position"]?.integer
                        let reason = error?["errorData"]?.object?["reason"]?.string
                        let isNUL = clause.contains("\0") && reason == "malformed_request"
                        #expect(
                            reply.status == 400 && (isNUL || place.map { (0...200).contains($0) } == true),
                            "\(clause): \(reply.text)"
                        )
                    }
                    return answered
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(answered > 1000)
        #expect(try await deployment.value(users) == before)
    }

    @Test("T-117: who has no server's key sees their own record alone, and cannot count or guess at others")
    func others() async throws {
        let ann = try await deployment.logIn("Ann.canary@example.com")
        for endpoint in ["data/Users", "data/Users/count", "users", "users/count"] {
            let reply = try await deployment.get(endpoint, token: ann.token)
            try expectProblem(reply, "query_forbidden")
            #expect(JSON.object(reply.text)?["code"] == .integer(1013))
        }
        try expectProblem(
            try await deployment.send("POST", "data/Users/find", "{}", token: ann.token),
            "query_forbidden"
        )
        let bob = try #require(try await deployment.value("select object_id from demo.users where name = 'Bob'"))
        try expectProblem(try await deployment.get("data/Users/\(bob)", token: ann.token), "not_found")
        #expect(
            JSON.object(try await deployment.get("data/Users/\(ann.objectID)?props=name", token: ann.token).text)?
                .members.count == 1
        )
        #expect(JSON.object(try await server("GET", "users/\(bob)").text)?["name"]?.string == "Bob")
        let logged =
            "select count(*) from federation.audit_log where actor = 'key:server' and action in ('user.search', 'user.read')"
        #expect(try await deployment.value(logged) != "0")
    }
}
