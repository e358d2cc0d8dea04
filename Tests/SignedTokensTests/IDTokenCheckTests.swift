import Domain
import Encodings
@testable import SignedTokens
import Testing

@Suite("Judging an ID token (decision D3): each check alone")
struct IDTokenCheckTests {
    private func word(_ claims: [String: JSONValue?], now: Int64 = Sample.now, apps: [String] = [Sample.app]) throws
        -> String
    {
        var sample = Sample()
        sample.claims = sample.claims.with(claims)
        return try judge(sample.text, apps: apps, now: now).word
    }

    @Test("a token that passes tells who, by which app, until when")
    func accepted() throws {
        let accepted = try #require(try judge(Sample().text).accepted)
        #expect(accepted.app.text == Sample.app)
        #expect(accepted.claims["sub"]?.string == Sample.subject)
        #expect(accepted.expiry == Sample.now + 3590)
        #expect(accepted.end == Sample.now - 10 + 3601, "its age counts before the tolerance of exp does")
        #expect(accepted.digest.count == 32)
        #expect(accepted.serverNonce == nil)
    }

    @Test("every issuer of the list is taken, and others are not, however they resemble one (T-11, check 2)")
    func issuer() throws {
        for issuer in ["https://www.facebook.com", "https://facebook.com"] {
            #expect(try word(["iss": .string(issuer)]) == "accepted")
        }
        let wrong: [JSONValue?] =
            [
                "https://limited.facebook.com", "https://www.facebook.com/", "https://www.facebook.com.evil.example",
                "https://evil.example/https://www.facebook.com", "http://www.facebook.com", "www.facebook.com",
                "https://WWW.facebook.com", "https://www.facebook.com ", "https://evil.facebook.com", "",
                "https://www.faceb\u{43E}ok.com", "https://facebook.com/dialog/oauth/", "https://127.0.0.1:1",
            ].map { .string($0) } + [nil, .null, .array([.string("https://www.facebook.com")]), .integer(1)]
        for issuer in wrong {
            #expect(try word(["iss": issuer]) == "credential_invalid 2", "\(String(describing: issuer))")
        }
    }

    @Test("the audience is our app and nothing that we do not know, as text or list (T-08, check 3)")
    func audience() throws {
        #expect(try word(["aud": .array([.string(Sample.app)])]) == "accepted")
        let wrong: [JSONValue?] =
            ["3456", "123456789", "12345678901", "01234567890", " 1234567890", "1234567890\u{0301}", "", "9876543210"]
            .map {
                .string($0)
            } + [
                nil, .null, .integer(1_234_567_890), .array([]), .array([.string("9876543210")]),
                .array([.string(Sample.app), .string("9876543210")]),
                .array([.string("9876543210"), .string(Sample.app)]),
                .array([.string(Sample.app), .null]), .array([.array([.string(Sample.app)])]), .object([:]),
            ]
        for audience in wrong {
            #expect(try word(["aud": audience]) == "credential_invalid 3", "\(String(describing: audience))")
        }
        #expect(try word([:], apps: []) == "credential_invalid 3", "no app is not every app")
    }

    @Test("several audiences need an azp, which is one of them and decides the app (checks 4 and 5)")
    func authorizedParty() throws {
        let both = JSONValue.array([.string("2345678901"), .string(Sample.app)])
        let apps = [Sample.app, "2345678901"]
        #expect(try word(["aud": both], apps: apps) == "credential_invalid 4")
        #expect(try word(["aud": .array([.string(Sample.app), .string(Sample.app)])]) == "credential_invalid 4")
        for app in apps {
            var sample = Sample()
            sample.claims = sample.claims.with(["aud": both, "azp": .string(app)])
            #expect(try judge(sample.text, apps: apps).accepted?.app.text == app)
        }
        #expect(try word(["azp": .string(Sample.app)]) == "accepted")
        for party in [JSONValue.string("2345678901"), .string(""), .null, .array([.string(Sample.app)]), .integer(1)] {
            #expect(try word(["azp": party], apps: apps) == "credential_invalid 5", "\(party)")
        }
    }

