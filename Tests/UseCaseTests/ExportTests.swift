@testable import Accounts
@testable import Administration
import Description
import Domain
import Encodings
import Facebook
import Providers
import Secrets
@testable import Store
import Testing
import TestSupport

@Suite("An application as the document that apply takes back")
struct ExportTests {
    /// Returns the changes that apply would make for a document, given the environment variables.
    private static func changes(
        _ text: String,
        _ stored: StoredApplication?,
        _ environment: [String: String]
    ) throws -> [PlannedChange] {
        let document = try ApplicationDocument(text: Array(text.utf8), kinds: try .outOfReach())
        var secrets = DocumentSecrets(
            of: document.id,
            stored: stored,
            masterKeys: try Sample.masterKeys(),
            clock: .system,
            environment: { environment[$0] }
        )
        let desired = DesiredApplication(document, stored: stored, secrets: &secrets)
        guard secrets.problems.isEmpty else { throw secrets.problems }
        return try ConfigurationDifference.changes(from: stored, to: desired, columns: [])
    }

    /// Returns the environment variables that a document names, with the secrets and keys that they stand for.
    private static func environment(of document: JSONValue) throws -> [String: String] {
        var environment: [String: String] = [:]
        for key in document.object?["keys"]?.array ?? [] {
            let label = try #require(key.object?["label"]?.string)
            let name = try #require(key.object?["key"]?.object?["env"]?.string)
            #expect(environment.updateValue(Sample.key(of: label), forKey: name) == nil, "\(name) twice")
        }
        let facebook = document.object?["providers"]?.object?["facebook"]?.object
        for app in facebook?["apps"]?.array ?? [] {
            let id = try #require(app.object?["appId"]?.string)
            let name = try #require(app.object?["appSecret"]?.object?["env"]?.string)
            #expect(environment.updateValue(Sample.secret(of: id).reveal(), forKey: name) == nil, "\(name) twice")
        }
        if let name = facebook?["webhookVerifyToken"]?.object?["env"]?.string {
            #expect(environment.updateValue("canary-0123456789", forKey: name) == nil, "\(name) twice")
        }
        return environment
    }

