import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// `Backendless.Data.of(User)` as sent by SDKs of several years (docs/protocols/backendless.md §3.5).
@Suite(
    "The data service of SDKs, for users",
    .serialized,
    .deployed(
        Document(
            hasServerKey: true,
            settings: #"{"roles": ["Editor"], "collection": {"find": ["users"], "readOthers": ["users"]}}"#,
            properties: """
                {"city": {"type": "STRING", "clientMappable": true, "visibleTo": "users"},
                 "age": {"type": "INT", "clientMappable": true, "visibleTo": "users"},
                 "seen": {"type": "DATETIME", "clientMappable": true}, "born": {"type": "DATE", "clientMappable": true},
                 "meta": {"type": "JSON", "clientMappable": true}}
                """
        ),
        Document(
            application: "strict",
            hasServerKey: true,
            properties: #"{"city": {"type": "STRING", "required": true}, "meta": {"type": "JSON"}}"#,
            mapping: #"{"name": "city"}"#
        )
    )
)
struct DataServiceTests {
    let deployment: Deployment

    init() async throws {
        deployment = try Deployment.current
        guard try await deployment.value("select count(*) from demo.users") == "0" else { return }
        for (index, name) in ["ann", "bob", "cleo"].enumerated() {
            _ = try await deployment.register(
                "\(name).canary@example.com",
                #""city": "\#(index == 2 ? "Rome" : "Oslo")", "age": \#(30 + index)"#
            )
        }
    }

    /// Returns the JS SDK with a user logged in, or with a server API key and no user.
    private func sdk(_ email: String?) async throws -> JSClient {
        var sdk = JSClient(
            deployment.client,
            base: email == nil ? "/demo/\(Canary.serverAPIKey)/" : deployment.path("")
        )
        if let email {
            let body = #"{"login":"\#(email)","password":"\#(Deployment.password)"}"#
            _ = try await sdk.logIn("users/login", body: body)
        }
        return sdk
    }

    private func ages(_ value: JSONValue?) throws -> [Int64?] {
        try #require(value?.array, "an array of objects").map { $0.object?["age"]?.integer }
    }

