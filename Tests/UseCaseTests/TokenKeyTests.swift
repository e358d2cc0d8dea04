@testable import Accounts
@testable import Applications
import Crypto
import Domain
import Encodings
import FoundationEssentials
@testable import Secrets
import Store
import Testing

@Suite("Keys of signed tokens")
struct TokenKeyTests {
    private static func key(_ id: String, age: Double, retired: Double? = nil) -> StoredTokenKey {
        StoredTokenKey(
            id: id,
            application: nil,
            secret: EncryptedSecret(bytes: [], keyID: "k"),
            publicKey: [:],
            created: 0,
            retired: retired.map { _ in 0 },
            age: age,
            retiredSince: retired
        )
    }

    @Test("the first key signs at once; a later one when the former has signed for ten minutes more")
    func signing() {
        func signs(_ keys: StoredTokenKey...) -> String? { TokenKeyRing.signing(among: keys)?.id }
        #expect(TokenKeyRing.signing(among: []) == nil)
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

    @Test("a stored key opens under its master key, in its own row, for its own application, and nowhere else")
    func storage() throws {
        let master = MasterKeys(
            current: try MasterKey(base64: Secret(Data(repeating: 1, count: 32).base64EncodedString()))
        )
        let other = MasterKeys(
            current: try MasterKey(base64: Secret(Data(repeating: 2, count: 32).base64EncodedString()))
        )
        let (demo, shop) = (try #require(ApplicationID("demo")), try #require(ApplicationID("shop")))
        let made = TokenKey().stored(for: demo, under: master)
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
        #expect(TokenKey(stored(TokenKey().id, of: demo), masterKeys: master) == nil)
        for application in [shop, nil] {
            #expect(TokenKey(stored(made.id, of: application), masterKeys: master) == nil)
        }
        #expect(made.id.utf8.count == 43)
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
        #expect(TokenKeyRing.signing(among: [common(4000), own])?.id == id)
        #expect(TokenKeyRing.signing(among: [common(4000), Self.key("own", age: 600)])?.id == "own")
        #expect(TokenKeyRing.published(among: [common(4259), own]).count == 2)
    }

    @Test("RFC 7638: the id is the thumbprint of the public key")
    func thumbprint() throws {
        let key = TokenKey()
        let (x, y) = (try #require(key.publicKey["x"]?.string), try #require(key.publicKey["y"]?.string))
        let text = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        #expect(key.id == Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8)))))
    }
}
