import Crypto
import CryptoExtras
import Domain
import Encodings
import FoundationEssentials
@testable import SignedTokens
import Testing

/// A key pair of an algorithm, which signs tokens.
private struct Pair: Sendable {
    let algorithm: SignatureAlgorithm
    let jwk: JSONObject
    let sign: @Sendable ([UInt8]) throws -> [UInt8]

    static func make(_ algorithm: SignatureAlgorithm) throws -> Pair {
        func text(_ bytes: some Sequence<UInt8>) -> JSONValue { .string(Base64URL.encode(Array(bytes))) }
        switch algorithm {
        case .rs256, .ps256:
            let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
            let parts = try key.publicKey.getKeyPrimitives()
            return Pair(
                algorithm: algorithm,
                jwk: ["kty": .string("RSA"), "n": text(parts.modulus), "e": text(parts.publicExponent)]
            ) { bytes in
                let padding: _RSA.Signing.Padding = algorithm == .ps256 ? .PSS : .insecurePKCS1v1_5
                return Array(try key.signature(for: SHA256.hash(data: bytes), padding: padding).rawRepresentation)
            }
        case .es256:
            let key = P256.Signing.PrivateKey()
            let point = Array(key.publicKey.x963Representation.dropFirst())
            return Pair(
                algorithm: algorithm,
                jwk: [
                    "kty": .string("EC"), "crv": .string("P-256"), "x": text(point.prefix(32)),
                    "y": text(point.suffix(32)),
                ]
            ) { Array(try key.signature(for: SHA256.hash(data: $0)).rawRepresentation) }
        case .es384:
            let key = P384.Signing.PrivateKey()
            let point = Array(key.publicKey.x963Representation.dropFirst())
            return Pair(
                algorithm: algorithm,
                jwk: [
                    "kty": .string("EC"), "crv": .string("P-384"), "x": text(point.prefix(48)),
                    "y": text(point.suffix(48)),
                ]
            ) { Array(try key.signature(for: SHA384.hash(data: $0)).rawRepresentation) }
        case .edDSA:
            let key = Curve25519.Signing.PrivateKey()
            return Pair(
                algorithm: algorithm,
                jwk: [
                    "kty": .string("OKP"), "crv": .string("Ed25519"), "x": text(key.publicKey.rawRepresentation),
                ]
            ) { Array(try key.signature(for: $0)) }
        }
    }

    /// A token of this key, whose header names an algorithm.
    func token(naming name: SignatureAlgorithm? = nil, kid: String? = nil) throws -> String {
        var header: JSONObject = ["alg": .string((name ?? algorithm).rawValue)]
        if let kid { header.append("kid", .string(kid)) }
        let parts = [JSONValue.object(header), .object(["sub": .string("1")])].map {
            Base64URL.encode(Array($0.text.utf8))
        }
        let signed = parts.joined(separator: ".")
        return try "\(signed).\(Base64URL.encode(sign(Array(signed.utf8))))"
    }

    func key(_ changes: [String: JSONValue?] = [:]) throws -> SigningKey {
        try #require(SigningKey(jwk: jwk.with(changes)))
    }
}

@Suite("Algorithms of signatures")
struct SignatureAlgorithmTests {
    private func isAccepted(_ text: String, _ key: SigningKey, by algorithms: [SignatureAlgorithm]) -> Bool {
        guard let token = try? SignedToken(Secret(text), by: algorithms, namingKey: false) else { return false }
        return (try? token.claims(signedBy: key))?["sub"]?.string == "1"
    }

    @Test(
        "each algorithm verifies its own signatures, and none that was changed",
        arguments: SignatureAlgorithm.allCases
    )
    func own(_ algorithm: SignatureAlgorithm) throws {
        let (pair, other) = (try Pair.make(algorithm), try Pair.make(algorithm))
        let text = try pair.token()
        #expect(isAccepted(text, try pair.key(), by: [algorithm]))
        #expect(
            isAccepted(
                text,
                try pair.key(["alg": .string(algorithm.rawValue), "use": .string("sig")]),
                by: [algorithm]
            )
        )
        #expect(!isAccepted(text, try other.key(), by: [algorithm]))
        #expect(!isAccepted(text, try pair.key(), by: SignatureAlgorithm.allCases.filter { $0 != algorithm }))
        #expect(!isAccepted(String(text.dropLast(4)) + "AAAA", try pair.key(), by: [algorithm]))
        #expect(!isAccepted(String(text.dropLast(8)), try pair.key(), by: [algorithm]))
    }

    @Test("T-20, T-21: the name in a header makes no key fit another algorithm")
    func confusion() throws {
        for algorithm in SignatureAlgorithm.allCases {
            let pair = try Pair.make(algorithm)
            for name in SignatureAlgorithm.allCases where name != algorithm {
                let text = try pair.token(naming: name)
                #expect(!isAccepted(text, try pair.key(), by: SignatureAlgorithm.allCases), "\(algorithm) as \(name)")
            }
        }
        let rsa = try Pair.make(.rs256)
        #expect(!isAccepted(try rsa.token(), try rsa.key(["alg": .string("PS256")]), by: [.rs256, .ps256]))
        #expect(SigningKey(jwk: try Pair.make(.es256).jwk.with(["alg": .string("RS256")])) == nil)
        #expect(SigningKey(jwk: try Pair.make(.es256).jwk.with(["crv": .string("P-384")])) == nil)
        #expect(SigningKey(jwk: try Pair.make(.es256).jwk.with(["crv": .string("secp256k1")])) == nil)
        #expect(SigningKey(jwk: try Pair.make(.es256).jwk.with(["x": .string("AAAA")])) == nil)
        let zero = JSONValue.string(Base64URL.encode([UInt8](repeating: 0, count: 32)))
        #expect(
            SigningKey(jwk: try Pair.make(.es256).jwk.with(["x": zero, "y": zero])) == nil,
            "no point of the curve"
        )
    }

    @Test("only an issuer with a single key may leave its name out")
    func nameless() throws {
        let (first, second) = (try Pair.make(.edDSA), try Pair.make(.edDSA))
        #expect(throws: Failure.self) { try SignedToken(Secret(try first.token()), by: [.edDSA]) }
        var cache = SigningKeyCache()
        let now = ContinuousClock.now
        guard case .fetch = cache.key("", at: now) else { Issue.record("no fetch"); return }
        cache.fetched([try first.key()], at: now)
        guard case .key = cache.key("", at: now) else { Issue.record("not the only key"); return }
        cache = SigningKeyCache()
        _ = cache.key("", at: now)
        cache.fetched([try first.key(), try second.key(["kid": .string("2")])], at: now)
        guard case .unknown = cache.key("", at: now) else { Issue.record("one of two"); return }
    }
}
