import GraphSimulator
import Testing

@Suite("several requests in one")
struct BatchTests {
    private static func form(_ batch: String, _ rest: String = "") -> String {
        "batch=\(Wire.encoded(batch))\(rest)"
    }

    private static func elements(_ reply: Wire.Reply) throws -> [GraphSimulator.JSON] {
        #expect(reply.status == 200, "\(reply.text)")
        return try #require(try GraphSimulator.JSON(parsing: reply.body).array)
    }

    @Test("each is answered for itself, in order, with the status, headers and text that it would have had alone")
    func answers() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let batch = """
                [{"method":"GET","relative_url":"me?fields=email"},
                 {"method":"get","relative_url":"/v24.0/456"},
                 {"method":"GET","relative_url":"me/picture"},
                 {"method":"DELETE","relative_url":"me/permissions/email"},
                 {"method":"POST","relative_url":"me","body":"method=get&fields=email"}]
                """
            let reply = try await Wire.post(
                simulator,
                "/v25.0/",
                form: Self.form(batch, "&access_token=\(token)")
            )
            let elements = try Self.elements(reply)
            #expect(elements.map { $0["code"] } == [200, 400, 302, 200, 200])
            #expect(elements[0]["body"] == #"{"email":"ann\u0040example.com","id":"123"}"#)
            #expect(elements[1]["body"]?.string?.contains("Object with ID '456' does not exist") == true)
            #expect(elements[3]["body"] == #"{"success":true}"#)
            // The removal of a permission in the element before already has its effect.
            #expect(elements[4]["body"] == #"{"id":"123"}"#)

