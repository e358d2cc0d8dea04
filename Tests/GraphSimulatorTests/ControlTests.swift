import GraphSimulator
import Testing

@Suite("the control port changes what the public port answers")
struct ControlTests {
    @Test("mint, look up, change and delete tokens")
    func tokens() async throws {
        try await Control.run { simulator, control in
            let minted = try await control.send(
                "POST",
                "/tokens",
                #"{"kind":"short","person":"ann","scopes":["email"],"name":"mine"}"#
            )
            #expect(minted.status == 201)
            let token = try #require(simulator.token("mine"))
            #expect(
                minted.text
                    == #"{"token":"\#(token.text)","kind":"short","app":"257422819769992","name":"mine","person":"ann","scopes":["email","public_profile"],"issuedAt":1668749403,"expiresAt":1668754800,"dataAccessExpiresAt":1676525403}"#
                    + "\n"
            )
            #expect(try await control.send("GET", "/tokens/mine").text == minted.text)
            #expect(try await Wire.get(simulator, "/me?access_token=\(token.text)").status == 200)
            #expect(try await control.send("PATCH", "/tokens/mine", #"{"kind":"loggedOut"}"#).status == 200)
            #expect(try await Wire.get(simulator, "/me?access_token=\(token.text)").text.contains("467"))
            #expect(try await control.send("DELETE", "/tokens/\(token.text)").status == 200)
            #expect(try await control.send("GET", "/tokens/mine").status == 404)
            #expect(
                try await Wire.get(simulator, "/me?access_token=\(token.text)").text.contains("could not be decrypted")
            )
            for kind in GraphSimulator.TokenKind.allCases {
                #expect(try await control.send("POST", "/tokens", #"{"kind":"\#(kind.rawValue)"}"#).status == 201)
            }
            #expect(try await control.send("GET", "/tokens").status == 200)
        }
    }

    @Test("people: add, change one field, take a permission back, delete")
    func people() async throws {
        try await Control.run { simulator, control in
            #expect(
                try await control.send(
                    "PUT",
                    "/people/fay",
                    #"{"name":"Fay","email":"fay@x.org","ids":{"257422819769992":"77"}}"#
                ).status == 200
            )
            let token = try simulator.mint(.long, person: "fay").text
            let target = "/me?fields=name,email&access_token=\(token)"
            #expect(try await Wire.get(simulator, target).text == #"{"name":"Fay","email":"fay\u0040x.org","id":"77"}"#)
            let patched = try await control.send("PATCH", "/people/fay", #"{"email":"new@x.org"}"#)
            #expect(
                patched.text
                    == #"{"key":"fay","ids":{"257422819769992":"77"},"name":"Fay","email":"new@x.org","permissions":{"public_profile":"granted","email":"granted"}}"#
                    + "\n"
            )
            #expect(try await Wire.get(simulator, target).text == #"{"name":"Fay","email":"new\u0040x.org","id":"77"}"#)
            _ = try await control.send("PATCH", "/people/fay", #"{"permissions":{"email":"declined"}}"#)
            #expect(try await Wire.get(simulator, target).text == #"{"name":"Fay","id":"77"}"#)
            _ = try await control.send("PATCH", "/people/fay", #"{"name":null}"#)
            #expect(try await Wire.get(simulator, target).text == #"{"id":"77"}"#)
            #expect(try await control.send("DELETE", "/people/fay").status == 200)
            #expect(try await control.send("GET", "/people/fay").status == 404)
            #expect(try await control.send("GET", "/people").status == 200)
        }
    }

    @Test("apps: add, switch, delete")
    func apps() async throws {
        try await Control.run { simulator, control in
            #expect(
                try await control.send("PUT", "/apps/42", #"{"secret":"s"}"#).text
                    == #"{"id":"42","secret":"s","name":"42","requireProof":false,"ignoreProof":false,"desktop":false,"developers":[],"usage":{"call_count":0,"total_time":0,"total_cputime":0},"redirectUris":[],"dropChallenge":false}"#
                    + "\n"
            )
            _ = try await control.send("PATCH", "/apps/42", #"{"requireProof":true,"usage":false}"#)
            let refused = try await Wire.get(simulator, "/app?access_token=42%7Cs")
            #expect(refused.text.contains("require an appsecret_proof argument"))
            #expect(refused.header("x-app-usage") == nil)
            #expect(try await control.send("DELETE", "/apps/42").status == 200)
            #expect(
                try await Wire.get(simulator, "/app?access_token=42%7Cs").text.contains("Cannot get application info")
            )
        }
    }

    /// Every effect with its options, as JSON; the control port must accept all of them.
    static let effects = [
        #"{"effect":"delay","milliseconds":1}"#, #"{"effect":"hang","at":"accept"}"#,
        #"{"effect":"reset","at":"firstBytes","every":2}"#, #"{"effect":"close","at":"headers","path":"me"}"#,
        #"{"effect":"hang"}"#,
        #"{"effect":"error","code":190,"subcode":463,"message":"m","type":"T","status":401,"is_transient":false}"#,
        #"{"effect":"rateLimit","code":17,"usage":{"call_count":100},"retryAfter":9,"status":429}"#,
        #"{"effect":"rateLimit"}"#,
        #"{"effect":"reply","status":200,"headers":{"X":"y"},"body":"text"}"#, #"{"effect":"reply","json":{"a":[]}}"#,
        #"{"effect":"raw","bytes":"HTTP/1.1 200 OK\r\n\r\n"}"#, #"{"effect":"html502"}"#, #"{"effect":"empty"}"#,
        #"{"effect":"false"}"#, #"{"effect":"redirect","location":"http://example.com/"}"#, #"{"effect":"truncated"}"#,
        #"{"effect":"wrongTypes"}"#, #"{"effect":"dataNull"}"#, #"{"effect":"duplicateKeys"}"#,
        #"{"effect":"idMissing"}"#,
        #"{"effect":"extraKeys","keys":3}"#, #"{"effect":"deep","depth":3}"#, #"{"effect":"merge","json":{"id":"1"}}"#,
        #"{"effect":"slow","bytes":1,"milliseconds":1}"#, #"{"effect":"huge","bytes":1000}"#, #"{"effect":"endless"}"#,
        #"{"effect":"gzipBomb","bytes":1000}"#,
        #"{"effect":"empty","path":"me","app":"1","token":"t","after":1,"every":2,"percent":12.5,"seed":3,"count":4}"#,
    ]

    @Test("faults of every name are taken", arguments: effects)
    func effect(_ json: String) async throws {
        try await Control.run { _, control in
            let reply = try await control.send("POST", "/faults", json)
            #expect(reply.status == 201)
            #expect(reply.text == "{\"id\":1}\n")
        }
    }

    @Test("faults are listed with their history, and end")
    func faults() async throws {
        try await Control.run { simulator, control in
            _ = try await control.send(
                "POST",
                "/faults",
                #"{"effect":"error","code":4,"path":"me","every":2,"count":5}"#
            )
            #expect(try await Wire.get(simulator, "/me").text.contains("2500"))
            #expect(try await Wire.get(simulator, "/me").text.contains("Application request limit"))
            #expect(
                try await control.send("GET", "/faults").text
                    == #"[{"id":1,"effect":"error 4, status 400","path":"me","every":2,"count":5,"matches":2,"hits":1}]"#
                    + "\n"
            )
            #expect(try await control.send("DELETE", "/faults/1").status == 200)
            #expect(try await control.send("DELETE", "/faults/1").status == 404)
            _ = try await control.send("POST", "/faults", #"{"effect":"false"}"#)
            #expect(try await control.send("DELETE", "/faults").status == 200)
            #expect(try await Wire.get(simulator, "/me").status == 400)
        }
    }

    @Test("requests, counters, clock, reset and health")
    func rest() async throws {
        try await Control.run { simulator, control in
            _ = try await Wire.get(simulator, "/v25.0/me?a=b%20c")
            _ = try await Wire.get(simulator, "/app")
            let log = try await control.send("GET", "/requests?path=me")
            #expect(
                log.text
                    == #"[{"number":1,"time":1668749403,"connection":1,"method":"GET","uri":"/v25.0/me?a=b%20c","path":"me","parameters":[["a","b c"]],"headers":[["Host","graph.facebook.com"]],"body":"","faults":[],"outcome":"answered","status":400}]"#
                    + "\n"
            )
            #expect(try await control.send("GET", "/requests?since=2").text == "[]\n")
            let counters = try await control.send("GET", "/counters")
            #expect(
                counters.text.hasSuffix(
                    #""requests":2,"requestsByPath":{"app":1,"me":1},"repliesByStatus":{"400":2}}"# + "\n"
                )
            )
            #expect(try await control.send("DELETE", "/requests").status == 200)
            #expect(simulator.requests().isEmpty)
            #expect(
                try await control.send("PUT", "/clock", #"{"offset":10}"#).text == #"{"now":1668749413,"offset":10}"#
                    + "\n"
            )
            #expect(simulator.now == SampleWorld.now + 10)
            #expect(try await control.send("POST", "/reset").status == 200)
            #expect(try await control.send("GET", "/clock").text == #"{"now":1668749403,"offset":0}"# + "\n")
            #expect(try await control.send("GET", "/health").text == #"{"ok":true}"# + "\n")
            #expect(try await control.send("DELETE", "/connections").status == 200)
        }
    }

    /// Method, path and body of the request, status and error of the response.
    static let refusals: [(String, String, String, Int, String)] = [
        ("GET", "/", "", 404, "nothing at GET /"),
        ("POST", "/health", "", 404, "nothing at POST /health"),
        ("POST", "/tokens", "{", 400, "the text is not JSON (at line 1, column 2)"),
        ("POST", "/tokens", #"{"person":"nobody"}"#, 400, "person: no person \"nobody\""),
        (
            "POST", "/tokens", #"{"knd":"long"}"#, 400,
            "knd: unknown member; known are app, dataAccessExpiresAt, expiresAt, granularScopes, kind, metadata, name, person, scopes, text"
        ),
        ("PATCH", "/people/nobody", "{}", 404, "nothing at PATCH /people/nobody"),
        ("PUT", "/people/a", #"{"key":"b"}"#, 400, "key: differs from the address"),
        (
            "POST", "/faults", #"{"effect":"dealy"}"#, 400,
            "effect: expected one of delay, hang, reset, close, error, rateLimit, reply, raw, html502, empty, false, redirect, truncated, wrongTypes, dataNull, duplicateKeys, idMissing, extraKeys, deep, merge, slow, huge, endless, gzipBomb"
        ),
        (
            "POST", "/faults", #"{"effect":"hang","at":"noon"}"#, 400,
            "at: expected one of accept, firstBytes, request, headers, body"
        ),
        (
            "POST", "/faults", #"{"effect":"hang","at":"accept","path":"me"}"#, 400,
            "at: accept happens before there is a path, an app or a token"
        ),
        ("POST", "/faults", #"{"effect":"delay"}"#, 400, "milliseconds: is missing"),
        (
            "POST", "/faults", #"{"effect":"empty","keys":1}"#, 400,
            "keys: unknown member; known are after, app, count, effect, every, path, percent, seed, token"
        ),
        ("POST", "/faults", #"{"effect":"redirect","location":"a\r\nX: b"}"#, 400, "location: expected printable text"),
        ("PUT", "/clock", "{}", 400, "offset: is missing"),
    ]

    @Test("wrong requests are told what is wrong", arguments: refusals)
    func refused(_ method: String, _ path: String, _ body: String, _ status: Int, _ error: String) async throws {
        try await Control.run { _, control in
            let reply = try await control.send(method, path, body)
            #expect(reply.status == status)
            let text = error.replacing("\"", with: "\\\"")
            #expect(reply.text == "{\"error\":\"\(text)\"}\n")
        }
    }
}
