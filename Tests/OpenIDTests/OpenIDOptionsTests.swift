@testable import AuthorizationServers
import Curl
import Description
import Domain
import Encodings
import Mapping
@testable import OpenID
import Providers
import SignedTokens
import Testing

@Suite("Settings of an OpenID provider")
struct OpenIDOptionsTests {
    private func options(_ members: JSONObject) throws -> OpenIDOptions { try OpenIDOptions(.object(members)) }

    private func settings(
        _ members: JSONObject,
        presets: Presets<OpenIDPreset> = .shipped,
        key: Secret? = nil
    ) throws -> OpenIDSettings? {
        let options = try options(members)
        let preset = try options.preset.map { try presets.named($0) }
        return OpenIDSettings(options, preset: preset, name: ProviderName(known: "staff"), privateKey: key)
    }

    @Test("the shipped presets can be read, have names of their own, and an issuer or none by intent")
    func presets() {
        #expect(
            Presets<OpenIDPreset>.shipped.all.map(\.name)
                == ["google", "apple", "microsoft", "gitlab", "keycloak", "line", "kakao"]
        )
        for preset in Presets<OpenIDPreset>.shipped.all {
            #expect(preset.title != nil && preset.algorithms?.isEmpty == false, "\(preset.name)")
            #expect(preset.scopes?.contains("openid") == true, "\(preset.name)")
            #expect((preset.issuer == nil) == (preset.name == "keycloak"))
        }
    }

    @Test("what a preset says about its issuer's access tokens is not true of another issuer")
    func otherIssuer() throws {
        let google = try #require(try settings(["preset": .string("google")]))
        #expect(google.acceptsAccessTokens)
        let other = try #require(
            try settings(["preset": .string("google"), "issuer": .string("https://id.example.com")])
        )
        #expect(!other.acceptsAccessTokens && other.tokenCheck == nil)
    }

    @Test("the scope offline_access has a prompt, unless the preset says otherwise")
    func prompt() throws {
        let kept: JSONObject = ["issuer": .string("https://id.example.com"), "keepTokens": .bool(true)]
        let scopes = JSONValue.array([.string("openid"), .string("offline_access")])
        let asking = JSONObject(kept.members + [.init("scopes", scopes)])
        #expect(try settings(kept)?.offlineParameters == [])
        #expect(try settings(asking)?.offlineParameters == ["prompt=consent"])
        let microsoft: JSONObject = ["preset": .string("microsoft"), "keepTokens": .bool(true)]
        #expect(try settings(microsoft)?.offlineParameters == [])
    }

    @Test("preset number eight is a document, and one with a shipped name takes its place")
    func eighth() throws {
        let own = """
            [{"name": "example", "title": "Example", "issuer": "https://id.example.com", "algorithms": ["EdDSA"],
              "scopes": ["openid"], "tokenCheck": {"form": "bearer", "url": "https://id.example.com/me",
              "clients": ["app.id"]}, "sample": {"department": "Sales"}},
             {"name": "google", "issuer": "https://google.example.com"}]
            """
        let presets = try Presets<OpenIDPreset>.shipped.adding(try JSONParser.parse(own, limits: .stored))
        #expect(presets.names == "apple, microsoft, gitlab, keycloak, line, kakao, example, google")
        let example = try #require(try settings(["preset": .string("example")], presets: presets))
        #expect(example.title == "Example" && example.algorithms == [.edDSA] && example.subject == .sub)
        #expect(example.fields.names.isSuperset(of: ["department", "email"]))
        #expect(example.preset.tokenCheck?.clients == ["app.id"])
        let google = try #require(try settings(["preset": .string("google")], presets: presets))
        #expect(google.issuers == ["https://google.example.com"])
    }

    @Test(
        "a document of presets that is wrong is refused with the place",
        arguments: [
            ("{}", "must be a list"), ("[{}]", "/0/name"), (#"[{"name": "A b"}]"#, "/0/name"),
            (#"[{"name": "a"}, {"name": "a"}]"#, "/1/name"), (#"[{"name": "a", "isuer": "https://a"}]"#, "/0/isuer"),
            (#"[{"name": "a", "issuer": "http://a.example.com"}]"#, "/0/issuer"),
            (#"[{"name": "a", "algorithms": ["none"]}]"#, "/0/algorithms"),
            (#"[{"name": "a", "tokenCheck": {"form": "query"}}]"#, "/0/tokenCheck/url"),
            (#"[{"name": "a", "revocation": {"form": "form", "url": "a"}}]"#, "/0/revocation/url"),
            (#"[{"name": "a", "title": ""}]"#, "/0/title"), (#"[{"name": "a", "setup": [""]}]"#, "/0/setup/0"),
            (#"[{"name": "a", "sample": []}]"#, "/0/sample"),
            (#"[{"name": "a", "offlineParameters": ["prompt"]}]"#, "/0/offlineParameters/0"),
            (#"[{"name": "a", "offlineParameters": ["a=b=c"]}]"#, "/0/offlineParameters/0"),
            (#"[{"name": "a", "emailDomains": ["example"]}]"#, "/0/emailDomains/0"),
            (#"[{"name": "a", "emailDomains": ["example..com"]}]"#, "/0/emailDomains/0"),
        ]
    )
    func refusedPresets(_ text: String, _ problem: String) throws {
        let document = try JSONParser.parse(text, limits: .stored)
        #expect {
            _ = try Presets<OpenIDPreset>.shipped.adding(document)
        } throws: { error in
            "\(error)".contains(problem)
        }
    }

    @Test("a preset that nobody knows is refused at its option, with the names of the known ones")
    func unknownPreset() throws {
        #expect {
            _ = try OpenIDPreset.shipped.named("gogle", at: JSONPointer() / "providers")
        } throws: { error in
            "\(error)".hasPrefix("/providers/preset: is none of google, apple")
        }
    }

    @Test("options that are null come from the preset, others count before it")
    func filled() throws {
        let google = try #require(try settings(["preset": .string("google")]))
        #expect(google.title == "Google" && google.issuer.url == "https://accounts.google.com")
        #expect(google.issuers == ["https://accounts.google.com", "accounts.google.com"])
        #expect(google.algorithms == [.rs256] && google.subject == .sub)
        let own = try #require(
            try settings([
                "preset": .string("google"), "issuer": .string("https://id.example.com"), "title": .string("Staff"),
                "algorithms": .array([.string("ES256")]),
            ])
        )
        #expect(own.title == "Staff" && own.issuers == ["https://id.example.com"] && own.algorithms == [.es256])
        #expect(try settings([:]) == nil)
        let microsoft = try #require(try settings(["preset": .string("microsoft")]))
        #expect(
            microsoft.issuer.discoveryURL
                == "https://login.microsoftonline.com/common/v2.0/.well-known/openid-configuration"
        )
        #expect(microsoft.subject == .tenantAndObject && !microsoft.scopes.contains("offline_access"))
        let kept = try #require(try settings(["preset": .string("microsoft"), "keepTokens": .bool(true)]))
        #expect(kept.scopes.contains("offline_access"))
    }

    @Test("pinned endpoints stand in place of the discovery document, and pinned keys in place of the key set")
    func pinned() throws {
        let key = #"{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
        let pinned: JSONObject = [
            "token_endpoint": .string("https://id.example.com/token"), "keys": .array([.string(key)]),
            "token_endpoint_auth_method": .string("client_secret_post"),
        ]
        let staff = try #require(
            try settings(["issuer": .string("https://id.example.com"), "pinned": .object(pinned)])
        )
        let discovery = try #require(staff.issuer.pinned.map(Discovery.init))
        #expect(discovery.tokenEndpoint?.address == "https://id.example.com/token" && discovery.keysURL == nil)
        #expect(discovery.authentication == .form && staff.issuer.pinned?.keys?.count == 1)
        #expect(throws: DocumentProblems.self) { try self.options(["pinned": .object([:])]) }
        #expect(throws: DocumentProblems.self) {
            try self.options(["pinned": .object(["keys": .array([.string(#"{"kty": "oct", "k": "AAAA"}"#)])])])
        }
    }

    @Test("issuers are https URLs without query and fragment")
    func issuers() {
        for text in [
            "https://id.example.com", "https://id.example.com:8443/realms/a", "http://127.0.0.1:9", "https://a/",
        ] {
            #expect(IssuerRule.rule.problem(text) == nil, "\(text)")
        }
        for text in [
            "", "id.example.com", "http://id.example.com", "https://id.example.com?x", "https://id.example.com#x",
            "https://user@id.example.com", "https://a b", "ftp://a", "https://" + String(repeating: "a", count: 500),
        ] {
            #expect(IssuerRule.rule.problem(text) != nil, "\(text)")
        }
    }
}
