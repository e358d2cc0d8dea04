import Crypto
import CryptoExtras
import Foundation
import GraphSimulator
import Testing

@Suite("ID tokens, right and wrong")
struct IDTokenTests {
    @Test("header and claims have the members, order and escapes of the captured tokens")
    func captured() async throws {
        try await SampleWorld.run { simulator in
            let token = try JWT(try simulator.idToken(person: "ann", nonce: "0394c852"))
            #expect(token.header == #"{"alg":"RS256","typ":"JWT","kid":"\#(simulator.keys[1])"}"#)
            let jti = try #require(try token.claim("jti")?.string)
            #expect(jti.wholeMatch(of: /[A-Za-z0-9]{4}\.[0-9a-f]{64}/) != nil)
            let picture = try #require(try token.claim("picture")?.string)
            #expect(
                picture.hasPrefix(
                    "https://platform-lookaside.fbsbx.com/platform/profilepic/?asid=123&height=100&width=100&ext="
                )
            )
            let friends = try #require(try token.claim("user_friends")?.array)
            #expect(friends.count == 2)
            #expect(
                token.claims
                    == #"{"iss":"https:\/\/www.facebook.com","aud":"257422819769992","sub":"123","iat":1668749403,"exp":1668753003,"#
                    + #""jti":"\#(jti)","nonce":"0394c852","email":"ann\u0040example.com","given_name":"Ann","#
                    + #""family_name":"M\u00fcller","name":"Ann M\u00fcller","#
                    + #""picture":"\#(picture.replacing("/", with: #"\/"#))","user_friends":["\#(friends[0].string ?? "")","\#(friends[1].string ?? "")"],"#
                    + #""user_birthday":"05\/17\/1990","user_age_range":{"min":21},"user_gender":"female","#
                    + #""user_hometown":{"id":"108146355876523","name":"K\u00f6ln, Germany"},"user_link":"https:\/\/www.facebook.com\/ann"}"#
            )
            #expect(token.signature.count == 256)
            #expect(try await token.isSigned(by: simulator))
            #expect(try JWT(try simulator.idToken(person: "ann")).claim("jti") != .string(jti))
        }
    }

    @Test("sub is the id that Graph gives the same app, and differs between apps")
    func subject() async throws {
        try await SampleWorld.run { simulator in
            let mine = try JWT(try simulator.idToken(person: "dora"))
            let token = try simulator.mint(.long, person: "dora").text
            let me = try GraphSimulator.JSON(parsing: try await Wire.get(simulator, "/me?access_token=\(token)").body)
            #expect(try mine.claim("sub") == me["id"])
            let other = try JWT(try simulator.idToken(person: "dora", app: SampleWorld.otherApp))
            #expect(try other.claim("aud") == .string(SampleWorld.otherApp))
            #expect(try other.claim("sub") != me["id"])
        }
    }

    @Test("a claim needs its permission, and a nonce that nobody gave is empty")
    func scopes() async throws {
        try await SampleWorld.run { simulator in
            let basic = try JWT(try simulator.idToken(person: "ann", scopes: []))
            #expect(
                try GraphSimulator.JSON(parsing: basic.claims.utf8).members?.map(\.name) == [
                    "iss", "aud", "sub", "iat", "exp", "jti", "nonce", "given_name", "family_name", "name", "picture",
                ]
            )
            #expect(try basic.claim("nonce") == "")
            let email = try JWT(try simulator.idToken(person: "ann", scopes: ["email"]))
            #expect(try email.claim("email") == "ann@example.com")
            simulator.update(person: "ann") { $0.set("email", .declined) }
            let declined = try JWT(try simulator.idToken(person: "ann", scopes: ["email"]))
            #expect(try declined.claim("email") == nil)
        }
    }

    @Test("claims and header members are replaced in place, added and removed")
    func overrides() async throws {
        try await SampleWorld.run { simulator in
            let token = try JWT(
                try simulator.idToken(
                    person: "ann",
                    scopes: [],
                    claims: [
                        "aud": ["1", "2"], "exp": "soon", "jti": nil, "picture": nil, "azp": "1", "nbf": 1.5,
                    ],
                    header: ["alg": ["RS256"], "typ": nil, "jku": "https://evil.example/"]
                )
            )
            #expect(
                token.claims
                    == #"{"iss":"https:\/\/www.facebook.com","aud":["1","2"],"sub":"123","iat":1668749403,"exp":"soon","nonce":"","given_name":"Ann","family_name":"M\u00fcller","name":"Ann M\u00fcller","azp":"1","nbf":1.5}"#
            )
            #expect(
                token.header == #"{"alg":["RS256"],"kid":"\#(simulator.keys[1])","jku":"https://evil.example/"}"#
            )
            #expect(try await token.isSigned(by: simulator))
        }
    }

    @Test("times are offsets from now, and exp follows iat")
    func times() async throws {
        try await Control.run { simulator, control in
            simulator.advanceClock(bySeconds: 100)
            for (wish, issued, expires) in [
                ("{}", 100, 3700), (#"{"iatOffset":-7200}"#, -7100, -3500),
                (#"{"iatOffset":90,"expOffset":-61}"#, 190, 39), (#"{"expOffset":0}"#, 100, 100),
            ] {
                let token = try JWT(try #require(try await control.post("/id-tokens", wish)["token"]?.string))
                #expect(try token.claim("iat") == .integer(SampleWorld.now + issued), "\(wish)")
                #expect(try token.claim("exp") == .integer(SampleWorld.now + expires), "\(wish)")
            }
        }
    }

    @Test("the control port takes every wish")
    func control() async throws {
        try await Control.run { simulator, control in
            let wish =
                #"{"person":"ann","app":"2345678901","nonce":"n","scopes":["email"],"claims":{"sub":7,"aud":null},"#
                + #""header":{"kid":"x"},"signWith":"rs384","jkt":"0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}"#
            let token = try JWT(try #require(try await control.post("/id-tokens", wish)["token"]?.string))
            #expect(token.header == #"{"alg":"RS384","typ":"JWT","kid":"x"}"#)
            #expect(try token.claim("sub") == 7)
            #expect(try token.claim("aud") == nil)
            #expect(try token.claim("nonce") == "n")
            #expect(token.claims.hasSuffix(#","cnf":{"jkt":"0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}}"#))
            let raw = try JWT(
                try #require(
                    try await control.post(
                        "/id-tokens",
                        #"{"claimsText":"{\"sub\":\"1\",\"sub\":\"2\"}","headerText":"{\"alg\":\"RS256\",\"alg\":\"none\"}"}"#
                    )["token"]?.string
                )
            )
            #expect(raw.claims == #"{"sub":"1","sub":"2"}"#)
            #expect(raw.header == #"{"alg":"RS256","alg":"none"}"#)

            let kid = simulator.keys[0]
            let older = try await control.post("/id-tokens", #"{"signWith":"\#(kid)"}"#)
            #expect(try JWT(try #require(older["token"]?.string)).kid == kid)
        }
    }

    @Test("each way to sign does what it says")
    func signatures() async throws {
        try await SampleWorld.run { simulator in
            func token(_ signature: GraphSimulator.IDTokenSignature) throws -> JWT {
                try JWT(try simulator.idToken(signature: signature))
            }
            let newest = try #require(try await JWT.keys(of: simulator).last)
            let key = try JWT.publicKey(newest)
            let rs384 = try token(.rs384)
            #expect(rs384.isSigned(by: key, SHA384.hash(data: rs384.text), .insecurePKCS1v1_5))
            let rs512 = try token(.rs512)
            #expect(rs512.isSigned(by: key, SHA512.hash(data: rs512.text), .insecurePKCS1v1_5))
            let ps256 = try token(.ps256)
            #expect(try await ps256.isSigned(by: simulator, padding: .PSS))
            #expect(ps256.header.hasPrefix(#"{"alg":"PS256","#))

            let none = try token(.none)
            #expect(none.header.hasPrefix(#"{"alg":"none","#))
            #expect(none.signature.isEmpty)
            let broken = try token(.broken)
            #expect(broken.header.hasPrefix(#"{"alg":"RS256","#))
            #expect(try await !broken.isSigned(by: simulator))

            let unknown = try token(.unknown)
            let stranger = try #require(try unknown.kid)
            #expect(!simulator.keys.contains(stranger))
            #expect(!unknown.isSigned(by: key, SHA256.hash(data: unknown.text), .insecurePKCS1v1_5))
            #expect(unknown.signature.count == 256)

            let pem = Array(key.pemRepresentation.utf8)
            #expect(try token(.hs256WithPublicKey(.pem)).isAuthenticated(with: pem))
            #expect(try token(.hs256WithPublicKey(.pemLine)).isAuthenticated(with: pem + [0x0A]))
            #expect(try token(.hs256WithPublicKey(.der)).isAuthenticated(with: key.derRepresentation))
            #expect(try token(.hs256WithPublicKey(.jwk)).isAuthenticated(with: Array(newest.graphText.utf8)))
            let secret = try token(.hs256WithAppSecret)
            #expect(secret.isAuthenticated(with: Array(SampleWorld.secret.utf8)))
            #expect(secret.header.hasPrefix(#"{"alg":"HS256","#))
        }
    }

    /// The request for an ID token, and the error.
    static let refusals = [
        (#"{"person":"nobody"}"#, #"person: no person \"nobody\""#), (#"{"app":"9"}"#, "app: no app 9"),
        (#"{"signWith":"md5"}"#, "signWith: expected a kid or one of newest, unknown, broken, none, rs384,"),
        (#"{"signWith":"0000000000000000000000000000000000000000"}"#, "signWith: no key 0000"),
        (#"{"iatOffset":1e9}"#, "iatOffset: expected an integer"),
        (#"{"expOffset":99999999999}"#, "expOffset: expected an integer from -"),
        (#"{"claim":{}}"#, "claim: unknown member"),
    ]

    @Test("what cannot be made is told why", arguments: refusals)
    func refused(_ wish: String, _ error: String) async throws {
        try await Control.run { _, control in
            let reply = try await control.send("POST", "/id-tokens", wish)
            #expect(reply.status == 400)
            #expect(reply.text.hasPrefix(#"{"error":"\#(error)"#))
        }
    }
}
