import Crypto
import CryptoExtras
import Foundation
import GraphSimulator
import Testing

/// A JWT, parsed by other code than the code that made it.
struct JWT {
    let header: String
    let claims: String
    let signature: Data
    private let signed: String

    init(_ token: String) throws {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        try #require(parts.count == 3)
        header = String(decoding: try #require(Self.decoded(parts[0])), as: UTF8.self)
        claims = String(decoding: try #require(Self.decoded(parts[1])), as: UTF8.self)
        signature = try #require(Self.decoded(parts[2]))
        signed = parts[0] + "." + parts[1]
    }

    func claim(_ name: String) throws -> GraphSimulator.JSON? {
        try GraphSimulator.JSON(parsing: claims.utf8)[name]
    }

    var kid: String? {
        get throws { try GraphSimulator.JSON(parsing: header.utf8)["kid"]?.string }
    }

    /// Returns whether the key that the header names in the simulator's JWKS has signed the token.
    func isSigned(
        by simulator: GraphSimulator,
        padding: _RSA.Signing.Padding = .insecurePKCS1v1_5
    ) async throws -> Bool {
        let keys = try await Self.keys(of: simulator)
        let kid = try kid
        guard let key = keys.first(where: { $0["kid"]?.string == kid }) else { return false }
        return isSigned(by: try Self.publicKey(key), SHA256.hash(data: Data(signed.utf8)), padding)
    }

    func isSigned(by key: _RSA.Signing.PublicKey, _ digest: some Digest, _ padding: _RSA.Signing.Padding) -> Bool {
        key.isValidSignature(_RSA.Signing.RSASignature(rawRepresentation: signature), for: digest, padding: padding)
    }

    func isAuthenticated(with secret: some ContiguousBytes) -> Bool {
        let key = SymmetricKey(data: secret)
        return HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: Data(signed.utf8), using: key)
    }

    /// The signed part of the token.
    var text: Data { Data(signed.utf8) }

    static func keys(of simulator: GraphSimulator) async throws -> [GraphSimulator.JSON] {
        let reply = try await Wire.get(simulator, "/.well-known/oauth/openid/jwks/")
        return try #require(try GraphSimulator.JSON(parsing: reply.body)["keys"]?.array)
    }

    static func publicKey(_ jwk: GraphSimulator.JSON) throws -> _RSA.Signing.PublicKey {
        let n = try #require(jwk["n"]?.string.flatMap(decoded))
        let e = try #require(jwk["e"]?.string.flatMap(decoded))
        return try _RSA.Signing.PublicKey(n: n, e: e)
    }

    static func decoded(_ text: String) -> Data? {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Data(base64Encoded: text.replacing("-", with: "+").replacing("_", with: "/") + padding)
    }
}
