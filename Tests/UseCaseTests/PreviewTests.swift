import Accounts
import Administration
import Domain
import Encodings
import Facebook
import Testing
import TestSupport

@Suite("Previews of the administration")
struct PreviewTests {
    private static func preview(_ office: Office, _ request: String) async throws -> JSONValue {
        try await office.administration.mappingPreviews.preview(
            for: .facebook,
            of: "demo",
            json(request),
            by: Office.actor
        )
    }

    @Test("what is shown of a given profile, and nothing is written")
    func profile() async throws {
        try await Office.lend { office in
            _ = try await office.administration.mappings.put(
                for: .facebook,
                of: "demo",
                json(#"{"email":"email"}"#),
                if: .any,
                by: Office.actor
            )
            let before = try await office.audit()
            let shown = try await Self.preview(
                office,
                #"{"profile":{"id":"1","name":"${7*7}{{7*7}}%s%n"},"fieldsMapping":"{\"name\":\"name\"}"}"#
            )
            #expect(
                shown.text == """
                    {"fields":"id,email,name","missingPermissions":["email"],"warnings":[],"created":true,"entries":[\
                    {"mapping":"stored","position":0,"from":"email","to":"email","type":"STRING","sync":"always",\
                    "outcome":"missing","why":"The profile has no \\"email\\": its permission \\"email\\" may not be granted. \
                    The property is empty.","field":"email","permission":"email"},\
                    {"mapping":"client","position":0,"from":"name","to":"name","type":"STRING","sync":"always",\
                    "outcome":"written","value":"${7*7}{{7*7}}%s%n","why":"The login creates the user with it."}]}
                    """
            )
            let candidate = try await Self.preview(
                office,
                #"{"profile":{"id":"1"},"scopes":["email"],"mapping":[{"from":"email","to":"email","required":true}]}"#
            )
            #expect(candidate.object?["refusal"]?.object?["reason"] == .string("profile_incomplete"))
            #expect(candidate.object?["refusal"]?.object?["field"] == .string("email"))
            #expect(candidate.object?["created"] == .bool(false))
            #expect(try await office.audit() == before)
            #expect(try await office.database.psql("select 1 from demo.users").isEmpty)
        }
    }

    @Test("T-55: undeclared properties are shown and none is registered")
    func dynamic() async throws {
        try await Office.lend { office in
            let patch = try json(#"{"settings":{"dynamicProperties":true}}"#)
            _ = try await office.administration.applications.change("demo", patch: patch, if: .any, by: Office.actor)
            let shown = try await Self.preview(
                office,
                #"{"profile":{"id":"1","link":"https://x.org/"},"fieldsMapping":{"link":"page"}}"#
            )
            #expect(shown.object?["entries"]?.array?.first?.object?["outcome"] == .string("written"))
            #expect(try await office.database.psql("select 1 from federation.dynamic_properties").isEmpty)
        }
    }

    @Test("what is wrong with a request, with its place")
    func problems() async throws {
        try await Office.lend { office in
            for (request, pointers) in [
                ("{}", [""]), ("7", [""]), (#"{"profile":{},"accessToken":"EAA"}"#, [""]),
                (#"{"profile":7,"scopes":[1],"user":7,"more":1}"#, ["/more", "/scopes", "/profile", "/user"]),
                (#"{"profile":{},"appId":"1"}"#, ["/appId"]), (#"{"accessToken":"EAA","scopes":[]}"#, ["/scopes"]),
                (#"{"profile":{},"fieldsMapping":"{"}"#, ["/fieldsMapping"]),
                (
                    #"{"profile":{},"mapping":[{"from":"email","to":"email"},{"from":"name","to":"nobody"}]}"#,
                    ["/mapping/1/to"]
                ),
            ] {
                let refused = try await failure { try await Self.preview(office, request) }
                #expect(refused?.reason == .documentInvalid, "\(request)")
                #expect(refused?.pointers == pointers, "\(request)")
            }
            for user in ["0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60", "nobody"] {
                let refused = try await failure { try await Self.preview(office, #"{"profile":{},"user":"\#(user)"}"#) }
                #expect(refused?.reason == .notFound)
            }
        }
    }

    @Test("a refusal before there is a profile is shown as the login would answer it, without entries")
    func tokenRefused() async throws {
        try await Office.lend { office in
            func reason(_ request: String) async throws -> String? {
                let shown = try await Self.preview(office, request)
                #expect(shown.object?["entries"] == .array([]))
                #expect(!shown.text.contains("CANARY"))
                return shown.object?["refusal"]?.object?["reason"]?.string
            }
            let token = #""accessToken":"EAACANARY""#
            #expect(try await reason("{\(token)}") == "provider_not_configured")
            let facebook = try json(#"{"apps":[{"appId":"1","appSecret":"CANARY"}]}"#)
            _ = try await office.administration.providers.put(
                .facebook,
                of: "demo",
                facebook,
                if: .any,
                by: Office.actor
            )
            #expect(try await reason("{\(token)}") == "provider_unavailable")
            #expect(try await reason(#"{"accessToken":"1|CANARY"}"#) == "credential_wrong_kind")
            #expect(try await reason("{\(token),\"appId\":\"2\"}") == "provider_not_configured")
            #expect(
                try await reason("{\(token),\"fieldsMapping\":{\"email\":\"objectId\"}}")
                    == "mapping_target_not_allowed"
            )
            #expect(try await reason(#"{"accessToken":"CANARY with spaces"}"#) == "credential_invalid")

            let check = try await office.administration.providers.check(.facebook, of: "demo")
            let verdict = check.object?["apps"]?.array?.first?.object
            #expect(verdict?["ok"] == .bool(false))
            #expect(verdict?["reason"] == .string("provider_unavailable"))
            let others = try office.with(keys: [Office.newKey])
            let unopened = try await others.providers.check(.facebook, of: "demo").object?["apps"]?.array?.first?.object
            #expect(unopened?["reason"] == .string("provider_misconfigured"))
            #expect(unopened?["problem"]?.string?.contains("master key") == true)
        }
    }
}