    @Test("aud decides which of the application's apps a subject belongs to")
    func oneOfSeveralApps() throws {
        var sample = Sample()
        sample.claims = sample.claims.with(["aud": .string("2345678901")])
        let accepted = try judge(sample.text, apps: [Sample.app, "2345678901"]).accepted
        #expect(accepted?.app.text == "2345678901")
    }

    @Test("T-29: exp lies ahead, with a minute of tolerance (check 9)")
    func expiry() throws {
        let now = Sample.now
        for (exp, word) in [
            (now + 1, "accepted"), (now, "accepted"), (now - 59, "accepted"), (now - 60, "credential_expired 9"),
            (now - 61, "credential_expired 9"), (0, "credential_expired 9"),
        ] {
            #expect(try self.word(["exp": .integer(exp)]) == word, "\(exp - now)")
        }
    }

    @Test("T-29: iat has passed, with a minute of tolerance, and not more than an hour ago (check 10)")
    func issueTime() throws {
        let now = Sample.now
        for (iat, word) in [
            (now + 60, "accepted"), (now + 61, "credential_invalid 10"), (now + 86_400, "credential_invalid 10"),
            (now - 3600, "accepted"), (now - 3601, "credential_expired 10"), (0, "credential_expired 10"),
        ] {
            #expect(try self.word(["iat": .integer(iat), "exp": .integer(now + 86_400)]) == word, "\(iat - now)")
        }
        #expect(try word(["nbf": .integer(now + 60)]) == "accepted")
        #expect(try word(["nbf": .integer(now + 61)]) == "credential_invalid 10")
        #expect(try word(["nbf": .string("0")]) == "credential_invalid 10")
    }

    @Test("T-29: a time is an integer of seconds in years to come or gone", arguments: ["exp", "iat"])
    func times(name: String) throws {
        let check = name == "exp" ? 9 : 10
        for value in [
            nil, .null, .string("1795003590"), .bool(true), .integer(-1), .integer(.min), .integer(.max),
            .integer(253_402_300_800), .array([]),
        ] as [JSONValue?] {
            #expect(try word([name: value]) == "credential_invalid \(check)", "\(String(describing: value))")
        }
        for literal in ["1e308", "1795003590.0", "1.79500359e9", "99999999999999999999999", "-0"] {
            var sample = Sample()
            let claims = sample.claims.with([name: nil])
            sample.claimsText = JSONValue.object(claims).text.dropLast() + #","\#(name)":\#(literal)}"#
            let verdict = try judge(sample.text).word
            #expect(verdict.hasPrefix("credential_") && verdict.hasSuffix(" \(check)"), "\(literal): \(verdict)")
        }
    }

    @Test("an application may take younger tokens alone")
    func longestAge() throws {
        var sample = Sample()
        sample.claims = sample.claims.with(["iat": .integer(Sample.now - 301)])
        #expect(try judge(sample.text, longestAge: 300).word == "credential_expired 10")
        #expect(try judge(sample.text, longestAge: 301).accepted?.end == Sample.now + 1)
    }

    @Test("claims that nobody knows change nothing, at_hash, acr and auth_time among them (checks 12 and 13)")
    func unknownClaims() throws {
        let claims: [String: JSONValue?] = [
            "acr": .string("0"), "auth_time": .integer(0), "at_hash": .string("x"), "email_verified": .bool(false),
            "ünknown": .object(["a": .array([.null])]), "jti": nil,
        ]
        #expect(try word(claims) == "accepted")
    }

    /// A wrong app, expiry, an unknown signer, another issuer and a time in the future, in every combination.
    @Test("T-16: every condition alone and all together refuse", arguments: 1..<32)
    func truthTable(broken: Int) throws {
        var sample = Sample()
        if broken & 1 != 0 { sample.claims = sample.claims.with(["aud": .string("9876543210")]) }
        if broken & 2 != 0 { sample.claims = sample.claims.with(["exp": .integer(Sample.now - 100)]) }
        if broken & 4 != 0 { sample.signer = Signer.stranger }
        if broken & 8 != 0 { sample.claims = sample.claims.with(["iss": .string("https://evil.example")]) }
        if broken & 16 != 0 { sample.claims = sample.claims.with(["iat": .integer(Sample.now + 1000)]) }
        #expect(try judge(sample.text).accepted == nil)
    }
}
