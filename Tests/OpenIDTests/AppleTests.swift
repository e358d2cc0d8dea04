import AuthorizationServers
import Crypto
import Domain
import Encodings
@testable import OpenID
import Providers
import SignedTokens
import Testing

@Suite("What Apple alone needs")
struct AppleTests {
    private static let key = P256.Signing.PrivateKey()

    private func options() throws -> SigningKeyOptions {
        var options = SigningKeyOptions()
        (options.teamID, options.keyID) = ("TEAM000001", "KEY0000001")
        return options
    }

    @Test("a client secret is a token by the team's key, for one client and five minutes")
    func clientSecret() throws {
        let key = try #require(ClientSecretKey(try options(), pem: Secret(Self.key.pemRepresentation)))
        let client = try #require(ProviderAppID("com.example.app"))
        let secret = try key.secret(of: client, at: "https://appleid.apple.com", now: 1000).reveal()
        let parts = secret.split(separator: ".").map { Base64URL.decode($0.utf8) ?? [] }
        let header = try #require(try JSONParser.parse(parts[0], limits: .request).object)
        #expect(header["alg"] == .string("ES256") && header["kid"] == .string("KEY0000001"))
        let claims = try #require(try JSONParser.parse(parts[1], limits: .request).object)
        #expect(claims["iss"] == .string("TEAM000001") && claims["sub"] == .string("com.example.app"))
        #expect(claims["aud"] == .string("https://appleid.apple.com"))
        #expect(claims["iat"]?.integer == 1000 && claims["exp"]?.integer == 1300)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: parts[2])
        let signed = Array(secret.utf8.prefix { $0 != 0 }.dropLast(secret.split(separator: ".")[2].utf8.count + 1))
        #expect(Self.key.publicKey.isValidSignature(signature, for: signed))
    }

    @Test(
        "a text that is no private key of P-256 in PEM is refused",
        arguments: ["", "secret", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"]
    )
    func noKey(_ text: String) {
        #expect(OpenIDKind.privateKey.problem(of: Secret(text)) != nil)
    }

    @Test("a private key is accepted as Apple hands it out")
    func acceptedKey() {
        #expect(OpenIDKind.privateKey.problem(of: Secret(Self.key.pemRepresentation)) == nil)
        #expect(OpenIDKind.privateKey.problem(of: Secret(Self.key.pemRepresentation + "\n")) == nil)
        let joined = Self.key.pemRepresentation.replacing("\n", with: "")
        #expect(OpenIDKind.privateKey.problem(of: Secret(joined)) == nil, "a field of one line loses the line ends")
    }

    @Test("the first form adds the name, and nothing else")
    func firstUser() {
        let form = #"{"name": {"firstName": "Ann", "lastName": "Lee"}, "email": "boss@example.com"}"#
        #expect(
            FirstUser.claims(in: form) == [
                "given_name": .string("Ann"), "family_name": .string("Lee"), "name": .string("Ann Lee"),
            ]
        )
        #expect(FirstUser.claims(in: #"{"name": {"firstName": "Ann", "lastName": ""}}"#)["name"] == .string("Ann"))
        for text in [nil, "", "{", "[]", "{}", #"{"name": "Ann"}"#, #"{"name": {"firstName": 1}}"#] {
            #expect(FirstUser.claims(in: text).members.isEmpty, "\(text ?? "nil")")
        }
    }

    @Test("a notification that ends an access names the user, others end nothing")
    func notifications() throws {
        func read(_ event: String) throws -> [(subject: Subject, kind: ReportedChange.Kind)] {
            try AppleNotification.read(["events": .string(event)])
        }
        for type in ["consent-revoked", "account-delete", "account-deleted"] {
            let found = try read(#"{"type": "\#(type)", "sub": "001.a", "event_time": 1}"#)
            #expect(found.count == 1 && found[0].subject.text == "001.a")
            guard case .removal = found[0].kind else {
                Issue.record("\(type) is no removal")
                continue
            }
        }
        #expect(try read(#"{"type": "email-disabled", "sub": "001.a", "email": "a@b.c"}"#).isEmpty)
        for event in ["", "[]", "{}", #"{"type": "consent-revoked"}"#, #"{"type": "consent-revoked", "sub": 1}"#] {
            #expect(throws: Failure.self, "\(event)") { _ = try read(event) }
        }
    }
}
