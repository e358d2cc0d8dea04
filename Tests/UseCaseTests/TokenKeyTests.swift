@testable import Accounts
import Administration
@testable import Applications
import Crypto
import CryptoExtras
import Domain
import Encodings
import FoundationEssentials
import Logging
import Logins
import Providers
@testable import Secrets
import Store
import SwiftASN1
import Testing
import TestSupport
import X509

@Suite("Keys of signed tokens")
struct TokenKeyTests {
    private static func key(
        _ id: String,
        age: Double,
        retired: Double? = nil,
        type: String = "EC"
    ) -> StoredTokenKey {
        StoredTokenKey(
            id: id,
            application: nil,
            secret: EncryptedSecret(bytes: [], keyID: "k"),
            publicKey: ["kty": .string(type)],
            created: 0,
            retired: retired.map { _ in 0 },
            age: age,
            retiredSince: retired
        )
    }

    @Test("the first key signs at once; a later one when the former has signed for ten minutes more")
    func signing() {
        func signs(_ keys: StoredTokenKey...) -> String? { TokenKeyRing.signing(among: keys, by: .es256)?.id }
        #expect(signs() == nil)
        #expect(signs(Self.key("a", age: 0)) == "a")
        #expect(signs(Self.key("a", age: 5000, retired: 0), Self.key("b", age: 0)) == "a")
        #expect(signs(Self.key("a", age: 5000, retired: 599), Self.key("b", age: 599)) == "a")
        #expect(signs(Self.key("a", age: 5000, retired: 600), Self.key("b", age: 600)) == "b")
        // A rotation before the second key has signed: the second key still gets its turn.
        #expect(
            signs(Self.key("a", age: 5000, retired: 500), Self.key("b", age: 500, retired: 10), Self.key("c", age: 10))
                == "a"
        )
        #expect(
            signs(
                Self.key("a", age: 5000, retired: 605),
                Self.key("b", age: 605, retired: 115),
                Self.key("c", age: 115)
            )
                == "b"
        )
        // A rotation while the first key is not ten minutes old.
        #expect(signs(Self.key("a", age: 20, retired: 10), Self.key("b", age: 10)) == "a")
        // The key in between was lost with its master key, and the first key is not published any more, so it does not
        // sign.
        #expect(signs(Self.key("a", age: 99_999, retired: 4260), Self.key("c", age: 10)) == "c")
    }

    @Test("each algorithm has its own key, which waits for no key of another")
    func algorithms() {
        let keys = [
            Self.key("a", age: 5000, retired: 599), Self.key("b", age: 599), Self.key("r", age: 20, type: "RSA"),
        ]
        #expect(TokenKeyRing.signing(among: keys, by: .es256)?.id == "a")
        #expect(TokenKeyRing.signing(among: keys, by: .rs256)?.id == "r")
        #expect(TokenKeyRing.signing(among: Array(keys[..<2]), by: .rs256) == nil)
        let rotated = [
            Self.key("a", age: 5000), Self.key("r", age: 5000, retired: 599, type: "RSA"),
            Self.key("s", age: 599, type: "RSA"),
        ]
        #expect(TokenKeyRing.signing(among: rotated, by: .rs256)?.id == "r")
        #expect(TokenKeyRing.signing(among: rotated, by: .es256)?.id == "a")
    }

    @Test("a key is published as long as a token of it may live, and whatever signs is published")
    func published() {
        func published(_ keys: StoredTokenKey...) -> [String] { TokenKeyRing.published(among: keys).map(\.id) }
        #expect(published(Self.key("a", age: 99_999, retired: 4259), Self.key("b", age: 0)) == ["a", "b"])
        #expect(published(Self.key("a", age: 99_999, retired: 4260), Self.key("b", age: 4260)) == ["b"])
        // A retired key signs during the overlap; each of its tokens lives an hour at most.
        #expect(TokenKeyRing.keptSeconds > TokenKeyRing.overlapSeconds + 3600)
        #expect(TokenKeyRing.overlapSeconds >= 2 * TokenKeyRing.publishedSeconds)
    }

    @Test("others keep the keys for a shorter time while one is new, and an empty set not at all")
    func cacheSeconds() {
        func seconds(_ keys: StoredTokenKey...) -> Int { TokenKeyRing.cacheSeconds(of: keys) }
        #expect(seconds() == 0)
        #expect(seconds(Self.key("a", age: 0)) == 60)
        #expect(seconds(Self.key("a", age: 5000, retired: 599), Self.key("b", age: 599)) == 60)
        #expect(seconds(Self.key("a", age: 5000, retired: 600), Self.key("b", age: 600)) == 300)
    }

    @Test(
        "a stored key opens under its master key, in its own row, for its own application, and nowhere else",
        arguments: TokenAlgorithm.allCases
    )
    func storage(algorithm: TokenAlgorithm) throws {
        let master = MasterKeys(
            current: try MasterKey(base64: Secret(Data(repeating: 1, count: 32).base64EncodedString()))
        )
        let other = MasterKeys(
            current: try MasterKey(base64: Secret(Data(repeating: 2, count: 32).base64EncodedString()))
        )
        let (demo, shop) = (try #require(ApplicationID("demo")), try #require(ApplicationID("shop")))
        let made = try TokenKey(algorithm).stored(for: demo, under: master)
        func stored(_ id: String, of application: ApplicationID?) -> StoredTokenKey {
            StoredTokenKey(
                id: id,
                application: application,
                secret: made.secret,
                publicKey: made.publicKey,
                created: 0,
                retired: nil,
                age: 0,
                retiredSince: nil
            )
        }
        #expect(TokenKey(stored(made.id, of: demo), masterKeys: master)?.id == made.id)
        #expect(TokenKey(stored(made.id, of: demo), masterKeys: other) == nil)
        #expect(TokenKey(stored(try TokenKey(algorithm).id, of: demo), masterKeys: master) == nil)
        for application in [shop, nil] {
            #expect(TokenKey(stored(made.id, of: application), masterKeys: master) == nil)
        }
        #expect(made.id.utf8.count == 43)
        #expect(stored(made.id, of: demo).algorithm == algorithm)
        #expect((stored(made.id, of: demo).certificate != nil) == (algorithm == .rs256))
    }

    @Test("the key that applications had in common still opens, and signs for each until its own is known")
    func common() throws {
        let master = MasterKeys(
            current: try MasterKey(base64: Secret(Data(repeating: 1, count: 32).base64EncodedString()))
        )
        let key = P256.Signing.PrivateKey()
        let point = Array(key.publicKey.rawRepresentation)
        let (x, y) = (Base64URL.encode(Array(point[..<32])), Base64URL.encode(Array(point[32...])))
        let id = Base64URL.encode(
            Array(SHA256.hash(data: Array(#"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#.utf8)))
        )
        let secret = Secret(Base64URL.encode(Array(key.rawRepresentation)))
        func common(_ age: Double) -> StoredTokenKey {
            StoredTokenKey(
                id: id,
                application: nil,
                secret: master.encrypt(secret, for: .tokenKey(id: id, application: nil)),
                publicKey: [:],
                created: 0,
                retired: 0,
                age: 99_999,
                retiredSince: age
            )
        }
        #expect(TokenKey(common(0), masterKeys: master)?.id == id)
        let own = Self.key("own", age: 599)
        #expect(TokenKeyRing.signing(among: [common(4000), own], by: .es256)?.id == id)
        let known = Self.key("own", age: 600)
        #expect(TokenKeyRing.signing(among: [common(4000), known], by: .es256)?.id == "own")
        #expect(TokenKeyRing.published(among: [common(4259), own]).count == 2)
    }

    @Test("RFC 7638: the id is the thumbprint of the public key")
    func thumbprint() throws {
        let key = try TokenKey(.es256)
        let (x, y) = (try #require(key.publicKey["x"]?.string), try #require(key.publicKey["y"]?.string))
        let text = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        #expect(key.id == Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8)))))
        // The example of RFC 7638 §3.1.
        let number = """
            0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjB\
            ZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8\
            KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_\
            xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw
            """
        let example: JSONObject = ["e": .string("AQAB"), "kty": .string("RSA"), "n": .string(number)]
        #expect(TokenKey.thumbprint(of: example) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
        let made = try TokenKey(.rs256)
        #expect(TokenKey.thumbprint(of: made.publicKey) == made.id)
        #expect(made.publicKey.members.map(\.key) == ["e", "kty", "n"])
    }

    @Test("both kinds are published; the RSA keys also as certificates, which other programs read")
    func publication() async throws {
        try await Issuer.lend { issuer in
            let demo = try issuer.application("demo")
            #expect(try await issuer.tokens.tokenKeySet(of: demo).seconds == 0)
            #expect(try await issuer.tokens.tokenCertificates(of: demo).seconds == 0)
            let (rsa, point) = (try await issuer.key(.rs256), try await issuer.key(.es256))
            func set(_ algorithm: TokenAlgorithm?) async throws -> (keys: [JSONObject], seconds: Int) {
                let (set, seconds) = try await issuer.tokens.tokenKeySet(of: demo, by: algorithm)
                return (try #require(set.object?["keys"]?.array).compactMap(\.object), seconds)
            }
            let all = try await set(nil)
            #expect(all.seconds == 60)
            #expect(all.keys.map { $0["kid"]?.string } == [rsa.id, point.id])
            #expect(all.keys.map { $0["alg"]?.string } == ["RS256", "ES256"])
            let keys = try await set(.rs256).keys
            #expect(keys.count == 1)
            #expect(Set(keys[0].members.map(\.key)) == ["kty", "n", "e", "use", "alg", "kid"])

            let (certificates, seconds) = try await issuer.tokens.tokenCertificates(of: demo)
            #expect(seconds == 60)
            #expect(certificates.object?.members.map(\.key) == [rsa.id])
            let text = try #require(certificates.object?[rsa.id]?.string)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.first == "-----BEGIN CERTIFICATE-----")
            #expect(lines.suffix(2) == ["-----END CERTIFICATE-----", ""])
            #expect(lines.dropFirst().dropLast(3).allSatisfy { $0.utf8.count == 64 })
            let certificate = try Certificate(pemEncoded: text)
            let numbers = try #require(_RSA.Signing.PublicKey(certificate.publicKey)).getKeyPrimitives()
            #expect(Base64URL.encode(Array(numbers.modulus)) == keys[0]["n"]?.string)
            #expect(Base64URL.encode(Array(numbers.publicExponent)) == keys[0]["e"]?.string)
            #expect(certificate.publicKey.isValidSignature(certificate.signature, for: certificate))
            #expect(certificate.subject.description == "CN=demo")
            #expect(certificate.notValidBefore < .now - 86_000)
            #expect(certificate.notValidAfter > .now + 3650 * 86_400)
            try await issuer.office.database.psql("delete from federation.token_keys where public_key ->> 'kty' = 'EC'")
            issuer.directory.tokenKeys.forget()
            #expect(try await set(nil).seconds == 0, "the first ES256 key signs at once")
            #expect(try await set(.rs256).seconds == 60)
        }
    }

    @Test("a rotation makes a key of each kind that the application has, and an entry in the audit log for each")
    func rotation() async throws {
        try await Issuer.lend { issuer in
            let rotation = issuer.office.administration.tokenKeys
            func rotate(_ request: String) async throws -> [JSONObject] {
                let made = try await rotation.rotate(json(request), by: Office.actor)
                issuer.directory.tokenKeys.forget()
                return try #require(made.object?["items"]?.array).compactMap(\.object)
            }
            let first = try await issuer.key(.rs256)
            let alone = try await rotate("{}")
            #expect(alone.map { $0["algorithm"]?.string } == ["RS256"])
            #expect(alone.first?["signsInSeconds"]?.integer == 600)
            #expect(try await issuer.key(.rs256).id == first.id)
            _ = try await issuer.key(.es256)
            let both = try await rotate(#"{"application": "demo", "atOnce": true}"#)
            #expect(both.map { $0["algorithm"]?.string } == ["ES256", "RS256"])
            #expect(both.allSatisfy { $0["signsInSeconds"]?.integer == 0 })
            let keys = [try await issuer.key(.es256).id, try await issuer.key(.rs256).id]
            #expect(both.compactMap { $0["id"]?.string } == keys)
            let listed = try await rotation.list().object?["items"]?.array?.compactMap(\.object) ?? []
            #expect(listed.map { $0["algorithm"]?.string } == ["RS256", "ES256"])
            #expect(listed.allSatisfy { $0["signs"]?.bool == true })
            #expect(try await issuer.office.audit().count { $0.hasPrefix("token-key.rotate") } == 3)
        }
    }

    @Test("only an unchanged token that a published key of the application has signed by the algorithm counts")
    func verification() async throws {
        try await Issuer.lend { issuer in
            let claims: JSONObject = ["sub": .string("ann"), "exp": .integer(1)]
            let (key, point) = (try await issuer.key(.rs256), try await issuer.key(.es256))
            let other = try await issuer.key(.rs256, of: "shop")
            func accepted(_ text: String, _ algorithm: TokenAlgorithm = .rs256) async throws -> Bool {
                let found = try await issuer.tokens.claims(
                    of: Secret(text),
                    by: algorithm,
                    in: issuer.application("demo")
                )
                #expect(found == nil || found == claims)
                return found != nil
            }
            let good = try key.sign(claims).reveal()
            #expect(try await accepted(good))
            #expect(try await !accepted(good, .es256))
            #expect(try await accepted(point.sign(claims).reveal(), .es256))

            let parts = good.split(separator: ".").map(String.init)
            let changed = Base64URL.encode(Array(#"{"sub":"bob","exp":1}"#.utf8))
            let certificates = try await issuer.tokens.tokenCertificates(of: issuer.application("demo")).certificates
            let pem = try #require(certificates.object?[key.id]?.string)
            let privateKey = try await issuer.privateKey(key.id)
            func text(_ header: String, _ sign: ([UInt8]) throws -> [UInt8]) rethrows -> String {
                let message = Base64URL.encode(Array(header.utf8)) + "." + parts[1]
                return message + "." + Base64URL.encode(try sign(Array(message.utf8)))
            }
            func signed(_ header: String) throws -> String {
                try text(header) {
                    Array(try privateKey.signature(for: $0, padding: .insecurePKCS1v1_5).rawRepresentation)
                }
            }
            func mac(_ secret: String) -> String {
                text(#"{"alg":"HS256","kid":"\#(key.id)","typ":"JWT"}"#) {
                    Array(HMAC<SHA256>.authenticationCode(for: $0, using: SymmetricKey(data: Array(secret.utf8))))
                }
            }
            #expect(try await accepted(signed(#"{"alg":"RS256","kid":"\#(key.id)"}"#)))
            let bad = [
                "", "x", "..", good + ".", good + "=", parts[0] + "." + parts[1], parts.joined(separator: ".") + " ",
                [parts[0], changed, parts[2]].joined(separator: "."), [parts[0], parts[1], ""].joined(separator: "."),
                try point.sign(claims).reveal(), try other.sign(claims).reveal(), mac(pem),
                mac(key.publicKey["n"]?.string ?? ""),
                text(#"{"alg":"none","kid":"\#(key.id)"}"#) { _ in [] },
                try signed(#"{"alg":"none","kid":"\#(key.id)"}"#),
                try signed(#"{"alg":"PS256","kid":"\#(key.id)"}"#),
                try signed(#"{"alg":"rs256","kid":"\#(key.id)"}"#),
                try signed(#"{"alg":"RS256"}"#),
                try signed(#"{"alg":"RS256","kid":"\#(other.id)"}"#),
                try signed(#"{"alg":"RS256","kid":"\#(point.id)"}"#),
                try signed(#"{"alg":"RS256","kid":"\#(key.id)","typ":"at+jwt"}"#),
                try signed(#"{"alg":"RS256","kid":"\#(key.id)","crit":["exp"]}"#),
                try signed(#"{"alg":"RS256","alg":"RS256","kid":"\#(key.id)"}"#),
                try key.sign(["sub": .string(String(repeating: "x", count: 8192))]).reveal(),
            ]
            for text in bad { #expect(try await !accepted(text), "\(text)") }

            // A removed key counts no more.
            try await issuer.office.database.psql("delete from federation.token_keys where id = '\(key.id)'")
            issuer.directory.tokenKeys.forget()
            #expect(try await !accepted(good))
        }
    }
}

/// Issues tokens of the applications `demo` and `shop` of an office.
private struct Issuer {
    let office: Office
    let directory: ApplicationDirectory
    let tokens: TokenIssuer
    private let masterKeys: MasterKeys

    static func lend(_ body: (Issuer) async throws -> Void) async throws {
        try await Office.lend { office in
            _ = try await office.administration.applications.create(
                json(#"{"application": "shop"}"#),
                by: Office.actor
            )
            let masterKeys = MasterKeys(current: try MasterKey(base64: Secret(Office.oldKey)))
            let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let directory = ApplicationDirectory(
                store: office.store,
                masterKeys: masterKeys,
                kinds: try .outOfReach(),
                clock: .system,
                random: .system,
                logger: silent
            )
            try await directory.refresh()
            let useCases = UseCases(
                store: office.store,
                directory: directory,
                masterKeys: masterKeys,
                limits: Limits(login: .seconds(60)),
                clock: .system,
                random: .system,
                observer: { _ in },
                logger: silent
            )
            try await body(
                Issuer(office: office, directory: directory, tokens: useCases.tokens, masterKeys: masterKeys)
            )
        }
    }

    func application(_ id: Substring) throws -> LoadedApplication { try directory.application(id: id) }

    func key(_ algorithm: TokenAlgorithm, of application: Substring = "demo") async throws -> TokenKey {
        try await directory.tokenKeys.signing(for: self.application(application).application.id, by: algorithm)
    }

    /// Decrypts a stored RSA key.
    func privateKey(_ id: String) async throws -> _RSA.Signing.PrivateKey {
        let stored = try #require(try await office.store.tokenKeys().first { $0.id == id })
        let place = MasterKey.Place.tokenKey(id: id, application: stored.application)
        let text = try #require(masterKeys.open(stored.secret, at: place)).reveal()
        return try _RSA.Signing.PrivateKey(derRepresentation: try #require(Base64URL.decode(text.utf8)))
    }
}
