import Accounts
import Applications
import ArgumentParser
import Domain
import Encodings
import FoundationEssentials
import HTTPTypes
@testable import Server
import Testing
import TestSupport

@Suite("A kind of provider that is added to those of the service")
struct ExampleProviderTests {
    private static let key = "0123456789abcdef"
    private static let example = TokenEndpoint(
        clients: ["shop": "CANARY-shop"],
        answers: [
            "ann-at-shop": #"{"active": true, "sub": "ann", "aud": "shop", "email": "ann@example.com", "name": "Ann"}"#,
            "ann-at-bank": #"{"active": true, "sub": "ann", "aud": "bank"}"#,
            "ended": #"{"active": false, "sub": "ann", "aud": "shop"}"#,
            "nameless": #"{"active": true, "aud": "shop"}"#,
        ]
    )

    /// Lends listeners that know the provider kind, and an application with an API key.
    private static func lend(_ body: @escaping @Sendable (Operators) async throws -> Void) async throws {
        try await example.lend { url in
            let kind = ExampleKind(client: try ExampleClient(endpoint: url))
            try await Operators.lend(knowing: [kind]) { operators in
                try await ask(operators, .post, "applications", #"{"application": "demo"}"#)
                try await ask(operators, .post, "applications/demo/keys", #"{"label": "ios", "key": "\#(key)"}"#)
                try await body(operators)
            }
        }
    }

    /// Sends a request as the owner and requires that it succeeds.
    @discardableResult
    private static func ask(
        _ operators: Operators,
        _ method: HTTPRequest.Method,
        _ path: String,
        _ json: String? = nil
    ) async throws -> JSONObject {
        let headers: HTTPFields = method == .put || method == .patch ? [.ifMatch: "*"] : [:]
        let reply = try await operators.send(method, path, headers: headers, json: json)
        try #require((200...201).contains(reply.status), "\(method) \(path): \(reply.text)")
        return try #require(reply.json)
    }

    /// Runs a command on the same database, with an administration that knows the provider kind.
    ///
    /// The program `federation` itself knows only the kinds of `ProviderWiring`.
    private static func run(_ operators: Operators, _ arguments: String...) async throws {
        let command = try #require(try FederationCommand.parseAsRoot(arguments) as? any AdministrationCommand)
        try await command.run(
            operators.listeners.parts.administration,
            by: ChangeAuthor(name: "cli:test", source: "here")
        )
    }

    private static func login(
        _ operators: Operators,
        _ token: String,
        at name: String
    ) async throws -> Reply {
        try await operators.listeners.parts.directory.refresh()
        return try await operators.listeners.call(
            .post,
            "/demo/\(key)/users/social/\(name)/login",
            headers: [.contentType: "application/json"],
            body: #"{"accessToken": "\#(token)"}"#
        )
    }

    private static func withFile(_ text: String, _ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.path + "/federation-test-\(UUID()).json"
        try Data(text.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    @Test("it is set up by REST, by a document and by the command line, and people log in at each of its instances")
    func everyWay() async throws {
        try await Self.lend { operators in
            let providers = "applications/demo/providers/"
            let app = #""apps": [{"clientId": "shop", "clientSecret": "CANARY-shop"}]"#
            let corp = try await Self.ask(
                operators,
                .put,
                providers + "corp",
                #"{"kind": "example", \#(app), "audience": "shop"}"#
            )
            #expect(corp["kind"]?.string == "example" && corp["audience"]?.string == "shop")

            let document = try await Self.ask(operators, .get, "applications/demo/document")
            let exported = try #require(document["providers"]?.object?["corp"]?.object)
            #expect(exported["kind"]?.string == "example" && exported["audience"]?.string == "shop")
            let labs = JSONValue.object(document).text.replacing(
                #""providers":{"#,
                with: #""providers":{"labs":{"kind":"example",\#(app),"audience":"shop"},"#
            ).replacing(#""properties":"#, with: #""mapping":{"labs":{"email":"email"}},"properties":"#)
            let applied = try await Self.ask(operators, .put, "applications/demo/document", labs)
            #expect(
                applied["changes"]?.array?.compactMap { $0.object?["action"]?.string } == [
                    "provider.labs.set", "provider.labs.apps", "mapping.labs.set",
                ]
            )

            try await Self.withFile(#"{"kind": "example", \#(app), "audience": "shop"}"#) { file in
                try await Self.run(operators, "set", providers + "desk", file)
            }
            #expect(try await Self.ask(operators, .get, providers + "desk")["audience"]?.string == "shop")

            var users: Set<String> = []
            for name in ["corp", "labs", "desk"] {
                let reply = try await Self.login(operators, "ann-at-shop", at: name)
                try #require(reply.status == 200, "\(name): \(reply.text)")
                users.insert(try #require(reply.json?["objectId"]?.string))
                #expect(reply.json?["socialAccount"]?.string == name.uppercased())
                #expect(reply.json?["email"]?.string == (name == "labs" ? "ann@example.com" : nil))
                for token in ["ann-at-bank", "ended", "nameless", "unknown"] {
                    let refused = try await Self.login(operators, token, at: name)
                    #expect(refused.reason == "credential_invalid", "\(name) \(token): \(refused.text)")
                }
            }
            #expect(users.count == 3, "each instance has people of its own")
            #expect(
                try await operators.database.psql(
                    "select provider, provider_app, subject from demo.identities order by provider"
                ) == [["corp", "global", "ann"], ["desk", "global", "ann"], ["labs", "global", "ann"]]
            )
            #expect(
                try await operators.database.psql(
                    "select provider, kind from federation.provider_settings order by provider"
                ) == [["corp", "example"], ["desk", "example"], ["labs", "example"]]
            )
            #expect(
                try await operators.database.psql(
                    "select 1 from federation.audit_log a where to_jsonb(a)::text like '%CANARY%'"
                ).isEmpty
            )
        }
    }

    @Test("an option returns to its default by the command line, and what is wrong is told in the words of the kind")
    func options() async throws {
        try await Self.lend { operators in
            let path = "applications/demo/providers/corp"
            let app = #""apps": [{"clientId": "shop", "clientSecret": "CANARY-shop"}]"#
            try await Self.ask(operators, .put, path, #"{"kind": "example", \#(app), "audience": "bank"}"#)
            #expect(try await Self.login(operators, "ann-at-shop", at: "corp").status == 401)
            try await Self.withFile(#"{"audience": null}"#) { file in
                try await Self.run(operators, "patch", path, file)
            }
            #expect(try await Self.ask(operators, .get, path)["audience"]?.isNull == true)
            #expect(try await Self.login(operators, "ann-at-shop", at: "corp").status == 200)

            for (document, pointer) in [
                (#"{"kind": "example", \#(app), "audience": 7}"#, "/audience"),
                (#"{"kind": "example", \#(app), "graphVersion": "v25.0"}"#, "/graphVersion"),
                (#"{"kind": "example", "apps": [{"appId": "1", "appSecret": "CANARY"}]}"#, "/apps/0/appId"),
                (#"{"kind": "sample", \#(app)}"#, "/kind"), ("{\(app)}", ""),
            ] {
                let reply = try await operators.send(.put, path, headers: [.ifMatch: "*"], json: document)
                let problems = reply.json?["errorData"]?.object?["problems"]?.array ?? []
                #expect(problems.contains { $0.object?["pointer"]?.string == pointer }, "\(reply.text)")
                #expect(!reply.text.contains("CANARY"))
            }
            let named = try await operators.send(
                .put,
                "applications/demo/providers/password",
                headers: [.ifMatch: "*"],
                json: #"{"kind": "example", \#(app)}"#
            )
            #expect(named.status == 404 && named.reason == "not_found")
            let mapping = try await operators.send(
                .put,
                "applications/demo/mappings/corp",
                headers: [.ifMatch: "*"],
                json: #"{"email.domain": "name"}"#
            )
            #expect(mapping.text.contains("this field of Example"), "\(mapping.text)")
        }
    }

    @Test("every login is told once to whoever counts them: by a provider, by a password, a guest's and a server's")
    func counted() async throws {
        try await Self.lend { operators in
            let app = #""apps": [{"clientId": "shop", "clientSecret": "CANARY-shop"}]"#
            try await Self.ask(operators, .put, "applications/demo/providers/corp", #"{"kind": "example", \#(app)}"#)
            let server = String(repeating: "5", count: 40)
            try await Self.ask(
                operators,
                .post,
                "applications/demo/keys",
                #"{"label": "shop", "key": "\#(server)", "server": true}"#
            )
            let (listeners, logins) = (operators.listeners, operators.listeners.parts.logins)
            func call(_ path: String, _ body: String = "{}", key: String = Self.key) async throws -> JSONObject {
                try await listeners.call(
                    .post,
                    "/demo/\(key)/users/\(path)",
                    headers: [.contentType: "application/json"],
                    body: body
                ).json ?? [:]
            }
            let ann = #""email": "ann@example.com", "password": "four words of a song""#
            let login = #"{"login": "ann@example.com", "password": "#
            try await listeners.parts.directory.refresh()
            let registered = try #require(try await call("register", "{\(ann)}")["objectId"]?.string)
            #expect(logins.all == [], "who registers is not logged in")

            let first = try await Self.login(operators, "ann-at-shop", at: "corp")
            let user = try #require(first.json?["objectId"]?.string)
            _ = try await Self.login(operators, "ann-at-shop", at: "corp")
            _ = try await Self.login(operators, "ended", at: "corp")
            _ = try await Self.login(operators, "ann-at-shop", at: "made-up")
            _ = try await call("login", login + #""four words of a song"}"#)
            _ = try await call("login", login + #""four other words"}"#)
            let guest = try #require(try await call("register/guest")["objectId"]?.string)
            _ = try await call("login", #"{"objectId": "\#(registered)"}"#, key: server)
            _ = try await call("login", #"{"objectId": "\#(registered)"}"#)
            #expect(
                logins.all == [
                    "demo corp created \(user)", "demo corp updated \(user)", "demo corp credential_invalid",
                    "demo unknown provider not_found", "demo password updated \(registered)",
                    "demo password login_invalid", "demo guest created \(guest)", "demo server updated \(registered)",
                    "demo server object_login_forbidden",
                ]
            )
        }
    }

    @Test("what it cannot do is said, and its troubles are told as any provider's")
    func limits() async throws {
        try await Self.lend { operators in
            let path = "applications/demo/providers/corp"
            let wrong = #"{"kind": "example", "apps": [{"clientId": "shop", "clientSecret": "CANARY-wrong"}]}"#
            try await Self.ask(operators, .put, path, wrong)
            let refused = try await Self.login(operators, "ann-at-shop", at: "corp")
            #expect(refused.reason == "provider_misconfigured", "\(refused.text)")

            let check = try await Self.ask(operators, .post, path + "/check")
            #expect(check["apps"]?.array?.map { $0.object?["clientId"]?.string } == ["shop"])
            let warnings = (check["warnings"]?.array ?? []).compactMap(\.string)
            #expect(warnings.contains { $0.hasPrefix("Example cannot check an app") }, "\(warnings)")

            try await operators.listeners.parts.directory.refresh()
            let dialog = try await operators.listeners.call(
                .post,
                "/demo/\(Self.key)/users/oauth/corp/request_url",
                headers: [.contentType: "application/json"],
                body: "{}"
            )
            #expect(dialog.reason == "not_found" && dialog.text.contains("Example has no such path"), "\(dialog.text)")
        }
    }
}
