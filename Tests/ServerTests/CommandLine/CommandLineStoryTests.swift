import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("From an empty database by the command line alone")
struct CommandLineStoryTests {
    @Test("an application is set up bit by bit, and a login fills its typed columns")
    func setUp() async throws {
        try await withDatabase(.empty) { database in
            let simulator = try await SimulatorProcess.start()
            try await simulator.put(apps: ["1234567890"])
            var ann = CommandLineOperator(database: database)
            ann.environment["FEDERATION_GRAPH_URL"] = simulator.url

            try await ann.succeed("migrate")
            let made = try await ann.json("set applications/demo name=Demo settings.sessionIdleSeconds=7d")
            #expect(made["settings"]?.object?["sessionIdleSeconds"]?.integer == 604_800)
            let key = try await ann.run("set applications/demo/keys/ios")
            let apiKey = try #require(key.standardOutput.split(separator: "\n").first.map(String.init))
            #expect(key.standardOutput == apiKey + "\n" && apiKey.utf8.count >= 16, "the key and nothing else")
            #expect(key.standardError.contains("is not shown again"))
            let secret = Canary.appSecret(of: "1234567890")
            try await ann.succeed(
                "set applications/demo/providers/facebook apps.1234567890.appSecret=@-",
                input: secret + "\n"
            )
            try await expectOptionsAreSet(ann)
            try await ann.succeed("set applications/demo/properties/birthday type=DATE")
            try await ann.succeed("set applications/demo/properties/ageFrom type=INT")
            try await ann.succeed("set applications/demo/properties/nick type=STRING clientMappable=true")
            let mapping = #"{"email": "email", "birthday": "birthday", "age_range.min": "ageFrom"}"#
            try await ann.succeed("set applications/demo/mappings/facebook -", input: mapping)
            try await expectEverythingIsListed(ann)

            let service = try await ServiceProcess.start(environment: ann.environment)
            try await simulator.put(
                person: "bea",
                #"""
                {"email": "bea@example.com", "birthday": "01/31/1990", "age_range": {"min": 21},
                 "permissions": {"public_profile": "granted", "email": "granted", "user_birthday": "granted",
                     "user_age_range": "granted"}}
                """#
            )
            let token = try await simulator.mint("long", person: "bea", app: "1234567890")
            let reply = try await service.client.post(
                "/demo/\(apiKey)/users/loginWithFacebook",
                json: #"{"accessToken": "\#(token)"}"#
            )
            #expect(reply.status == 200, "\(reply.text)")
            let row = try await database.psql(
                "select birthday = date '1990-01-31', \"ageFrom\" = 21::bigint, object_id from demo.users"
            )
            #expect(row.count == 1 && row[0][0] == "t" && row[0][1] == "t", "\(row)")
            try await expectUserIsAtHand(ann, try #require(row[0][2]).uppercased())
            #expect(try await service.process.terminate() == .exited(0))
            try await simulator.process.kill()
        }
    }

    /// Expects that options of logins can be set, shown, refused, and reset.
    private func expectOptionsAreSet(_ ann: CommandLineOperator) async throws {
        let set = try await ann.json(
            """
            patch applications/demo/providers/facebook returnUrls=https://a.example/done,fb1://done permissions=email keepTokens=true \
            refreshHours=24 idTokenSeconds=10m nonce=serverIssued eraseAfterDays=7 endSessionsWhenRevoked=true
            """
        )
        #expect(set["returnUrls"]?.array == [.string("https://a.example/done"), .string("fb1://done")])
        #expect(set["permissions"]?.array == [.string("email")] && set["keepTokens"]?.bool == true)
        #expect(set["idTokenSeconds"]?.integer == 600 && set["refreshHours"]?.integer == 24)
        #expect(set["nonce"]?.string == "serverIssued" && set["eraseAfterDays"]?.integer == 7)
        #expect(set["endSessionsWhenRevoked"]?.bool == true && set["longLivedTokens"]?.bool == false)
        #expect(set["apps"]?.array?.count == 1)
        let refused = try await ann.fail("patch applications/demo/providers/facebook keepTokens=false", with: 65)
        #expect(refused.contains("/refreshHours") && refused.contains("keepTokens"))
        try await ann.fail("patch applications/demo/providers/facebook returnUrls=javascript://x", with: 65)
        try await ann.fail("patch applications/demo/providers/facebook nonce=off nonce=", with: 64)
        let shown = try await ann.succeed("get applications/demo/providers/facebook")
        #expect(shown.contains("serverIssued") && shown.contains("https://a.example/done"))
        let reset = try await ann.json(
            """
            patch applications/demo/providers/facebook keepTokens=false refreshHours= returnUrls= nonce= idTokenSeconds= permissions=
            """
        )
        #expect(reset["returnUrls"]?.array == [] && reset["refreshHours"]?.isNull == true)
        #expect(reset["nonce"]?.string == "clientMade" && reset["keepTokens"]?.bool == false)
    }

    private func expectEverythingIsListed(_ ann: CommandLineOperator) async throws {
        #expect(try await ann.items("list applications").map { $0["application"]?.string } == ["demo"])
        #expect(try await ann.items("list applications/demo/keys").map { $0["label"]?.string } == ["ios"])
        let properties = try await ann.items("list applications/demo/properties")
        #expect(
            properties.map { $0["name"]?.string ?? "" } == ["email", "name", "birthday", "ageFrom", "nick"]
        )
        #expect(properties.map { $0["type"]?.string ?? "" }.suffix(3) == ["DATE", "INT", "STRING"])
        #expect(properties.last?["clientMappable"]?.bool == true)
        let app = try await ann.json("get applications/demo/providers/facebook")["apps"]?.array?.first?.object
        #expect(app?["appId"]?.string == "1234567890" && app?["appSecret"]?.object?["set"]?.bool == true)
        #expect(try await ann.json("get applications/demo/mappings/facebook")["entries"]?.array?.count == 3)
        #expect(try await ann.json("secrets status")["secrets"]?.array?.first?.object?["known"]?.bool == true)
        let checked = try await ann.json("provider check demo")["apps"]?.array?.first?.object
        #expect(checked?["ok"]?.bool == true, "\(String(describing: checked))")
    }

    /// Expects that a user can be searched, shown, changed and erased.
    private func expectUserIsAtHand(_ ann: CommandLineOperator, _ id: String) async throws {
        for search in ["email=bea@example.com", "objectId=\(id)", "property=ageFrom value=21"] {
            #expect(
                try await ann.items("list applications/demo/users \(search)").map { $0["objectId"]?.string } == [id],
                "\(search)"
            )
        }
        #expect(try await ann.items("list applications/demo/users email=nobody@example.com").isEmpty)
        let identity = try #require(
            try await ann.json("get applications/demo/users/\(id)")["identities"]?.array?.first?.object
        )
        let subject = try #require(identity["subject"]?.string)
        #expect(try await ann.items("list applications/demo/users subject=\(subject)").count == 1)

        let user = "applications/demo/users/\(id)"
        let sessions = try await ann.json("get \(user)")["sessions"]?.array ?? []
        #expect(sessions.count == 1)
        try await ann.succeed("delete \(user)/sessions/\(sessions.first?.object?["id"]?.string ?? "")")
        #expect(try await ann.json("get \(user)")["sessions"]?.array?.isEmpty == true)

        let disabled = try await ann.json("patch applications/demo/users/\(id) userStatus=DISABLED")
        #expect(disabled["user"]?.object?["userStatus"]?.string == "DISABLED")
        let enabled = try await ann.json("patch applications/demo/users/\(id) userStatus=ENABLED")
        #expect(enabled["user"]?.object?["userStatus"]?.string == "ENABLED")

        let last = "user unlink demo \(id) --app-id 1234567890 --subject \(subject) --confirm \(subject)"
        #expect(try await ann.fail(last, with: 65).contains("only login method"))
        let person = try #require(JSON.object(try await ann.succeed("user export demo \(id)")))
        #expect(person["user"]?.object?["email"]?.string == "bea@example.com")
        try await ann.succeed("user erase demo \(id) --confirm \(id)")
        try await ann.fail("get applications/demo/users/\(id)", with: 66)
    }

    @Test("operators get tokens, once, and lose them")
    func operators() async throws {
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            let made = try await ann.run("set operators/bob role=owner")
            #expect(made.exitStatus == .exited(0))
            #expect(
                made.standardOutput.hasPrefix("fedop_") && made.standardOutput.utf8.count == 50,
                "token and line break"
            )
            #expect(made.standardError.contains("is not shown again"))
            let token = try await ann.json("set operators/bob/tokens expiresInSeconds=12h")
            let (created, expires) = (token["created"]?.integer ?? 0, token["expires"]?.integer ?? 0)
            #expect(abs(expires - created - 43_200_000) < 5000)
            for command in ["list operators", "get operators/bob"] {
                let printed = try await ann.succeed(command) + ann.succeed(command + " --json")
                #expect(!printed.contains("fedop_"))
            }
            let shown = try await ann.json("get operators/bob")
            let ids = (shown["tokens"]?.array ?? []).compactMap { $0.object?["id"]?.string }
            #expect(ids.count == 2)
            try await ann.succeed("delete operators/bob/tokens/\(ids.first ?? "")")
            #expect(try await ann.json("patch operators/bob role=viewer")["role"]?.string == "viewer")
            #expect(try await ann.json("get operators/bob")["tokens"]?.array?.count == 1)
            try await ann.succeed("delete operators/bob --confirm bob")
            try await ann.fail("get operators/bob", with: 66)
            for wrong in [
                "set operators/bob role=king", "set operators/bob", "set operators/bob/tokens expiresInSeconds=soon",
            ] {
                try await ann.fail(wrong, with: 64)
            }
        }
    }

    @Test("the audit log tells who did what, in three forms")
    func audit() async throws {
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            try await ann.succeed("set applications/demo")
            try await ann.succeed("set applications/demo/properties/city type=STRING")
            try await ann.succeed("delete applications/demo/properties/city --confirm city")
            let lines = try await ann.succeed("list audit application=demo --json-lines").split(separator: "\n")
            let actions = lines.map { JSON.object(String($0))?["action"]?.string ?? "no JSON: \($0)" }
            #expect(actions == ["property.remove", "property.declare", "application.create"])
            #expect(try await ann.items("list audit action=property.declare since=1h").count == 1)
            #expect(try await ann.items("list audit until=1h").isEmpty)
            #expect(try await ann.items("list audit --limit 2").count == 2)
            let table = try await ann.succeed("list audit --limit 1")
            #expect(table.contains("property.remove") && table.contains("cli:"), "\(table)")
            try await ann.fail("list audit since=yesterday", with: 65)
            try await ann.fail("list audit --json --json-lines", with: 64)
        }
    }
}
