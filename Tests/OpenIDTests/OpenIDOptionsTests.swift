import Description
import Domain
import Encodings
@testable import OpenID
import Providers
import SignedTokens
import Testing

@Suite("Settings of an OpenID provider")
struct OpenIDOptionsTests {
    private func options(_ members: JSONObject) throws -> OpenIDOptions { try OpenIDOptions(.object(members)) }

    @Test("the shipped presets can be read, have names of their own, and an issuer or none by intent")
    func presets() {
        #expect(
            Presets.all.map(\.name) == ["google", "apple", "microsoft", "gitlab", "keycloak", "line", "kakao"]
        )
        for preset in Presets.all {
            #expect(preset.title != nil && preset.algorithms?.isEmpty == false, "\(preset.name)")
            #expect(preset.scopes?.contains("openid") == true, "\(preset.name)")
            if let issuer = preset.issuer { #expect(IssuerRule.rule.problem(issuer) == nil, "\(issuer)") }
            #expect((preset.issuer == nil) == (preset.name == "keycloak"))
        }
    }

    @Test("a further preset is a document")
    func eighth() throws {
        let text = """
            {"name": "example", "title": "Example", "issuer": "https://id.example.com", "algorithms": ["EdDSA"],
             "scopes": ["openid"]}
            """
        let preset = try #require(Preset(try JSONParser.parse(text, limits: .stored).object ?? [:]))
        #expect(preset.algorithms == [.edDSA] && preset.subject == nil)
        #expect(Preset(["name": .string("No Name")]) == nil)
        #expect(Preset([:]) == nil)
    }

    @Test("options that are null come from the preset, others count before it")
    func filled() throws {
        let google = try #require(
            OpenIDSettings(try options(["preset": .string("google")]), name: ProviderName(known: "google"))
        )
        #expect(google.title == "Google" && google.issuer.url == "https://accounts.google.com")
        #expect(google.issuers == ["https://accounts.google.com", "accounts.google.com"])
        #expect(google.algorithms == [.rs256] && google.subject == .sub)
        let own = try #require(
            OpenIDSettings(
                try options([
                    "preset": .string("google"), "issuer": .string("https://id.example.com"), "title": .string("Staff"),
                    "algorithms": .array([.string("ES256")]),
                ]),
                name: ProviderName(known: "staff")
            )
        )
        #expect(own.title == "Staff" && own.issuers == ["https://id.example.com"] && own.algorithms == [.es256])
        #expect(OpenIDSettings(OpenIDOptions(), name: ProviderName(known: "staff")) == nil)
        let microsoft = try #require(
            OpenIDSettings(try options(["preset": .string("microsoft")]), name: ProviderName(known: "work"))
        )
        #expect(
            microsoft.issuer.discoveryURL
                == "https://login.microsoftonline.com/common/v2.0/.well-known/openid-configuration"
        )
        #expect(microsoft.subject == .tenantAndObject)
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
