import Domain
import Encodings
@testable import OpenID
import Providers
import Testing

@Suite("Security events and logout tokens")
struct SecurityEventTests {
    private static let staff = ProviderName(known: "staff")
    private static let issuers = ["https://id.example.com"]
    private static let logout = "http://schemas.openid.net/event/backchannel-logout"
    private static let risc = "https://schemas.openid.net/secevent/risc/event-type/"
    private static let oauth = "https://schemas.openid.net/secevent/oauth/event-type/"

    private func read(_ text: String) throws -> [String] {
        let claims = try #require(try JSONParser.parse(text, limits: .request).object)
        return try SecurityEvent.read(claims, issuers: Self.issuers, of: Self.staff).map { subject, kind in
            let user = subject?.text ?? "somebody"
            return switch kind {
            case .logout(nil): "logout \(user)"
            case .logout(ProviderSession.hash("s", at: Self.staff)): "logout \(user) in s"
            case .logout: "logout \(user) in another session"
            case .removal: "removal \(user)"
            case .permissions: "permissions"
            }
        }
    }

    @Test("a logout token names the user, the session at the issuer, or both")
    func backChannelLogout() throws {
        let events = #""exp": 1, "events": {"\#(Self.logout)": {}}"#
        #expect(try read(#"{"sub": "7", \#(events)}"#) == ["logout 7"])
        #expect(try read(#"{"sub": "7", "sid": "s", \#(events)}"#) == ["logout 7 in s"])
        #expect(try read(#"{"sid": "s", \#(events)}"#) == ["logout somebody in s"])
        #expect(try read(#"{"sub": "7", "sid": "", \#(events)}"#) == ["logout 7"], "an empty sid is none")
        for claims in [#""x": 1"#, #""sid": """#, #""sid": 7"#, #""sub": "", "sid": "s""#] {
            #expect(throws: Failure.self, "\(claims)") { try read("{\(claims), \(events)}") }
        }
        #expect(throws: Failure.self) { try read(#"{"sub": "7", "events": {"\#(Self.logout)": {}}}"#) }
    }

    @Test("events of RISC name the user in the event or in sub_id, and only of this issuer")
    func subjects() throws {
        for (event, outcome) in [
            ("\(Self.risc)sessions-revoked", "logout"), ("\(Self.risc)account-disabled", "logout"),
            ("\(Self.oauth)tokens-revoked", "removal"), ("\(Self.oauth)user-unlinked", "removal"),
            ("\(Self.risc)account-purged", "removal"),
        ] {
            let subject = #"{"subject_type": "iss-sub", "iss": "https://id.example.com", "sub": "7"}"#
            #expect(try read(#"{"events": {"\#(event)": {"subject": \#(subject)}}}"#) == ["\(outcome) 7"], "\(event)")
            #expect(try read(#"{"sub_id": \#(subject), "events": {"\#(event)": {}}}"#) == ["\(outcome) 7"], "\(event)")
            let foreign = #"{"format": "iss_sub", "iss": "https://evil.example", "sub": "7"}"#
            #expect(throws: Failure.self) { try read(#"{"events": {"\#(event)": {"subject": \#(foreign)}}}"#) }
        }
    }

    @Test("events that end nothing, and unknown ones, are taken and ignored")
    func ignored() throws {
        #expect(try read(#"{"events": {"\#(Self.risc)verification": {"state": "x"}}}"#).isEmpty)
        #expect(try read(#"{"events": {"https://example.com/other": {}}}"#).isEmpty)
        #expect(throws: Failure.self) { try read(#"{"events": []}"#) }
        #expect(throws: Failure.self) { try read(#"{}"#) }
    }
}

@Suite("Trust in e-mail addresses of an issuer")
struct EmailTrustTests {
    private func confirms(_ claims: JSONObject) -> Bool {
        EmailTrust(domains: ["gmail.com"], domainClaim: "hd").confirmsAddress(in: claims)
    }

    @Test("an address is confirmed if email_verified is true and the issuer owns the domain")
    func owned() {
        let verified: JSONValue = .bool(true)
        #expect(confirms(["email": .string("a@gmail.com"), "email_verified": verified]))
        #expect(confirms(["email": .string("a@GMail.com"), "email_verified": .string("true")]))
        #expect(confirms(["email": .string("a@acme.com"), "email_verified": verified, "hd": .string("acme.com")]))
    }

    @Test("any other address stays unconfirmed")
    func others() {
        let verified: JSONValue = .bool(true)
        #expect(!confirms(["email": .string("a@acme.com"), "email_verified": verified]))
        #expect(!confirms(["email": .string("a@acme.com"), "email_verified": verified, "hd": .string("other.com")]))
        #expect(!confirms(["email": .string("a@gmail.com"), "email_verified": .bool(false)]))
        #expect(!confirms(["email": .string("a@gmail.com"), "email_verified": .string("1")]))
        #expect(!confirms(["email": .string("a@gmail.com")]))
        #expect(!confirms(["email": .string("a@gmail.com@evil.example"), "email_verified": verified]))
        #expect(!confirms(["email": .string("gmail.com"), "email_verified": verified]))
        #expect(!confirms(["email_verified": verified]))
    }
}
