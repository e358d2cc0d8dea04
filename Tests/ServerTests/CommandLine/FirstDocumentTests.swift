import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("A document to start from")
struct FirstDocumentTests {
    @Test("init writes ten lines that check, apply and export take, without a value of the demo")
    func first() async throws {
        try await withDatabase(.empty) { database in
            var ann = CommandLineOperator(database: database)
            let folder = FileManager.default.temporaryDirectory.appending(path: "federation-init-\(UUID())").path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let file = folder + "/shop.json"
            let made = try await ann.run("init shop --app-id 1234567890 -o \(file)")
            #expect(made.exitStatus == .exited(0), "\(made.standardError)")
            let text = try String(contentsOfFile: file, encoding: .utf8)
            #expect(text.split(separator: "\n").count <= 10, "\(text)")
            for step in ["export SHOP_API_KEY=", "export SHOP_FACEBOOK_APP_SECRET=", "federation apply \(file)"] {
                #expect(made.standardError.contains(step), "\(made.standardError)")
            }
            #expect(try await ann.run("check --strict \(file)").exitStatus == .exited(0))
            ann.environment["SHOP_API_KEY"] = Canary.apiKey
            ann.environment["SHOP_FACEBOOK_APP_SECRET"] = Canary.appSecret(of: "1234567890")
            try await ann.succeed("migrate")
            try await ann.succeed("apply \(file)")
            try await ann.succeed("diff \(file)")
            #expect(try await ann.json("get applications/shop/providers/facebook")["apps"]?.array?.count == 1)
            let doctor = try await ann.run("doctor --offline --application shop")
            #expect(!doctor.standardOutput.contains("demo.json"), "\(doctor.standardOutput)")

            let again = try await ann.fail("init shop --app-id 1234567890 -o \(file)", with: 73)
            #expect(again.contains("already exists"))
            #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
        }
    }

    @Test("init of another kind, and what it refuses")
    func others() async throws {
        let twitter = try await runFederation(
            ["init", "shop", "--app-id", "shopWeb4", "--provider", "twitter"],
            environment: [:]
        )
        #expect(twitter.standardOutput.contains(#""consumerSecret": {"env": "SHOP_TWITTER_APP_SECRET"}"#))
        let checked = try await Document.run("check", twitter.standardOutput)
        #expect(checked.exitStatus == .exited(0), "\(checked.standardError)")
        for (arguments, text) in [
            (["init", "a/b", "--app-id", "1"], "an application's id is"),
            (["init", "a", "--app-id", "x"], "the id of the app"),
            (["init", "a", "--app-id", "1", "--provider", "facebok"], "did you mean facebook?"),
            (["init", "a"], "--app-id"),
        ] {
            let run = try await runFederation(arguments, environment: [:])
            #expect(run.exitStatus == .exited(64), "\(arguments)")
            #expect(run.standardError.contains(text), "\(run.standardError)")
            #expect(run.standardOutput == "")
        }
    }

    @Test("the doctor tells of each value that is the demo's")
    func demo() async throws {
        let demo = PackageLayout.path("mappings/demo.json")
        try await withDatabase(.empty) { database in
            var ann = CommandLineOperator(database: database)
            ann.environment["DEMO_API_KEY"] = Canary.apiKey
            ann.environment["DEMO_FACEBOOK_APP_SECRET"] = Canary.appSecret(of: "1234567890")
            ann.environment["DEMO_TWITTER_CONSUMER_SECRET"] = Canary.appSecret(of: "demoConsumerKey")
            try await ann.succeed("migrate")
            try await ann.succeed("apply \(demo)")
            let doctor = try await ann.run("doctor --offline --application demo")
            for place in [
                "settings.tokens.audience", "settings.secondFactor.passkeys.rpId",
                "settings.secondFactor.passkeys.origins", "settings.secondFactor.sms.countries",
                "providers.twitter.apps",
                "providers.facebook.returnUrls",
            ] {
                #expect(doctor.standardOutput.contains(place), "\(place) in \(doctor.standardOutput)")
            }
        }
    }
}

