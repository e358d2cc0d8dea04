import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The other paths of the user service",
    .serialized,
    .deployed(
        Document(
            settings: #"{"hostNames": ["users.example.com"]}"#,
            mapping: #"{"name": "name"}"#
        ),
        Document(application: "guarded", settings: #"{"allowedOrigins": ["https://app.example.com"]}"#)
    )
)
struct OtherPathsTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let named = [("application-id", "demo"), ("secret-key", Canary.apiKey), ("application-type", "JS")]
    private static let page =
        named.filter { $0.0 != "application-id" } + [
            ("application-id", "guarded"), ("Origin", "https://app.example.com"),
        ]

    private func v1(
        _ method: String,
        _ endpoint: String,
        _ json: String? = nil,
        headers: [(String, String)] = named
    ) async throws -> HTTPReply {
        let type = json == nil ? [] : [("Content-Type", "application/json")]
        return try await deployment.client.send(
            method,
            "/v1/" + endpoint,
            headers: headers + type,
            body: Array((json ?? "").utf8)
        )
    }

    @Test("JS SDK 3 names application and key in headers, and sends Facebook's answer as it is")
    func headerBound() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let answer =
            #"{"status":"connected","authResponse":{"accessToken":"\#(ann.token)","userID":"\#(ann.id)"},"fieldsMapping":{}}"#
        let login = try deployment.signedIn(try await v1("POST", "users/social/facebook/login/demo", answer))
        #expect(login.user["name"]?.string == "Ann")
        try expectProblem(try await v1("POST", "users/social/facebook/login/other", answer), "unknown_application")
        #expect(try await v1("GET", "users/isvalidusertoken/\(login.token)").text == "true")
        let body = #"{"email": "v1.canary@example.com", "password": "\#(Deployment.password)"}"#
        #expect(try await v1("POST", "users/register", body).status == 200)
        #expect(
            try await v1(
                "POST",
                "users/login",
                #"{"login": "v1.canary@example.com", "password": "\#(Deployment.password)"}"#
            ).status == 200
        )
        for headers in [
            [], [("application-id", "demo")], [("application-id", "demo"), ("secret-key", Canary.otherAPIKey)],
        ] {
            try expectProblem(try await v1("GET", "info", headers: headers), "unknown_application")
        }
        // The SDK's popup without options sends `null`.
        let address = try await v1("POST", "users/social/oauth/facebook/request_url", "null", headers: Self.page)
        #expect(address.status == 200, "\(address.text)")
        for body in ["[]", "1", #""null""#, "nul", "null null"] {
            let reply = try await v1("POST", "users/social/oauth/facebook/request_url", body, headers: Self.page)
            try expectProblem(reply, "malformed_request", "\(body)")
        }
        try expectProblem(try await v1("POST", "users/register", "null"), "malformed_request")
        try expectProblem(
            try await v1(
                "POST",
                "users/social/facebook/login",
                #"{"accessToken": "a", "authResponse": {"accessToken": "b"}}"#
            ),
            "credential_ambiguous"
        )
    }

    @Test("pages of other origins may send those headers, and read replies where the application lets them")
    func headerBoundOrigins() async throws {
        let preflight = try await deployment.client.send(
            "OPTIONS",
            "/v1/users/login",
            headers: [
                ("Origin", "https://page.example.com"), ("Access-Control-Request-Method", "POST"),
                ("Access-Control-Request-Headers", "application-id,secret-key,application-type,content-type,uistate"),
            ]
        )
        let allowed = preflight.header("Access-Control-Allow-Headers") ?? ""
        for name in ["application-id", "secret-key", "application-type", "uistate"] { #expect(allowed.contains(name)) }
        let page = [("Origin", "https://page.example.com"), ("secret-key", Canary.apiKey)]
        let open = try await v1("GET", "info", headers: page + [("application-id", "demo")])
        #expect(open.header("Access-Control-Allow-Origin") == "*")
        let guarded = try await v1("GET", "info", headers: page + [("application-id", "guarded")])
        #expect(guarded.header("Access-Control-Allow-Origin") == nil)
    }

    @Test("the host of an absolute target finds the application, whatever the header says")
    func absoluteTarget() async throws {
        func reply(_ target: String, _ host: String) async throws -> String {
            let request = "GET \(target) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
            return try await deployment.client.exchange(request).text
        }
        for target in ["http://users.example.com/api/info", "HTTPS://Users.Example.com:8443/api/info"] {
            #expect(try await reply(target, "evil.example").hasPrefix("HTTP/1.1 200 "))
        }
        #expect(try await reply("http://evil.example/api/info", "users.example.com").contains("unknown_application"))
    }

    @Test("the host-bound form has the user service, too, and gives no key away")
    func hostBound() async throws {
        let host = [("Host", "users.example.com")]
        let info = try await deployment.client.get("/api/info", headers: host)
        #expect(
            JSON.object(info.text) == [
                "appId": .string("demo"), "apiKey": .null, "rtURL": .null, "loggers": .array([]),
            ]
        )
        let body = #"{"email": "host.canary@example.com", "password": "\#(Deployment.password)"}"#
        #expect(try await deployment.client.post("/api/users/register", json: body, headers: host).status == 200)
    }

    private func simple(_ body: String, form: Bool = false) async throws -> HTTPReply {
        try await deployment.client.send(
            "POST",
            deployment.path("register"),
            headers: [("Content-Type", form ? "application/x-www-form-urlencoded" : "application/json")],
            body: Array(body.utf8)
        )
    }

    @Test("the simple contract answers created and existed, from forms and from JSON")
    func simpleRegister() async throws {
        let password = Deployment.password.replacing(" ", with: "+")
        let created = try await simple(
            "access_type=0&passkey=simple.canary%40example.com&passcode=\(password)",
            form: true
        )
        #expect(created.status == 201, "\(created.text)")
        let object = try #require(JSON.object(created.text))
        #expect(object.keys == ["result", "user"])
        #expect(object["result"]?.string == "created")
        #expect(object["user"]?.object?["email"]?.string == "simple.canary@example.com")
        #expect(object["user"]?.object?["user-token"] == nil)
        let again = try await simple(
            #"{"access_type": 0, "passkey": "Simple.canary@example.com", "passcode": "\#(Deployment.password)"}"#
        )
        #expect(again.status == 200)
        #expect(JSON.object(again.text) == ["result": .string("existed")])
        _ = try await deployment.logIn("simple.canary@example.com")

        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        for result in ["created", "existed"] {
            let reply = try await simple(#"{"access_type": "1", "passkey": "\#(ann.id)", "passcode": "\#(ann.token)"}"#)
            let object = try #require(JSON.object(reply.text))
            #expect(object["result"]?.string == result)
            #expect(object["user"]?.object?["user-token"]?.string?.utf8.count == 43)
        }
    }

    @Test("the simple contract lists the fields that are missing, and fails like everything else")
    func simpleFailures() async throws {
        for (body, missing) in [
            ("{}", ["access_type", "passkey", "passcode"]),
            (#"{"access_type": 0, "passkey": ""}"#, ["passkey", "passcode"]),
            (#"{"access_type": 0, "passkey": "a", "passcode": null}"#, ["passcode"]),
        ] {
            let reply = try await simple(body)
            try expectProblem(reply, "malformed_request")
            #expect(JSON.object(reply.text)?["errorData"]?.object?["missing"]?.array?.compactMap(\.string) == missing)
        }
        let failures: [(String, String)] = [
            (#"{"access_type": 3, "passkey": "a", "passcode": "b"}"#, "malformed_request"),
            (#"{"access_type": 0, "passkey": "a", "passcode": "b"}"#, "email_invalid"),
            (#"{"access_type": 0, "passkey": "a.canary@example.com", "passcode": "b"}"#, "password_not_allowed"),
            (#"{"access_type": 1, "passkey": "a", "passcode": "EAAcanary"}"#, "credential_invalid"),
            (#"{"access_type": 0, "access_type": 1}"#, "malformed_request"),
        ]
        for (body, reason) in failures { try expectProblem(try await simple(body), reason, "\(body)") }
        try expectProblem(try await simple("access_type=0&access_type=1", form: true), "malformed_request")
        let twitter = try await simple(#"{"access_type": 2, "passkey": "a", "passcode": "b:c"}"#)
        #expect(twitter.status >= 400)
    }
}
