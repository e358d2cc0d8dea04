import FoundationEssentials
import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

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
            let made = try await ann.json("application create demo --name Demo --session-idle 7d")
            #expect(made["settings"]?.object?["sessionIdleSeconds"]?.integer == 604_800)
            let key = try await ann.run("key create demo ios")
            let apiKey = try #require(key.standardOutput.split(separator: "\n").first.map(String.init))
            #expect(key.standardOutput == apiKey + "\n" && apiKey.utf8.count >= 16, "the key and nothing else")
            #expect(key.standardError.contains("will not be shown again"))
            let secret = Canary.appSecret(of: "1234567890")
            try await ann.succeed("provider set demo --app-id 1234567890 --secret-stdin", input: secret + "\n")
            try await expectOptionsAreSet(ann)
            try await ann.succeed("property declare demo birthday DATE")
            try await ann.succeed("property declare demo ageFrom int")
            try await ann.succeed("property declare demo nick STRING --client-mappable")
            let mapping = #"{"email": "email", "birthday": "birthday", "age_range.min": "ageFrom"}"#
            try await ann.succeed("mapping put demo -", input: mapping)
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
            try await expectPersonIsAtHand(ann, try #require(row[0][2]).uppercased())
            #expect(try await service.process.terminate() == .exited(0))
            try await simulator.process.kill()
        }
    }

    /// Options of logins are set, shown, refused, and return to their default.
    private func expectOptionsAreSet(_ ann: CommandLineOperator) async throws {
        let set = try await ann.json(
            """
            provider set demo --return-url https://a.example/done --return-url fb1://done --permission email --keep-tokens \
            --refresh-hours 24 --id-token-lifetime 10m --nonce serverIssued --erase-after-days 7 --end-sessions-when-revoked
            """
        )
        #expect(set["returnUrls"]?.array == [.string("https://a.example/done"), .string("fb1://done")])
        #expect(set["permissions"]?.array == [.string("email")] && set["keepTokens"]?.bool == true)
        #expect(set["idTokenSeconds"]?.integer == 600 && set["refreshHours"]?.integer == 24)
        #expect(set["nonce"]?.string == "serverIssued" && set["eraseAfterDays"]?.integer == 7)
        #expect(set["endSessionsWhenRevoked"]?.bool == true && set["longLivedTokens"]?.bool == false)
        #expect(set["apps"]?.array?.count == 1)
        let refused = try await ann.fail("provider set demo --no-keep-tokens", with: 65)
        #expect(refused.contains("/refreshHours") && refused.contains("keepTokens"))
        try await ann.fail("provider set demo --return-url javascript://x", with: 65)
        try await ann.fail("provider set demo --nonce off --default nonce", with: 64)
        let shown = try await ann.succeed("provider show demo")
        #expect(shown.contains("serverIssued") && shown.contains("https://a.example/done"))
        let reset = try await ann.json(
            """
            provider set demo --no-keep-tokens --default refreshHours --default returnUrls --default nonce \
            --default idTokenSeconds --default permissions
            """
        )
        #expect(reset["returnUrls"]?.array == [] && reset["refreshHours"]?.isNull == true)
        #expect(reset["nonce"]?.string == "clientMade" && reset["keepTokens"]?.bool == false)
    }

    private func expectEverythingIsListed(_ ann: CommandLineOperator) async throws {
        #expect(try await ann.items("application list").map { $0["application"]?.string } == ["demo"])
        #expect(try await ann.items("key list demo").map { $0["label"]?.string } == ["ios"])
        let properties = try await ann.items("property list demo")
        #expect(
            properties.map { $0["name"]?.string ?? "" } == ["email", "name", "birthday", "ageFrom", "nick"]
        )
        #expect(properties.map { $0["type"]?.string ?? "" }.suffix(3) == ["DATE", "INT", "STRING"])
        #expect(properties.last?["clientMappable"]?.bool == true)
        let app = try await ann.json("provider show demo")["apps"]?.array?.first?.object
        #expect(app?["appId"]?.string == "1234567890" && app?["appSecret"]?.object?["set"]?.bool == true)
        #expect(try await ann.json("mapping show demo")["entries"]?.array?.count == 3)
        #expect(try await ann.json("secrets status")["secrets"]?.array?.first?.object?["known"]?.bool == true)
        let checked = try await ann.json("provider check demo")["apps"]?.array?.first?.object
        #expect(checked?["ok"]?.bool == true, "\(String(describing: checked))")
    }

    /// Everything about a person, from search to erasure.
    private func expectPersonIsAtHand(_ ann: CommandLineOperator, _ id: String) async throws {
        for search in ["--email bea@example.com", "--object-id \(id)", "--property ageFrom=21"] {
            #expect(
                try await ann.items("user search demo \(search)").map { $0["objectId"]?.string } == [id],
                "\(search)"
            )
        }
        #expect(try await ann.items("user search demo --email nobody@example.com").isEmpty)
        let identity = try #require(
            try await ann.json("user show demo \(id)")["identities"]?.array?.first?.object
        )
        let subject = try #require(identity["subject"]?.string)
        #expect(try await ann.items("user search demo --subject \(subject)").count == 1)

        let sessions = try await ann.items("session list demo \(id)")
        #expect(sessions.count == 1)
        try await ann.succeed("session end demo \(id) --session \(sessions.first?["id"]?.string ?? "")")
        #expect(try await ann.items("session list demo \(id)").isEmpty)

        let disabled = try await ann.json("user disable demo \(id)")
        #expect(disabled["user"]?.object?["userStatus"]?.string == "DISABLED")
        let enabled = try await ann.json("user enable demo \(id)")
        #expect(enabled["user"]?.object?["userStatus"]?.string == "ENABLED")

        let last = "user unlink demo \(id) --app-id 1234567890 --subject \(subject) --confirm \(subject)"
        #expect(try await ann.fail(last, with: 65).contains("only login method"))
        let person = try #require(JSON.object(try await ann.succeed("user export demo \(id)")))
        #expect(person["user"]?.object?["email"]?.string == "bea@example.com")
        try await ann.succeed("user erase demo \(id) --confirm \(id)")
        try await ann.fail("user show demo \(id)", with: 66)
    }

    @Test("operators get tokens, once, and lose them")
    func operators() async throws {
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            let made = try await ann.run("operator create bob --role owner")
            #expect(made.exitStatus == .exited(0))
            #expect(
                made.standardOutput.hasPrefix("fedop_") && made.standardOutput.utf8.count == 50,
                "token and line break"
            )
            #expect(made.standardError.contains("will not be shown again"))
            let token = try await ann.json("operator token bob --expires 12h")
            let (created, expires) = (token["created"]?.integer ?? 0, token["expires"]?.integer ?? 0)
            #expect(abs(expires - created - 43_200_000) < 5000)
            for command in ["operator list", "operator show bob"] {
                let printed = try await ann.succeed(command) + ann.succeed(command + " --json")
                #expect(!printed.contains("fedop_"))
            }
            let shown = try await ann.json("operator show bob")
            let ids = (shown["tokens"]?.array ?? []).compactMap { $0.object?["id"]?.string }
            #expect(ids.count == 2)
            try await ann.succeed("operator revoke-token bob \(ids.first ?? "")")
            #expect(try await ann.json("operator role bob viewer")["role"]?.string == "viewer")
            #expect(try await ann.json("operator show bob")["tokens"]?.array?.count == 1)
            try await ann.succeed("operator remove bob --confirm bob")
            try await ann.fail("operator show bob", with: 66)
            for wrong in [
                "operator create bob --role king", "operator create bob", "operator token bob --expires soon",
            ] {
                try await ann.fail(wrong, with: 64)
            }
        }
    }

    @Test("the audit log tells who did what, in three forms")
    func audit() async throws {
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            try await ann.succeed("application create demo")
            try await ann.succeed("property declare demo city STRING")
            try await ann.succeed("property remove demo city --confirm city")
            let lines = try await ann.succeed("audit --application demo --json-lines").split(separator: "\n")
            let actions = lines.map { JSON.object(String($0))?["action"]?.string ?? "no JSON: \($0)" }
            #expect(actions == ["property.remove", "property.declare", "application.create"])
            #expect(try await ann.items("audit --action property.declare --since 1h").count == 1)
            #expect(try await ann.items("audit --until 1h").isEmpty)
            #expect(try await ann.items("audit --limit 2").count == 2)
            let table = try await ann.succeed("audit --limit 1")
            #expect(table.contains("property.remove") && table.contains("cli:"), "\(table)")
            try await ann.fail("audit --since yesterday", with: 65)
            try await ann.fail("audit --json --json-lines", with: 64)
        }
    }
}