@Suite("Words that are nearly right", .serialized, .deployed(Document()))
struct NearlyRightTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test(
        "an unknown command is told the nearest one",
        arguments: [
            (["migarte"], "unknown command migarte (did you mean migrate?)"),
            (["user", "imprt", "demo"], "unknown command user imprt (did you mean import?)"),
            (["lst", "audit"], "(did you mean list?)"), (["xyzzy"], "unknown command xyzzy; "),
            (["mapping", "\u{1B}[2J"], "unknown command mapping \\u{1B}[2J; "),
        ]
    )
    func command(arguments: [String], text: String) async throws {
        let run = try await runFederation(arguments, environment: [:])
        #expect(run.exitStatus == .exited(64))
        #expect(run.standardError.contains(text), "\(run.standardError)")
        #expect(run.standardOutput == "")
    }

    @Test("an unknown member of a document is told the nearest one, and JSON that is none its line and column")
    func document() async throws {
        for (text, expected) in [
            (
                #"{"application": "a", "settings": {"clientMaping": true}}"#,
                "/settings/clientMaping: is not a setting (did you mean clientMapping?)"
            ),
            (#"{"application": "a", "propertys": {}}"#, "/propertys: is not known here (did you mean properties?)"),
            (#"{"application": "a", "settings": {"tokens": {"audiense": "x"}}}"#, "(did you mean audience?)"),
            (
                #"{"application": "a", "settings": {"secondFactor": {"passkeys": {"rpid": "x"}}}}"#,
                "(did you mean rpId?)"
            ),
            (#"{"application": "a", "settings": {"registration": {"enable": true}}}"#, "(did you mean enabled?)"),
            (#"{"application": "a", "providers": {"facbook": {}}}"#, "(did you mean facebook?)"),
            (
                #"{"application": "a", "providers": {"facebook": {"apps": [], "enabled": false, "prof": "timed"}}}"#,
                "(did you mean proof?)"
            ),
            (
                #"{"application": "a", "mapping": {"facebook": [{"from": "email", "too": "email"}]}}"#,
                "(did you mean to?)"
            ),
            (#"{"application": "a", "mapping": {"facebook": {"email": "emial"}}}"#, "(did you mean email?)"),
            ("{\n  \"application\": \"a\",\n  \"name\": \"é\" \"b\"\n}", "(at line 3, column 15)"),
        ] {
            let checked = try await Document.run("check", text)
            #expect(checked.exitStatus == .exited(65))
            #expect(checked.standardError.contains(expected), "\(checked.standardError)")
        }
    }

    @Test("a path or a parameter of the APIs is told the nearest one, and nothing of what was sent")
    func paths() async throws {
        let base = "/demo/\(Canary.apiKey)"
        func ask(_ method: String, _ path: String) async throws -> (Int, String) {
            let reply = try await deployment.client.send(method, path, headers: [], body: [])
            return (reply.status, reply.text)
        }
        let near = "/{applicationId}/{apiKey}/users/loginWithFacebook?"
        for (method, path, status, text) in [
            ("POST", "\(base)/users/loginwithfacebook", 405, near),
            ("POST", "\(base)/users/loginWithFacebok", 405, near),
            ("POST", "\(base)/user/loginWithFacebook", 404, near),
            ("POST", "\(base)/users/regster", 405, "/{applicationId}/{apiKey}/users/register?"),
            ("GET", "\(base)/user/logout", 404, "/{applicationId}/{apiKey}/users/logout?"),
        ] {
            let (found, reply) = try await ask(method, path)
            #expect(found == status, "\(path): \(reply)")
            #expect(reply.replacing("\\/", with: "/").contains("Did you mean \(text)"), "\(path): \(reply)")
        }
        for path in ["\(base)/users/canarycanary", "\(base)/" + String(repeating: "x/", count: 900) + "x", "/xyzzy"] {
            let (status, reply) = try await ask("POST", path)
            #expect((400...499).contains(status))
            #expect(!reply.contains("Did you mean"), "\(reply)")
            #expect(!reply.contains("canarycanary") && reply.utf8.count < 500)
        }
        let admin = try await deployment.admin()
        let typo = try await admin.send("GET", "aplications")
        #expect(typo.status == 404 && typo.text.contains("Did you mean /admin/v1/applications?"), "\(typo.text)")
        let query = try await admin.send("GET", "applications/demo/users?emial=a")
        #expect(query.text.contains("(did you mean email?)"), "\(query.text)")
        let patch = try await admin.send("PATCH", "applications/demo", #"{"settings": {"clientMaping": true}}"#)
        #expect(patch.text.contains("did you mean clientMapping?"), "\(patch.text)")
        let body = try await admin.send("PATCH", "applications/demo", "{\"name\": \"x\",\n 7}")
        #expect(body.text.contains("at line 2, column 2"), "\(body.text)")
    }
}
