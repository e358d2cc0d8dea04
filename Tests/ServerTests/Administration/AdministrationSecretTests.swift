import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "T-111: secrets go in and never come out",
    .serialized,
    .deployed(
        Document(mapping: #"{"name": "name"}"#),
        Document(application: "fresh", apps: []),
        environment: ["FEDERATION_LOG_LEVEL": "trace"]
    )
)
struct AdministrationSecretTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let facebook = "applications/demo/providers/facebook"

    private static func apps(_ apps: (id: String, secret: String?)...) -> String {
        let apps = apps.map { app in
            #"{"appId": "\#(app.id)"\#(app.secret.map { #", "appSecret": \#($0)"# } ?? "")}"#
        }
        return #"{"enabled": true, "apps": [\#(apps.joined(separator: ", "))]}"#
    }

    private func stored() async throws -> [[String?]] {
        try await deployment.database.psql(
            """
            select app_id, position, encode(secret, 'hex'), secret_key_id, secret_changed from federation.provider_apps
            where application_id = 'demo' order by position
            """
        )
    }

    @Test(
        "T-111: a secret is read back as set, when and under which key; left out or as it was read it stays what it is"
    )
    func writeOnly() async throws {
        let owner = try await deployment.admin()
        let read = try await owner.get(Self.facebook)
        let app = try #require(read["apps"]?.array?.first?.object)
        let secret = try #require(app["appSecret"]?.object)
        #expect(secret["set"]?.bool == true)
        #expect(secret["keyId"]?.string?.isEmpty == false)
        #expect(secret["changed"] != nil)
        let before = try await stored()
        let id = try #require(app["appId"]?.string)
        for json in [read.text, Self.apps((id, nil)), Self.apps((id, JSONValue.object(secret).text))] {
            try await owner.ask("PUT", Self.facebook, json)
            #expect(try await stored() == before, "\(json)")
        }
        try await owner.ask("PATCH", Self.facebook, #"{"proof": "classic"}"#)
        #expect(try await stored() == before)
        _ = try await deployment.loggedIn(try await deployment.newcomer())
        try await owner.ask("PATCH", Self.facebook, #"{"proof": "timed"}"#)

        // Another app comes first; the existing app keeps its secret.
        try await owner.ask(
            "PUT",
            Self.facebook,
            Self.apps(("2345678901", #""\#(Canary.appSecret(of: "2345678901"))""#), (id, nil))
        )
        let after = try await stored()
        #expect(after.count == 2)
        #expect(after.last?[2] == before.first?[2])
        // A new app needs a secret.
        try await deployment.expectNothingWritten(except: ["federation.operator_tokens"]) {
            for secret in [nil, "null", #""""#, "7", #"{"set": true}"#, #""ä""#, #""a b""#] {
                let reply = try await owner.send("PUT", Self.facebook, Self.apps(("3456789012", secret)))
                try expectProblem(reply, "document_invalid", "\(secret ?? "none")")
            }
            let duplicate = try await owner.send("PUT", Self.facebook, Self.apps((id, nil), (id, nil)))
            try expectProblem(duplicate, "document_invalid", "an app is there once")
        }
        try await owner.ask("PUT", Self.facebook, Self.apps((id, nil)))
        #expect(try await stored().map { $0[2] } == before.map { $0[2] })
    }

    @Test("a check verifies id and secret at Facebook and says what is wrong, and logins go by the new secret")
    func check() async throws {
        let owner = try await deployment.admin()
        let good = try await owner.ask("POST", Self.facebook + "/check")
        #expect(good["apps"]?.array?.compactMap { $0.object?["ok"]?.bool } == [true], "\(good.text)")
        try await owner.ask("PUT", Self.facebook, Self.apps(("1234567890", #""canary-wrong-secret""#)))
        let bad = try await owner.ask("POST", Self.facebook + "/check")
        let app = try #require(bad["apps"]?.array?.first?.object)
        #expect(app["ok"]?.bool == false)
        #expect(app["problem"]?.string?.isEmpty == false)
        #expect(!bad.text.lowercased().contains(Canary.mark), "\(bad.text)")
        try await owner.ask(
            "PUT",
            Self.facebook,
            Self.apps(("1234567890", #""\#(Canary.appSecret(of: "1234567890"))""#))
        )
        let visitor = try await deployment.newcomer()
        try await eventually("logins go on", every: .milliseconds(50)) {
            try await deployment.login(visitor).status == 200
        }
    }

    @Test(
        "T-110: the app secret, a key and the master key are in no reply, error, log, audit entry, dump or process list, by whichever way they came"
    )
    func nowhere() async throws {
        let sampler = Task {
            var lines: Set<String> = []
            while !Task.isCancelled {
                lines.formUnion(Self.processList())
                try? await Task.sleep(for: .milliseconds(2))
            }
            return lines
        }
        var texts: [String] = []
        try await driveREST { texts.append($0) }
        try await driveCommands { texts.append($0) }
        sampler.cancel()
        texts += await sampler.value
        #expect(
            texts.contains { $0.contains("federation") && $0.contains("provider") && $0.contains("set") },
            "it was looked"
        )
        let forms = Self.secrets.flatMap(Self.forms)
        for text in texts {
            for form in forms where text.lowercased().contains(form.lowercased()) {
                Issue.record("\(form) in \(text)")
            }
        }
        let dump = try await run("pg_dump", ["--dbname", deployment.database.url, "--inserts"])
        try #require(dump.exitStatus == .exited(0), "\(dump.standardError)")
        #expect(dump.standardOutput.contains("provider_apps"))
        for form in forms {
            #expect(!dump.standardOutput.lowercased().contains(form.lowercased()), "\(form) in the dump")
        }
        let audit = try await deployment.value("select string_agg(a::text, ' ') from federation.audit_log a") ?? ""
        #expect(audit.contains("provider"))
        #expect(!audit.lowercased().contains(Canary.mark))
    }

    private static let secrets = [
        Canary.appSecret(of: "1234567890"), Canary.appSecret(of: "2345678901"), "canary-new-secret", Canary.apiKey,
        "canary-verify-token",
        "canary_new_key_123456",
        "canary-master-key-of-32-bytes-!!", Canary.masterKey,
    ]

    /// Returns a secret as text, in hex, and in base64 at each of the three possible offsets.
    private static func forms(of secret: String) -> [String] {
        let bytes = Array(secret.utf8)
        let hex = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let base64 = (0..<3).map { shift in
            let padded = Data(Array(repeating: UInt8(0), count: shift) + bytes).base64EncodedString()
            // The first and last groups contain bits of neighbouring bytes.
            return String(padded.dropFirst(4).dropLast(4))
        }
        return [secret, hex] + base64
    }

    /// Returns the command lines of all processes of the service and of commands.
    private static func processList() -> [String] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.filter { $0.allSatisfy(\.isNumber) }.compactMap { pid in
            guard let data = try? Data(contentsOf: URL(filePath: "/proc/\(pid)/cmdline")) else { return nil }
            let line = String(decoding: data.map { $0 == 0 ? 0x20 : $0 }, as: UTF8.self)
            return line.contains("federation") ? line : nil
        }
    }

    /// Sends secrets in every possible way over REST, valid and invalid, and then requests every route.
    private func driveREST(_ note: (String) -> Void) async throws {
        let owner = try await deployment.admin()
        func send(_ method: String, _ path: String, _ json: String? = nil) async throws {
            let reply = try await owner.send(method, path, json)
            note(
                "\(method) \(path): \(reply.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n"))\n\(reply.text)"
            )
        }
        let secret = #""\#(Canary.appSecret(of: "1234567890"))""#
        let fresh = "applications/fresh/providers/facebook"
        try await send("PUT", fresh, Self.apps(("1234567890", secret)))
        try await send("PUT", fresh, Self.apps(("x", secret)))
        try await send("PUT", fresh, #"{"enabled": true, "apps": [{"appId": "1234567890", "appsecret": \#(secret)}]}"#)
        try await send("PUT", fresh, #"{"enabled": \#(secret), "apps": [\#(secret)]}"#)
        try await send("PUT", fresh, #"{"enabled": true "apps": \#(secret)}"#)
        try await send("PATCH", fresh, #"{"graphVersion": \#(secret), "proof": \#(secret)}"#)
        try await send("PATCH", fresh, #"{"apps": [{"appId": "1234567890", "appSecret": {"env": \#(secret)}}]}"#)
        try await send("PATCH", fresh, Self.apps(("1234567890", #""canary-new-secret""#)))
        try await send("PATCH", fresh, #"{"webhookVerifyToken": "canary-verify-token"}"#)
        try await send("PATCH", fresh, #"{"webhookVerifyToken": {"env": "canary-verify-token", "set": 1}}"#)
        try await send("PATCH", fresh, #"{"webhookVerifyToken": "canary-verify-token and more"}"#)
        try await send("PATCH", fresh, #"{"webhookverifytoken": "canary-verify-token"}"#)
        try await send("POST", fresh + "/check")
        try await send(
            "PUT",
            "applications/fresh/document",
            Document(application: "fresh").text.replacing(#"{"env": "SECRET_1234567890"}"#, with: secret)
        )
        try await send("POST", "applications/fresh/keys", #"{"label": "short", "key": "canary"}"#)
        try await send("POST", "applications/fresh/keys", #"{"label": "", "key": "canary_new_key_123456"}"#)
        let walk = try await deployment.walk(in: deployment.documents[0])
        for route in AdminRoute.all where route.method == "GET" {
            try await send(route.method, walk.fill(route.path))
            try await send(route.method, walk.fill(route.path).replacing("demo", with: "fresh"))
        }
        try await send("GET", "audit?limit=200")
        try await send("GET", "audit?format=jsonl")
    }

    /// Sends secrets in every possible way by the command line.
    private func driveCommands(_ note: (String) -> Void) async throws {
        func command(_ arguments: [String], environment: [String: String] = [:]) async throws {
            let process = try await deployment.federation(arguments, environment: environment)
            note("\(arguments): \(process.standardOutput) \(process.standardError)")
        }
        try await Document.withFile("canary-new-secret\n") { file in
            let (set, app) = (["set", "applications/fresh/providers/facebook"], "apps.1234567890.appSecret=@")
            try await command(set + [app + file])
            try await command(set + [app + file, "--json"])
            try await command(["patch", "applications/fresh/providers/facebook", "webhookVerifyToken=@\(file)"])
            let piped = try await run(
                "/bin/sh",
                [
                    "-c",
                    "\(try PackageLayout.executable("federation")) \(set.joined(separator: " ")) \(app)- < \(file)",
                ],
                environment: deployment.commandEnvironment
            )
            #expect(piped.exitStatus == .exited(0), "\(piped.standardError)")
            note(piped.standardOutput + piped.standardError)
            try await command(["set", "applications/fresh/providers/facebook", "apps.x.appSecret=@\(file)"])
            // A file with a secret where another file is expected.
            try await command(["apply", file])
            try await command(["check", file])
            try await command(["set", "applications/fresh/mappings/facebook", file])
        }
        let document = deployment.documents[0]
        let environment = document.environment(database: deployment.database)
        try await Document.withFile(document.text) { file in
            for arguments in [
                ["apply", file], ["apply", file, "--dry-run"], ["diff", file], ["check", "--live", file],
            ] {
                try await command(arguments, environment: environment)
            }
            var odd = environment
            odd["SECRET_1234567890"] = "canary with spaces"
            odd["API_KEY"] = "canary"
            try await command(["apply", file], environment: odd)
        }
        for arguments in [
            ["export", "demo"], ["export", "fresh"], ["get", "applications/fresh/providers/facebook"],
            ["get", "applications/fresh/providers/facebook", "--json"],
            ["provider", "check", "fresh"], ["list", "applications/demo/keys"], ["list", "audit"],
            ["list", "audit", "--json"],
            ["secrets", "status"], ["secrets", "status", "--json"], ["get", "applications/fresh"],
            ["list", "applications", "--json"],
        ] { try await command(arguments) }
    }

    @Test("a secret on the command line is refused before anything is done with it")
    func argument() async throws {
        try await deployment.expectNothingWritten {
            for option in ["--secret", "--app-secret"] {
                let process = try await deployment.federation(
                    "patch",
                    "applications/fresh/providers/facebook",
                    "apps.1.appSecret=@-",
                    option,
                    "not-repeated"
                )
                #expect(process.exitStatus == .exited(64))
                #expect(process.standardError.contains("NAME=@FILE"))
                #expect(!process.standardError.contains("not-repeated"))
            }
        }
    }
}