    @Test(
        "find: JS 6, 7 and 8 with a body, REST with a query, Swift with the numbers that it always sends",
        arguments: ["ann.canary@example.com", nil]
    )
    func find(as email: String?) async throws {
        let sdk = try await sdk(email)
        func find(_ method: String, _ path: String, _ body: String? = nil) async throws -> [Int64?] {
            try ages(try JSClient.value(try await sdk.send(method, path, body: body)))
        }
        let js8 = #"{"pageSize":10,"offset":0,"where":"city = 'Oslo'","sortBy":"age desc"}"#
        #expect(try await find("POST", "data/Users/find", js8) == [31, 30])
        let rest = "data/Users?pageSize=10&where=city%20%3D%20'Oslo'&sortBy=age%20desc"
        #expect(try await find("GET", rest) == [31, 30])
        let swift = """
            {"where":"age >= 31","relationsPageSize":10,"pageSize":10,"offset":0,"distinct":false,"sortBy":"age ASC",\
            "props":["age","objectId"]}
            """
        #expect(try await find("POST", "data/Users/find", swift) == [31, 32])
        let first = #"{"pageSize":1,"offset":0,"sortBy":["created ASC"],"relationsPageSize":10}"#
        #expect(try await find("POST", "data/Users/find", first) == [30])
        #expect(
            try await find("POST", "data/Users/find", #"{"pageSize":1,"offset":0,"sortBy":"created desc"}"#) == [32]
        )
        #expect(try await find("POST", "data/Users/find", #"{"pageSize":2,"offset":2,"sortBy":"age"}"#) == [32])
        #expect(
            try JSClient.value(try await sdk.send("POST", "data/Users/count", body: #"{"where":"age > 30"}"#))
                == .integer(2)
        )
        #expect(
            try JSClient.value(try await sdk.send("POST", "data/Users/count", body: #"{"distinct":false}"#))
                == .integer(3)
        )
        #expect(try JSClient.value(try await sdk.send("GET", "data/Users/count?where=age%20%3E%2030")) == .integer(2))
    }

    @Test("findById: by the path, by its key, with what Swift adds to it; of another what others show")
    func findById() async throws {
        let sdk = try await sdk("ann.canary@example.com")
        let other = try #require(try await deployment.value("select object_id from demo.users where age = 32"))
        for path in [
            "data/Users/\(other)", "data/Users/pk?objectId=\(other)", "data/Users/\(other)?relationsPageSize=10",
            "data/Users/pk?objectId=\(other)&pageSize=10&offset=0",
        ] {
            let user = try JSClient.value(try await sdk.send("GET", path))?.object
            #expect(user?["city"]?.string == "Rome" && user?["email"] == nil && user?["userStatus"] == nil, "\(path)")
        }
        try expectProblem(try await sdk.send("GET", "users/\(other)?offset=1"), "malformed_request")
        let own = try JSClient.value(try await sdk.send("GET", "data/Users/\(sdk.objectID ?? "")?property=email"))?
            .object
        #expect(own == ["email": .string("ann.canary@example.com")])
        let some = "data/Users/\(other)?relationsPageSize=10&props=age,city&sortBy=age"
        #expect(try JSClient.value(try await sdk.send("GET", some))?.object?.members.map(\.key) == ["city", "age"])
    }

    @Test(
        "save and deepSave of the own record, remove of the own account; what is others' has the codes that SDKs know"
    )
    func write() async throws {
        _ = try await deployment.register("leaving.canary@example.com")
        let sdk = try await sdk("leaving.canary@example.com")
        let id = try #require(sdk.objectID)
        for (index, path) in ["data/Users", "data/Users/upsert", "data/Users/deep-save"].enumerated() {
            let saved = try await sdk.send(
                "PUT",
                path,
                body: #"{"___class":"Users","objectId":"\#(id)","age":\#(50 + index)}"#
            )
            #expect(try JSClient.value(saved)?.object?["age"]?.integer == Int64(50 + index), "\(path)")
        }
        func code(_ method: String, _ path: String, _ body: String? = nil) async throws -> Int64? {
            JSON.object(try await sdk.send(method, path, body: body).text)?["code"]?.integer
        }
        let other = try #require(try await deployment.value("select object_id from demo.users where age = 32"))
        #expect(try await code("PUT", "data/Users", #"{"objectId":"\#(other)","age":1}"#) == 3029)
        #expect(try await code("PUT", "data/Users", #"{"age":1}"#) == 1002)
        #expect(try await code("DELETE", "data/Users/\(other)") == 1014)
        #expect(try await code("POST", "data/bulk/Users", "[]") == 1002)
        #expect(try await code("GET", "data/Orders") == 1009)
        #expect(try await code("GET", "data/Users/\(id)/friends") == 8007)
        let removed = try JSClient.value(try await sdk.send("DELETE", "data/Users/\(id)"))
        #expect(removed?.object?["deletionTime"]?.integer != nil)
        #expect(try await code("GET", "data/Users/\(id)") == 3064)
    }

    @Test("a server's SDK makes, changes and removes users")
    func server() async throws {
        let sdk = try await sdk(nil)
        let made = try JSClient.value(
            try await sdk.send("PUT", "data/Users", body: #"{"email":"made.canary@example.com","age":7}"#)
        )?.object
        let id = try #require(made?["objectId"]?.string)
        #expect(made?["userStatus"]?.string == "ENABLED")
        let ids = try JSClient.value(
            try await sdk.send(
                "POST",
                "data/bulk/Users",
                body: #"[{"age":8},{"age":9,"password":"five canary words for you","email":"nine.canary@example.com"}]"#
            )
        )
        #expect(ids?.array?.count == 2)
        _ = try await deployment.logIn("nine.canary@example.com", password: "five canary words for you")
        let taken = try await sdk.send(
            "POST",
            "data/bulk/Users",
            body: #"[{"age":10},{"email":"nine.canary@example.com","password":"five canary words for you"}]"#
        )
        let problem = JSON.object(taken.text)
        #expect(problem?["code"] == .integer(3033) && problem?["errorData"]?.object?["position"] == .integer(1))
        #expect(try await deployment.value("select count(*) from demo.users where age = 10") == "0")
        let changed = try await sdk.send(
            "PUT",
            "data/Users/\(id)",
            body: #"{"age":11,"password":"five canary words for you"}"#
        )
        #expect(try JSClient.value(changed)?.object?["age"]?.integer == 11)
        _ = try await deployment.logIn("made.canary@example.com", password: "five canary words for you")
        #expect(
            try await deployment.value(
                "select details -> 'to' ->> 'properties' from federation.audit_log where action = 'user.update' and target = '\(id)'"
            ) == #"["age", "password"]"#
        )
        try expectProblem(
            try await sdk.send("PUT", "data/Users/\(id)", body: #"{"userStatus":"DISABLED"}"#),
            "malformed_request"
        )
        #expect(try JSClient.value(try await sdk.send("DELETE", "users/\(id)"))?.object?["deletionTime"] != nil)
        try await deployment.database.psql("delete from demo.users where age in (8, 9)")
    }

    @Test("of many users at once the first that cannot be made is named; each is bounded like one that comes alone")
    func bulk() async throws {
        let strict = try #require(deployment.documents.first { $0.application == "strict" })
        func make(_ body: String) async throws -> HTTPReply {
            try await deployment.send("POST", "data/bulk/Users", body, key: Canary.serverAPIKey, to: strict)
        }
        try await deployment.database.psql(
            """
            alter table strict.users add constraint known_city check (city <> 'Atlantis');
            create function strict.refuse() returns trigger language plpgsql as $$begin raise exception 'no'; end$$;
            create trigger refuse before insert on strict.users for each row when (new.city = 'Babel')
                execute function strict.refuse()
            """
        )
        for (city, reason) in [
            ("null", "property_missing"), (#""Atlantis""#, "constraint_violation"),
            (#""Babel""#, "constraint_violation"), ("{}", "value_not_convertible"),
        ] {
            let reply = try await make(#"[{"city": "Rome"}, {"city": "Oslo"}, {"city": \#(city)}, {"city": "Bern"}]"#)
            try expectProblem(reply, reason)
            #expect(JSON.object(reply.text)?["errorData"]?.object?["position"] == .integer(2), "\(reply.text)")
        }
        #expect(try await deployment.value("select count(*) from strict.users") == "0")
        let key = String(repeating: "é", count: 127)
        let list = Array(repeating: "0", count: 9000).joined(separator: ",")
        let record = #"{"city": "Rome", "meta": {"\#(key)": [\#(list)]}}"#
        #expect(try await make("[\(record), \(record)]").status == 200)
        try expectProblem(try await make(#"[{"city": "Rome", "\#(key)": 1}]"#), "malformed_request")
        try expectProblem(try await make("[\(record.replacing("[0,", with: "[\(list),"))]"), "malformed_request")
    }

    @Test("each option of JavaScript's query builder, alone as it is sent, is honoured or refused by its name")
    func queryBuilder() async throws {
        let sdk = try await sdk("ann.canary@example.com")
        func reply(_ members: String) async throws -> HTTPReply {
            try await sdk.send(
                "POST",
                "data/Users/find",
                body: #"{"pageSize":10,"offset":0,\#(members)"distinct":false}"#
            )
        }
        func first(_ members: String) async throws -> JSONObject? {
            try JSClient.value(try await reply(#""where":"age = 32",\#(members)"#))?.array?.first?.object
        }
        let everything = ["___class", "objectId", "ownerId", "created", "updated", "age", "city"]
        #expect(Set(try #require(try await first("")).members.map(\.key)) == Set(everything))
        // addAllProperties(), alone and with others.
        #expect(Set(try #require(try await first(#""props":"*","#)).members.map(\.key)) == Set(everything))
        let besides = try #require(try await first(#""props":"*,city,age as years","#))
        #expect(Set(besides.members.map(\.key)) == Set(everything + ["years"]))
        #expect(besides["years"]?.integer == 32 && besides["age"]?.integer == 32)
        #expect(besides.members.count == everything.count + 1, "no member is there twice")
        #expect(try await first(#""props":"age as years","#) == ["years": .integer(32)])
        let without = try #require(try await first(#""props":"*","excludeProps":"city,age","#))
        #expect(Set(without.members.map(\.key)) == Set(everything.filter { !["city", "age"].contains($0) }))
        let cities = try await sdk.send(
            "POST",
            "data/Users/find",
            body: #"{"pageSize":10,"offset":0,"distinct":true,"props":"city","sortBy":"city"}"#
        )
        #expect(try JSClient.value(cities)?.array?.map { $0.object?["city"]?.string } == ["Oslo", "Rome"])
        #expect(try await reply(#""relationsDepth":1,"relationsPageSize":5,"#).status == 200, "users have no relations")
        #expect(
            try JSClient.value(try await reply(#""where":"age = 99","#)) == .array([]),
            "findFirst gives nothing then"
        )
        let refused: [(members: String, name: String, code: Int64)] = [
            (#""groupBy":"city","#, "groupBy", 8001), (#""having":"Count(objectId) > 1","#, "having", 8001),
            (#""loadRelations":"friends","#, "loadRelations", 8001),
            (#""fileReferencePrefix":"http://x","#, "fileReferencePrefix", 8001),
            (#""props":"*,age as city","#, "props", 1017), (#""props":"Count(objectId)","#, "props", 1017),
            (#""props":"*,TIME(created) as t","#, "Element 2 of props", 1017), (#""where":"age >","#, "where", 1017),
            (#""where":"email = 'ann.canary@example.com'","#, "this property does not exist", 1017),
        ]
        for (members, name, code) in refused {
            let reply = try await reply(members)
            let fault = #expect(throws: JSClient.Fault.self, "\(members)") { try JSClient.value(reply) }
            #expect(fault?.code == code && fault?.message?.contains(name) == true, "\(members): \(reply.text)")
        }
    }

    @Test("dates go out as milliseconds when a record is saved and as text when a user is updated, and are the same")
    func dates() async throws {
        _ = try await deployment.register("dates.canary@example.com")
        let sdk = try await sdk("dates.canary@example.com")
        let id = try #require(sdk.objectID)
        for (path, seen, born) in [
            ("data/Users", "1700000123456", "642902400000"),
            ("users/\(id)", #""2023-11-14T22:15:23.456Z""#, #""1990-05-17T00:00:00.000Z""#),
        ] {
            let body = #"{"objectId":"\#(id)","seen":\#(seen),"born":\#(born),"meta":{"a":[1,{"b":"x"}]}}"#
            let user = try JSClient.value(try await sdk.send("PUT", path, body: body))?.object
            #expect(user?["seen"]?.integer == 1_700_000_123_456 && user?["born"]?.string == "1990-05-17", "\(path)")
            #expect(user?["meta"]?.text == #"{"a":[1,{"b":"x"}]}"#)
            let emptied = #"{"objectId":"\#(id)","seen":null,"born":null,"meta":null}"#
            #expect(try JSClient.value(try await sdk.send("PUT", path, body: emptied))?.object?["seen"] == .null)
        }
        _ = try await sdk.send("DELETE", "data/Users/\(id)")
    }

    @Test("what says how a value is to change is refused, and takes the place of none")
    func changes() async throws {
        _ = try await deployment.register("changes.canary@example.com", #""age": 5, "meta": {"k": 1}"#)
        let sdk = try await sdk("changes.canary@example.com")
        let id = try #require(sdk.objectID)
        let changes = [
            #""age":{"___class":"BackendlessExpression","value":"age + 1"}"#,
            #""meta":{"___class":"BackendlessExpression","value":"meta"}"#,
            #""meta":{"___operation":"JSON_SET","args":{"$.k":2}}"#,
            #""meta":{"___operation":"JSON_REMOVE","args":["$.k"]}"#,
        ]
        for change in changes {
            for path in ["data/Users", "data/Users/\(id)", "users/\(id)"] {
                let reply = try await sdk.send("PUT", path, body: #"{"objectId":"\#(id)",\#(change)}"#)
                let data = try expectProblem(reply, "value_not_convertible")
                #expect(["age", "meta"].contains(data["property"]?.string))
            }
        }
        let user = try JSClient.value(try await sdk.send("GET", "data/Users/\(id)"))?.object
        #expect(user?["age"]?.integer == 5 && user?["meta"]?.text == #"{"k":1}"#)
        // An app's own data in a JSON property are not interpreted.
        let own = #"{"objectId":"\#(id)","meta":{"___class":"Address","operation":"JSON_SET"}}"#
        #expect(
            try JSClient.value(try await sdk.send("PUT", "data/Users", body: own))?.object?["meta"]?.object?.members
                .count == 2
        )
        _ = try await sdk.send("DELETE", "data/Users/\(id)")
    }

    @Test("a server's SDK gives and takes roles, lists who has one, disables, logs in and removes a user")
    func serverOfRoles() async throws {
        let email = "editor.canary@example.com"
        _ = try await deployment.register(email, #""age": 60"#)
        var sdk = try await sdk(nil)
        func send(_ method: String, _ path: String, _ body: String? = nil) async throws -> JSONValue? {
            try JSClient.value(try await sdk.send(method, path, body: body))
        }
        let id = try #require(
            try await deployment.value("select upper(object_id::text) from demo.users where age = 60")
        )
        _ = try await send("POST", "users/assignRole", #"{"user":"\#(email)","roleName":"Editor"}"#)
        #expect(
            try await send("GET", "users/userroles/\(id)") == .array([.string("AuthenticatedUser"), .string("Editor")])
        )
        for query in ["", "?loadRoles=false&", "?loadRoles=true&pageSize=5&where=age%3E1&sortBy=created%20desc"] {
            let users = try await send("GET", "users/role/Editor\(query)")?.array
            #expect(users?.map { $0.object?["objectId"]?.string } == [id], "\(query)")
            #expect((users?.first?.object?["roles"] != nil) == query.contains("=true"))
        }
        #expect(try await send("GET", "users/role/Editor?loadRoles=true&where=age%3E60") == .array([]))
        _ = try await send("POST", "users/unassignRole", #"{"user":"\#(id)","roleName":"Editor"}"#)
        #expect(try await send("GET", "users/role/Editor") == .array([]))
        _ = try await send("PUT", "users/\(id)/status", #"{"userStatus":"DISABLED"}"#)
        let login = #"{"login":"\#(email)","password":"\#(Deployment.password)"}"#
        let fault = await #expect(throws: JSClient.Fault.self) { try await send("POST", "users/login", login) }
        #expect(fault?.code == 3090)
        _ = try await send("PUT", "users/\(id)/status", #"{"userStatus":"ENABLED"}"#)
        let user = try await sdk.logIn("users/login", body: #"{"objectId":"\#(id)"}"#)
        #expect(user["email"]?.string == email)
        try await sdk.logOut()
        #expect(try await send("DELETE", "data/Users/\(id)")?.object?["deletionTime"]?.integer != nil)
        let gone = await #expect(throws: JSClient.Fault.self) { try await send("DELETE", "data/Users/\(id)") }
        #expect(gone?.code == 8004)
    }

    @Test("Flutter's SDK in pure Dart: every member of a query, those without a value too, and a type without a body")
    func flutter() async throws {
        _ = try await deployment.register("dart.canary@example.com", #""age": 70"#)
        let sdk = try await sdk("dart.canary@example.com")
        let id = try #require(sdk.objectID)
        func send(_ method: String, _ path: String, _ body: String = "") async throws -> HTTPReply {
            try await deployment.client.send(
                method,
                deployment.path(path),
                headers: [("Content-Type", "application/json"), ("user-token", sdk.userToken ?? "")],
                body: Array(body.utf8)
            )
        }
        func query(_ size: Int, _ sortBy: String = "null", _ filter: String = "null") -> String {
            """
            {"pageSize":\(size),"offset":0,"props":null,"excludeProps":null,"where":\(filter),"groupBy":null,"having":null,\
            "sortBy":\(sortBy),"loadRelations":null,"relationsDepth":null,"relationsPageSize":null,"distinct":null}
            """
        }
        func found(_ query: String) async throws -> [Int64?] {
            try ages(try JSClient.value(try await send("POST", "data/Users/find", query)))
        }
        #expect(try await found(query(10, #"["age asc"]"#)) == [30, 31, 32, 70])
        #expect(try await found(query(1, #"["created asc"]"#)) == [30])
        #expect(try await found(query(1, #"["created  desc"]"#)) == [70], "with two spaces")
        #expect(try await found(query(10, "null", #""city = 'Rome'""#)) == [32])
        #expect(JSON.object(try await send("GET", "data/Users/\(id)?pageSize=10").text)?["age"]?.integer == 70)
        #expect(try await send("GET", "data/Users/count").text == "4")
        #expect(try await send("GET", "data/Users/count?where=age%3E31").text == "2")
        let saved = try await send(
            "PUT",
            "data/Users/\(id)",
            #"{"objectId":"\#(id)","seen":"2026-11-22T12:00:00.000Z"}"#
        )
        #expect(JSON.object(saved.text)?["seen"]?.integer == 1_795_348_800_000, "\(saved.text)")
        try expectProblem(try await send("POST", "data/Users", #"{"age":71}"#), "creation_forbidden")
        try expectProblem(try await send("DELETE", "data/bulk/Users?where=age%3D70"), "not_offered")
        #expect(JSON.object(try await send("DELETE", "data/Users/\(id)").text)?["deletionTime"]?.integer != nil)
        let guest = JSON.object(try await send("POST", "users/register/guest").text)
        #expect(guest?["userStatus"]?.string == "GUEST")
        try await deployment.database.psql(
            "delete from demo.users where object_id = '\(guest?["objectId"]?.string ?? "")'"
        )
    }

    @Test(
        "what is no service of users is refused in words that an app can show, whoever asks",
        arguments: [true, false]
    )
    func outside(asServer: Bool) async throws {
        let sdk = try await sdk(asServer ? nil : "ann.canary@example.com")
        let id = "00000000-0000-0000-0000-000000000000"
        // As JavaScript 6, 7 and 8, Swift and Flutter send them.
        let requests: [(method: String, path: String, body: String?)] = [
            ("POST", "data/data-grouping/Users", #"{"pageSize":10,"groupBy":"city"}"#),
            ("POST", "data/data-grouping/Users/count", #"{"groupPath":[]}"#),
            ("PUT", "data/bulk/Users?where=age%3D1", #"{"age":2}"#), ("PUT", "data/bulkupsert/Users", #"[{"age":1}]"#),
            ("POST", "data/bulk/Users/delete", #"{"where":"objectId != NULL"}"#),
            ("DELETE", "data/bulk/Users?where=age%3D1", nil), ("GET", "data/Users/\(id)/friends?pageSize=10", nil),
            ("POST", "data/Users/\(id)/friends/load", #"{"pageSize":10,"offset":0}"#),
            ("POST", "data/Users/\(id)/friends", #"["x"]"#),
            ("PUT", "data/Users/\(id)/friends?whereClause=age%3E1", nil),
            ("DELETE", "data/Users/\(id)/friends", #"["x"]"#),
            ("PUT", "data/Users/permissions/GRANT/\(id)", #"{"permission":"FIND","user":"*"}"#),
            ("PUT", "data/Users/permissions/\(id)/bulk", "[]"),
            ("POST", "transaction/unit-of-work", #"{"operations":[]}"#), ("PUT", "counters/c/increment/get", nil),
            ("GET", "counters/*/list", nil), ("PUT", "cache/k", "1"), ("GET", "cache/k/check", nil),
            ("GET", "hive/h/key-value/k", nil), ("GET", "hive", nil), ("PUT", "files/binary/d/a.txt", #""aGVsbG8=""#),
            ("GET", "files/a.txt?action=exists", nil), ("POST", "messaging/default", #"{"message":"hi"}"#),
            ("POST", "messaging/email", #"{"subject":"s"}"#), ("POST", "emailtemplate/send", #"{"template-name":"t"}"#),
            ("POST", "services/S/m", "{}"), ("POST", "servercode/events/e", "{}"),
            ("POST", "automation/flow/activate-by-name", #"{"name":"f"}"#),
            ("GET", "commerce/googleplay/validate/a/inapp/b/purchases/c", nil),
            ("POST", "management/data/table", #"{"name":"T"}"#), ("GET", "rt/lookup", nil), ("PUT", "log", "[]"),
        ]
        for (method, path, body) in requests {
            let reply = try await sdk.send(method, path, body: body)
            let fault = #expect(throws: JSClient.Fault.self, "\(method) \(path)") { try JSClient.value(reply) }
            #expect(fault?.code == 8007 && fault?.status == 404, "\(method) \(path): \(reply.text)")
            #expect(fault?.message?.hasPrefix("This service only manages users. It has no ") == true)
        }
        for (method, path, body) in [
            ("POST", "data/Orders/find", "{}"), ("POST", "data/Orders/count", "{}"),
            ("PUT", "data/Orders", #"{"a":1}"#),
            ("GET", "data/Orders/\(id)", nil), ("DELETE", "data/Orders/\(id)", nil),
            ("GET", "data/Orders/properties", nil),
        ] {
            let reply = try await sdk.send(method, path, body: body)
            let fault = #expect(throws: JSClient.Fault.self, "\(method) \(path)") { try JSClient.value(reply) }
            #expect(fault?.code == 1009, "\(method) \(path): \(reply.text)")
        }
    }
}
