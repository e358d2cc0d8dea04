import Accounts
import Administration
import Domain
import Encodings
import Facebook
import Store
import Testing
import TestSupport

@Suite("The Facebook provider")
struct ProviderTests {
    private static let first =
        #"{"apps":[{"appId":"1","appSecret":"CANARY-one"},{"appId":"2","appSecret":"CANARY-two"}]}"#

    private static func put(
        _ office: Office,
        _ document: String,
        if precondition: Precondition = .any
    ) async throws -> Resource {
        try await office.administration.providers.put(
            .facebook,
            of: "demo",
            json(document),
            if: precondition,
            by: Office.actor
        )
    }

    private static func encrypted(_ office: Office) async throws -> [[String?]] {
        try await office.database.psql(
            "select app_id, encode(secret, 'hex') from federation.provider_apps order by position"
        )
    }

    @Test("T-111: secrets are write-only, and stay when they are left out or come back as they were read")
    func secrets() async throws {
        try await Office.lend { office in
            let before = try await failure { try await office.administration.providers.read(.facebook, of: "demo") }
            #expect(before?.reason == .notFound)
            let put = try await Self.put(office, Self.first)
            #expect(put.body.object?["enabled"] == .bool(true))
            #expect(put.body.object?["graphVersion"] == .string("v25.0"))
            #expect(put.body.object?["proof"] == .string("timed"))
            #expect(!put.body.text.contains("CANARY"))
            let secrets = try await Self.encrypted(office)
            let tag = put.tag

            #expect(try await Self.put(office, put.body.text).tag == tag, "what was read changes nothing")
            #expect(
                try await Self.put(office, #"{"apps":[{"appId":"1"},{"appId":"2","appSecret":"CANARY-two"}]}"#).tag
                    == tag
            )
            #expect(try await Self.encrypted(office) == secrets)

            let swapped = try await Self.put(
                office,
                #"{"enabled":false,"apps":[{"appId":"2"},{"appId":"1","appSecret":"new"}]}"#
            )
            #expect(swapped.body.object?["enabled"] == .bool(false))
            let after = try await Self.encrypted(office)
            #expect(after.map(\.first) == ["2", "1"])
            #expect(after.first == secrets.last)
            #expect(after.last?.last != secrets.first?.last)

            let patched = try await office.administration.providers.change(
                .facebook,
                of: "demo",
                patch: json(#"{"enabled":true,"proof":"classic","graphVersion":"v24.0"}"#),
                if: .any,
                by: Office.actor
            )
            #expect(patched.body.object?["proof"] == .string("classic"))
            #expect(patched.body.object?["apps"]?.array?.count == 2)
            #expect(try await Self.encrypted(office) == after)
            let dump = try await office.database.psql("select to_jsonb(a)::text from federation.audit_log a")
            #expect(!"\(dump)".contains("CANARY"))

            try await office.administration.providers.remove(.facebook, of: "demo", if: .any, by: Office.actor)
            #expect(try await Self.encrypted(office).isEmpty)
        }
    }

    @Test("options are put, patched, and return to their default; all of them are shown")
    func options() async throws {
        try await Office.lend { office in
            let apps = #""apps":[{"appId":"1","appSecret":"CANARY-one"}]"#
            let token = "CANARY-verify-token"
            let put = try await Self.put(
                office,
                #"{\#(apps),"nonce":"off","keepTokens":true,"refreshHours":24,"webhookVerifyToken":"\#(token)"}"#
            )
            let body = try #require(put.body.object)
            #expect(body["nonce"]?.string == "off" && body["refreshHours"]?.integer == 24)
            #expect(body["idTokenSeconds"]?.integer == 3600)
            #expect(body["webhookVerifyToken"]?.object?["set"]?.bool == true && !put.body.text.contains(token))
            let warnings = (body["warnings"]?.array ?? []).compactMap(\.string)
            #expect(warnings.contains { $0.hasPrefix("nonce is off") })
            #expect(try await Self.put(office, put.body.text).tag == put.tag, "what was read changes nothing")

            func patch(_ patch: String) async throws -> Resource {
                try await office.administration.providers.change(
                    .facebook,
                    of: "demo",
                    patch: json(patch),
                    if: .any,
                    by: Office.actor
                )
            }
            let patched = try await patch(#"{"nonce":null,"refreshHours":null,"returnUrls":["fb1://done"]}"#)
            let changed = try #require(patched.body.object)
            #expect(changed["nonce"]?.string == "clientMade" && changed["refreshHours"]?.isNull == true)
            #expect(changed["returnUrls"]?.array == [.string("fb1://done")] && changed["keepTokens"]?.bool == true)
            #expect(changed["warnings"]?.array?.contains { $0.string?.hasPrefix("nonce") == true } == false)
            #expect(try await office.administration.providers.read(.facebook, of: "demo").body == patched.body)

            for (document, pointers) in [
                (#"{"keepTokens":false,"returnTokens":true}"#, ["/returnTokens"]),
                (
                    #"{"nonce":"none","redirectUris":["javascript://x"],"eraseAfterDays":31}"#,
                    ["/nonce", "/redirectUris/0", "/eraseAfterDays"]
                ),
                (#"{"speed":null}"#, ["/speed"]), (#"{"webhookVerifyToken":"CANARY"}"#, ["/webhookVerifyToken"]),
            ] {
                let refused = try await failure { try await patch(document) }
                #expect(refused?.reason == .documentInvalid && refused?.pointers == pointers, "\(document)")
                #expect(
                    refused.map { "\($0.message)\(JSONValue.object($0.details).text)" }?.contains("CANARY") == false
                )
            }
            #expect(try await office.administration.providers.read(.facebook, of: "demo").tag == patched.tag)
            let log = try await office.database.psql("select to_jsonb(a)::text from federation.audit_log a")
            #expect(!"\(log)".contains("CANARY") && "\(log)".contains("•••"))
        }
    }

    @Test("an app has a configuration as long as the list of apps says so, and its secret stays")
    func configuration() async throws {
        try await Office.lend { office in
            func configIDs(_ body: JSONValue) -> [String?] {
                (body.object?["apps"]?.array ?? []).map { $0.object?["configId"]?.string }
            }
            _ = try await Self.put(office, Self.first)
            let secrets = try await Self.encrypted(office)
            let put = try await Self.put(
                office,
                #"{"apps":[{"appId":"1","configId":"77"},{"appId":"2","configId":null}]}"#
            )
            #expect(configIDs(put.body) == ["77", nil])
            let same = try await Self.put(office, put.body.text)
            #expect(same.tag == put.tag, "what was read changes nothing")
            let id = try #require(ApplicationID("demo"))
            #expect(try await office.store.application(id)?.providers[.facebook]?.apps.map(\.configID) == ["77", nil])
            let document = try await office.administration.documents.read(of: "demo").body
            #expect(configIDs(try #require(document.object?["providers"]?.object?["facebook"])) == ["77", nil])
            let patched = try await office.administration.providers.change(
                .facebook,
                of: "demo",
                patch: json(#"{"proof":"classic"}"#),
                if: .any,
                by: Office.actor
            )
            #expect(configIDs(patched.body) == ["77", nil])
            #expect(
                configIDs(try await Self.put(office, #"{"apps":[{"appId":"1"},{"appId":"2"}]}"#).body) == [nil, nil]
            )
            #expect(try await Self.encrypted(office) == secrets)
        }
    }

    @Test("what cannot be is refused with its place, and no secret is repeated")
    func problems() async throws {
        try await Office.lend { office in
            let long = String(repeating: "CANARY", count: 50)
            for (document, pointers) in [
                ("[]", [""]), ("{}", ["/apps"]), (#"{"enabled":false,"more":1}"#, ["/more"]),
                (#"{"apps":[{"appId":"1"}]}"#, ["/apps/0/appSecret"]),
                (#"{"apps":[{"appId":"1","appSecret":{"set":true}}]}"#, ["/apps/0/appSecret"]),
                (#"{"apps":[{"appId":"1","appSecret":"CANARY with space"}]}"#, ["/apps/0/appSecret"]),
                (#"{"apps":[{"appId":"1","appSecret":"CANÄRY"}]}"#, ["/apps/0/appSecret"]),
                (#"{"apps":[{"appId":"1","appSecret":"\#(long)"}]}"#, ["/apps/0/appSecret"]),
                (
                    #"{"apps":[{"appId":"one","appSecret":"CANARY"},{"appId":"2"}]}"#,
                    ["/apps/0/appId", "/apps/1/appSecret"]
                ),
                (
                    #"{"apps":[{"appId":"1","appSecret":"CANARY"},{"appId":"1","appSecret":"CANARY"}]}"#,
                    ["/apps/1/appId"]
                ),
                (
                    #"{"graphVersion":"25","proof":"none","apps":[{"appId":"1","appSecret":"CANARY"}]}"#,
                    ["/graphVersion", "/proof"]
                ),
                (
                    #"{"pkce":"plain","apps":[{"appId":"1","appSecret":"CANARY","configId":"7x"}]}"#,
                    ["/pkce", "/apps/0/configId"]
                ),
            ] {
                let refused = try await failure {
                    try await office.administration.providers.put(
                        .facebook,
                        of: "demo",
                        try json(document),
                        if: .any,
                        by: Office.actor
                    )
                }
                #expect(refused?.reason == .documentInvalid, "\(document)")
                #expect(refused?.pointers == pointers, "\(document)")
                let said = [refused?.message ?? "", refused.map { JSONValue.object($0.details).text } ?? ""]
                #expect(!said.contains { $0.contains("CANARY") })
            }
            let missing = try await failure {
                try await office.administration.providers.change(
                    .facebook,
                    of: "demo",
                    patch: .object([:]),
                    if: .any,
                    by: Office.actor
                )
            }
            #expect(missing?.reason == .notFound)
            #expect(try await office.audit() == ["application.create"])
        }
    }
}