            func header(_ name: String, of index: Int) -> String? {
                elements[index]["headers"]?.array?.first { $0["name"]?.string == name }?["value"]?.string
            }
            #expect(header("Content-Type", of: 0) == "text/javascript; charset=UTF-8")
            #expect(header("Facebook-API-Version", of: 0) == "v25.0")
            #expect(header("Facebook-API-Version", of: 1) == "v24.0")
            #expect(header("ETag", of: 0)?.utf8.count == 42)
            #expect(header("Cache-Control", of: 1) == "no-store")
            #expect(
                header("WWW-Authenticate", of: 1)?.hasPrefix(#"OAuth "Facebook Platform" "invalid_request""#) == true
            )
            #expect(header("Location", of: 2)?.hasPrefix("https://platform-lookaside.fbsbx.com/") == true)
            #expect(simulator.requests(path: "").count == 1)
        }
    }

    @Test("an operation's name is a text, or its number in the list, as SDKs have it", arguments: [#""first""#, "0"])
    func names(_ name: String) async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            func reply(_ name: String) async throws -> Wire.Reply {
                let batch = #"[{"method":"GET","relative_url":"me?fields=id","name":\#(name)}]"#
                return try await Wire.post(simulator, "/", form: Self.form(batch, "&access_token=\(token)"))
            }
            #expect(try Self.elements(try await reply(name)).map { $0["body"] } == [#"{"id":"123"}"#])
            #expect(try await reply("[0]").text.contains("expected a string or a number"))
        }
    }

    @Test("a token, with its proof, counts for those that bring none; each may bring its own")
    func tokens() async throws {
        try await SampleWorld.run { simulator in
            simulator.update(app: SampleWorld.app) { $0.requireProof = true }
            let token = try simulator.mint(.long, person: "ann").text
            let app = SampleWorld.appToken
            func proof(_ token: String) -> String {
                GraphSimulator.proof(token: token, secret: SampleWorld.secret)
            }
            let batch = """
                [{"method":"GET","relative_url":"debug_token?input_token=\(token)"},
                 {"method":"GET","relative_url":"me?fields=id&access_token=\(token)&appsecret_proof=\(proof(token))"},
                 {"method":"GET","relative_url":"me?fields=id&access_token=\(token)"}]
                """
            let top = "&access_token=\(Wire.encoded(app))&appsecret_proof=\(proof(app))"
            let elements = try Self.elements(try await Wire.post(simulator, "/", form: Self.form(batch, top)))
            #expect(elements[0]["body"]?.string?.contains(#""is_valid":true"#) == true)
            #expect(elements[1]["body"] == #"{"id":"123"}"#)
            #expect(elements[2]["body"]?.string?.contains("require an appsecret_proof") == true)
        }
    }

    @Test("the batch may be JSON, in a query, or a text in a JSON body")
    func forms() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let batch = #"[{"method":"GET","relative_url":"me?fields=id"}]"#
            let text = batch.replacing("\"", with: "\\\"")
            let json = ["Content-Type: application/json; charset=utf-8"]
            let replies = [
                try await Wire.post(
                    simulator,
                    "/",
                    body: #"{"batch":\#(batch),"access_token":"\#(token)","include_headers":false}"#,
                    headers: json
                ),
                try await Wire.post(
                    simulator,
                    "/?access_token=\(token)&include_headers=false",
                    body: #"{"batch":"\#(text)"}"#,
                    headers: json
                ),
                try await Wire.post(
                    simulator,
                    "/?\(Self.form(batch))",
                    form: "include_headers=0",
                    headers: ["Authorization: Bearer \(token)"]
                ),
            ]
            for reply in replies {
                #expect(reply.text == #"[{"code":200,"body":"{\"id\":\"123\"}"}]"#)
            }
        }
    }

    @Test("a success may be left out, and what is known already comes without a body")
    func omitted() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let tag = try #require(try await Wire.get(simulator, "/me?access_token=\(token)").header("ETag"))
            let escaped = tag.replacing("\"", with: "\\\"")
            let batch = """
                [{"method":"GET","relative_url":"me","name":"first","omit_response_on_success":true},
                 {"method":"GET","relative_url":"456","omit_response_on_success":true},
                 {"method":"GET","relative_url":"me","headers":[{"name":"If-None-Match","value":"\(escaped)"}]},
                 {"method":"GET","relative_url":"me","headers":["If-None-Match: \(escaped)"]}]
                """
            let elements = try Self.elements(
                try await Wire.post(
                    simulator,
                    "/",
                    form: Self.form(batch, "&access_token=\(token)&include_headers=false")
                )
            )
            #expect(elements[0] == .null)
            #expect(elements[1]["code"] == 400)
            for element in elements[2...] { #expect(element == ["code": 304, "body": nil]) }
        }
    }

    /// The batch, and the message of the error.
    static let refusals: [(String, String)] = [
        ("nonsense", "(#100) param batch must be an array."),
        (#"{"method":"GET"}"#, "(#100) param batch must be an array."),
        ("[1]", "(#100) batch[0]: expected an object"),
        (#"[{"relative_url":"me"}]"#, #"(#100) batch[0]: \"method\" is missing or empty"#),
        (#"[{"method":"GET"}]"#, "(#100) batch[0].relative_url: is missing"),
        (
            #"[{"method":"GET","relative_url":"me"},{"method":"GET","relative_url":"me","depends_on":"first"}]"#,
            "(#100) batch[1].depends_on: unknown member; known are body, headers, method, name, omit_response_on_success, relative_url"
        ),
        (
            #"[{"method":"POST","relative_url":"me","attached_files":"cat"}]"#,
            "(#100) batch[0].attached_files: unknown member"
        ),
        (
            #"[{"method":"GET","relative_url":"?ids={result=first:$.data.*.id}"}]"#,
            "(#100) batch[0].relative_url: references to another operation's result are not simulated"
        ),
        (#"[{"method":"GET","relative_url":"me","headers":[1]}]"#, "(#100) batch[0].headers: expected"),
    ]

    @Test("what is no batch, or a part of batches that is not simulated, is named", arguments: refusals)
    func refused(_ batch: String, _ message: String) async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            let reply = try await Wire.post(simulator, "/", form: Self.form(batch, "&access_token=\(token)"))
            #expect(reply.status == 400)
            #expect(reply.text.contains(message), "\(reply.text)")
        }
    }

    @Test("a batch has a token of its own, 50 requests at most, and no batch inside; another kind of body is named")
    func bounds() async throws {
        try await SampleWorld.run { simulator in
            let token = try simulator.mint(.long, person: "ann").text
            func post(_ count: Int) async throws -> Wire.Reply {
                let operations = [String](repeating: #"{"method":"GET","relative_url":"me"}"#, count: count)
                let batch = "[\(operations.joined(separator: ","))]"
                return try await Wire.post(simulator, "/", form: Self.form(batch, "&access_token=\(token)"))
            }
            #expect(try Self.elements(try await post(50)).count == 50)
            let large = try await post(51)
            #expect(large.status == 400)
            #expect(
                large.text.withoutTrace
                    == #"{"error":{"message":"Too many requests in batch message. Maximum batch size is 50","type":"GraphBatchException","fbtrace_id":"A…"}}"#
            )
            let own = #"[{"method":"GET","relative_url":"me?access_token=\#(token)"}]"#
            #expect(try await Wire.post(simulator, "/", form: Self.form(own)).text.contains(#""code":104"#))
            let nested = #"[{"method":"POST","relative_url":"","body":"batch=[]"}]"#
            let reply = try await Wire.post(simulator, "/", form: Self.form(nested, "&access_token=\(token)"))
            #expect(try Self.elements(reply)[0]["body"]?.string?.contains("A batch holds no other batch.") == true)
            let multipart = try await Wire.post(
                simulator,
                "/",
                body: "--x\r\n",
                headers: ["Content-Type: multipart/form-data; boundary=x"]
            )
            #expect(multipart.text.contains(#"The simulator reads bodies of application\/x-www-form-urlencoded"#))
        }
    }
}