    static let samples = [
        Sample(),
        Sample(id: "1-a", name: "Äpfel \"& more\"", schema: "people", keys: ["ios"], apps: ["1"]),
        Sample(
            settings:
                #"{"clientMapping":false,"sessionAbsoluteSeconds":600,"multipleLogins":false,"hostNames":["a.b"]}"#,
            keys: ["ios", "IOS", "i-os", "i_os", "\u{E9}", "e\u{301}", String(repeating: "x", count: 100)],
            apps: ["111", "222", "333"],
            proof: .classic,
            properties:
                #"{"b":{"type":"DATETIME"},"email":{"type":"STRING","required":true},"a":{"type":"INT","required":true,"clientMappable":true,"indexed":true}}"#,
            mapping: #"{"email":"email","id":"a"}"#,
            dynamicNames: ["dyn"]
        ),
        Sample(apps: [], enabled: false, mapping: "[]"),
        Sample(
            apps: ["1"],
            options: #"{"nonce":"off","returnUrls":["a.b:/x"],"permissions":[],"keepTokens":true,"refreshHours":24}"#
        ),
        Sample(apps: ["1"], options: #"{"eraseAfterDays":30}"#, verifyToken: "canary-0123456789"),
        Sample(
            properties:
                #"{"n":{"type":"DOUBLE"},"j":{"type":"JSON"},"t":{"type":"TEXT"},"d":{"type":"DATE"},"s":{"type":"STRING"},"o":{"type":"BOOLEAN"}}"#,
            mapping: #"""
                [{"to":"n","from":"age_range.min","default":1.50},{"to":"j","from":"x","default":{"bb":1,"a":[1e2]}},
                 {"to":"t","from":"{a} {{b}}","transform":["trim",{"join":"; "}]},{"to":"d","from":"birthday","transform":{"date":"dd.MM.yyyy"}},
                 {"to":"s","from":"gender","transform":{"lookup":{"male":"M"},"else":"?"},"sync":"untilEdited","required":true},
                 {"to":"name","from":"birthday","type":"DATE"}]
                """#
        ),
    ]

    @Test("what is exported is read again as the same application, to the last secret", arguments: samples)
    func roundTrip(sample: Sample) throws {
        let stored = try sample.stored()
        let document = try DocumentExport.document(of: stored, kinds: .outOfReach())
        #expect(!document.text.contains("canary"), "no secret and no key")
        let environment = try Self.environment(of: document)
        #expect(try Self.changes(document.text, stored, environment).map(\.line) == [])

        // On an empty database the document creates the same application, whose export is the same text.
        let made = try Self.changes(document.text, nil, environment)
        #expect(made.first?.action == "application.create")
        #expect(made.count { $0.action == "property.declare" } == stored.properties.count { !$0.name.isBuiltIn })
        #expect(made.count { $0.action == "key.add" } == stored.keys.count)
    }

    @Test("a stored application of whatever parts is exported and read as itself")
    func atRandom() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed)
        for _ in 0..<200 {
            var sample = Sample()
            sample.id = ["demo", "a-b_C", "9", "x"].randomElement(using: &random) ?? "x"
            sample.schema = Bool.random(using: &random) ? "people" : nil
            sample.keys = ["ios", "Web!", "tv", "ios "].filter { _ in Bool.random(using: &random) }
            sample.apps = Bool.random(using: &random) ? ["1", "22", "333"].shuffled(using: &random) : nil
            sample.proof = ProofForm.allCases.randomElement(using: &random) ?? .timed
            let types = PropertyType.allCases.shuffled(using: &random).prefix(Int.random(in: 0...8, using: &random))
            let declarations = types.map { type in
                #""p\#(type.rawValue)":{"type":"\#(type.rawValue)","clientMappable":\#(Bool.random(using: &random))}"#
            }
            sample.properties = "{" + declarations.joined(separator: ",") + "}"
            let entries = types.map { #""unknown_\#($0.rawValue.lowercased())":"p\#($0.rawValue)""# }
            sample.mapping = Bool.random(using: &random) ? "{" + entries.joined(separator: ",") + "}" : nil
            let stored = try sample.stored()
            let document = try DocumentExport.document(of: stored, kinds: .outOfReach())
            let lines = try Self.changes(document.text, stored, try Self.environment(of: document)).map(\.line)
            #expect(lines == [], "seed \(seed): \(document.text)")
        }
    }

    @Test("members stand in the order of the reference; settings are complete, other defaults left out")
    func form() throws {
        let sample = Sample(
            keys: ["ios"],
            apps: ["1234567890", "2"],
            properties: #"{"birthday":{"type":"DATE"},"nick":{"type":"STRING","clientMappable":true}}"#,
            mapping: #"[{"to":"name","from":"name","sync":"always"}]"#
        )
        let text = try DocumentExport.document(of: sample.stored(), kinds: .outOfReach()).text
        #expect(
            text == #"""
                {"application":"demo","name":"Demo","settings":{"sessionIdleSeconds":1209600,"sessionAbsoluteSeconds":2592000,"multipleLogins":true,"maxSessions":null,"sessionLimitBehavior":"endOldest","newUsers":"open","sameAddress":"separate","accountClaims":"off","registration":{"enabled":true,"confirmEmail":false,"maxPerSourcePerHour":100,"maxPerHour":10000},"identityProperty":"email","passwords":{"minLength":15},"passwordSource":{"kind":"off","url":null,"applicationId":null,"secretVariable":null},"lockout":{"failures":100,"seconds":3600},"reauthentication":"recent","allowAccountEnumeration":false,"banDays":730,"mergedUserDays":365,"secondFactor":{"policy":"off","roles":[],"exemptProviders":[],"factors":["totp","recoveryCode"],"trustedDeviceDays":0,"passkeys":{"rpId":null,"origins":[],"userVerification":"preferred","login":false,"androidPackages":[],"appleApps":[]},"sms":{"countries":[],"maxPerNumberPerDay":10,"maxPerSourcePerHour":20,"maxPerDay":1000}},"allowedOrigins":[],"hostNames":[],"apiKeyRights":[],"clientMapping":true,"dynamicProperties":false,"undeclaredProperties":null,"offsetlessTimes":"refuse","tokens":{"enabled":false,"seconds":300,"audience":null},"firebase":{"projectId":null,"displayName":"name","photoUrl":"photoUrl","phoneNumber":"phoneNumber","emailLinks":false},"roles":[],"collection":{"find":[],"readOthers":[],"updateOthers":[],"deleteOwn":["users","guests"]},"pages":{"color":null,"logo":null,"account":false}},"keys":[{"label":"ios","key":{"env":"DEMO_IOS_API_KEY"}}],"providers":{"facebook":{"enabled":true,"apps":[{"appId":"1234567890","appSecret":{"env":"DEMO_FACEBOOK_APP_SECRET"}},{"appId":"2","appSecret":{"env":"DEMO_FACEBOOK_2_APP_SECRET"}}],"graphVersion":"v25.0"}},"properties":{"birthday":{"type":"DATE"},"nick":{"type":"STRING","clientMappable":true}},"mapping":{"facebook":[{"from":"name","to":"name"}]}}
                """#
        )
    }

    @Test("of the provider's options those are exported that are not as in a new application")
    func options() throws {
        let sample = Sample(apps: ["1"], options: #"{"nonce":"clientMade","keepTokens":true,"eraseAfterDays":3}"#)
        let facebook = try DocumentExport.document(of: sample.stored(), kinds: .outOfReach()).object?["providers"]?
            .object?["facebook"]
        #expect(
            facebook?.object?.members.map(\.key) == ["enabled", "apps", "graphVersion", "keepTokens", "eraseAfterDays"]
        )
    }

    @Test("names of variables are names for a shell, no name twice")
    func variables() throws {
        let long = String(repeating: "l", count: 100)
        let sample = Sample(
            id: "9-" + String(repeating: "i", count: 61),
            keys: ["a b", "a.b", "A_B", long, long + "\u{E9}"]
        )
        let document = try DocumentExport.document(of: sample.stored(), kinds: .outOfReach())
        let names = (document.object?["keys"]?.array ?? []).compactMap { $0.object?["key"]?.object?["env"]?.string }
        #expect(Set(names).count == 5)
        #expect(names.allSatisfy { $0.hasPrefix("_9_III") && $0.hasSuffix("_API_KEY") && $0.utf8.count <= 128 })
        #expect(
            names.allSatisfy { $0.utf8.allSatisfy { $0.isASCIIDigit || (65...90).contains($0) || $0 == 95 } }
        )
        let demo = try DocumentExport.document(of: Sample(keys: ["a b", "a.b"]).stored(), kinds: .outOfReach())
        let few = (demo.object?["keys"]?.array ?? []).compactMap { $0.object?["key"]?.object?["env"]?.string }
        #expect(few == ["DEMO_A_B_API_KEY", "DEMO_A_B_2_API_KEY"])
        for (id, label, name) in [
            ("federation", "a", "_FEDERATION_A_API_KEY"), ("federation-x", "a", "_FEDERATION_X_A_API_KEY"),
            ("federation", "federation", "_FEDERATION_API_KEY"), ("9", "9", "_9_API_KEY"),
        ] {
            let document = try DocumentExport.document(of: Sample(id: id, keys: [label]).stored(), kinds: .outOfReach())
            let key = document.object?["keys"]?.array?.first?.object?["key"]?.object
            #expect(key?["env"]?.string == name, "the service takes FEDERATION_ for its own")
        }
    }

    @Test("a variable of the service's own that is stored is not written")
    func ownVariables() throws {
        var stored = try Sample(keys: ["ios", "web"]).stored()
        stored.variables = try json(#"{"/keys/ios":"FEDERATION_KEY","/keys/web":"KEY"}"#)
        let document = try DocumentExport.document(of: stored, kinds: .outOfReach())
        let keys = document.object?["keys"]?.array ?? []
        #expect(keys.map { $0.object?["key"]?.object?["env"]?.string } == ["DEMO_IOS_API_KEY", "KEY"])
    }

    @Test("every variable that is missing or no secret is told at once, with its place and without its value")
    func missing() throws {
        let stored = try Sample(keys: ["ios", "web"], apps: ["1", "2"]).stored()
        let text = try DocumentExport.document(of: stored, kinds: .outOfReach()).text
        let environment = ["DEMO_WEB_API_KEY": "canary short", "DEMO_FACEBOOK_2_APP_SECRET": "canary with spaces"]
        let problems = try #require(throws: DocumentProblems.self) { try Self.changes(text, stored, environment) }
        #expect(
            problems.problems.map(\.pointer.text) == [
                "/keys/0/key/env", "/keys/1/key/env", "/providers/facebook/apps/0/appSecret/env",
                "/providers/facebook/apps/1/appSecret/env",
            ]
        )
        #expect(problems.problems[0].message.contains("DEMO_IOS_API_KEY"))
        #expect(!problems.description.contains("canary"))
    }

    @Test("over REST what is not given stays, and is a problem where nothing is stored")
    func request() throws {
        let stored = try Sample(keys: ["ios"], apps: ["1"]).stored()
        func desired(_ text: String) throws -> (DesiredApplication, DocumentProblems) {
            let document = try ApplicationDocument(text: Array(text.utf8), origin: .request, kinds: try .outOfReach())
            var secrets = DocumentSecrets(
                of: document.id,
                stored: stored,
                masterKeys: try Sample.masterKeys(),
                clock: .system
            )
            let desired = DesiredApplication(document, stored: stored, secrets: &secrets)
            var problems = secrets.problems
            problems.add(ConfigurationDifference.problems(from: stored, to: desired, columns: []))
            return (desired, problems)
        }
        let exported = try DocumentExport.document(of: stored, kinds: .outOfReach()).text
        let (same, none) = try desired(exported)
        #expect(none.isEmpty)
        #expect(try ConfigurationDifference.changes(from: stored, to: same, columns: []).isEmpty)

        let (_, problems) = try desired(
            #"{"application":"demo","keys":[{"label":"ios"},{"label":"new"}],"providers":{"facebook":{"apps":[{"appId":"1"},{"appId":"2"}]}}}"#
        )
        #expect(problems.problems.map(\.pointer.text) == ["/keys/1/key", "/providers/facebook/apps/1/appSecret"])

        let (given, right) = try desired(
            #"{"application":"demo","name":"Demo","keys":[{"label":"ios","key":{"value":"\#(Sample.key(of: "ios"))"}}],"providers":{"facebook":{"apps":[{"appId":"1","appSecret":"another"}]}}}"#
        )
        #expect(right.isEmpty)
        let lines = try ConfigurationDifference.changes(from: stored, to: given, columns: []).map(\.action)
        #expect(lines == ["provider.facebook.apps"])
    }

    @Test("declared properties that a document does not name stay, behind those that it names")
    func undeclared() throws {
        let stored = try Sample(properties: #"{"a":{"type":"INT"},"b":{"type":"INT"},"c":{"type":"INT"}}"#).stored()
        let lines = try Self.changes(
            #"{"application":"demo","name":"Demo","properties":{"d":{"type":"INT"},"b":{"type":"INT"}}}"#,
            stored,
            [:]
        ).map(\.line)
        #expect(
            lines == [
                #"property.declare d: nil -> {"type":"INT","required":false,"clientMappable":false,"visibleTo":"self"}"#,
                #"property.order : ["a","b","c","d"] -> ["d","b","a","c"]"#,
            ]
        )
    }

    @Test("a plan for programs has each step and what the document leaves alone")
    func plan() throws {
        let change = PlannedChange(.rename("B"), action: "application.rename", target: nil, from: nil, to: .string("B"))
        let plan = ApplicationPlan(
            application: try #require(ApplicationID("demo")),
            changes: [change],
            undeclared: [try #require(PropertyName("a"))]
        )
        #expect(
            plan.json.text
                == #"{"application":"demo","changes":[{"action":"application.rename","target":null,"from":null,"to":"B"}],"undeclaredProperties":["a"],"warnings":[]}"#
        )
    }
}
