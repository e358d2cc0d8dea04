import Crypto
import CryptoExtras
import Curl
import Domain
import Encodings
import FoundationEssentials
import Postgres
import Store

/// The prepared login with one ID token.
struct FloorIDLogin: Sendable {
    private let signed: [UInt8]
    private let signature: _RSA.Signing.RSASignature
    private let statement: Statement
    private let fresh: FreshValues

    /// Prepares everything except the verification and the write.
    init(token: String, plan: FloorPlan) throws {
        let parts = token.split(separator: ".")
        let claims = try Self.object(parts, 1)
        guard let subject = claims["sub"]?.string, let signature = parts.last.flatMap({ Base64URL.decode($0.utf8) })
        else {
            throw MissingSetting(name: "an ID token")
        }
        signed = Array(parts.dropLast().joined(separator: ".").utf8)
        self.signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        let number = Int(subject).map { $0 - 10_000_000_000_000_000 } ?? 0
        let profile = try JSONParser.parse(People.profile(number), limits: .reply).object ?? JSONObject()
        let once = SingleUse(
            hash: [UInt8](repeating: 0, count: 32),
            issuedAt: StoreMoment(seconds: Int64(Date().timeIntervalSince1970)),
            seconds: 7200,
            owner: (0..<32).map { _ in UInt8.random(in: .min ... .max) },
            nonceHash: nil
        )
        let write = try plan.write(subject: subject, profile: profile, listsScopes: false, once: once)
        statement = plan.statement.filled(with: write)
        fresh = try FreshValues(of: plan.statement)
    }

    /// Returns whether the key has signed the token: the only verification.
    func isSigned(by key: _RSA.Signing.PublicKey) -> Bool {
        key.isValidSignature(signature, for: SHA256.hash(data: signed), padding: .insecurePKCS1v1_5)
    }

    /// Returns the write of the service, with a new session and a new credential hash.
    func statement(run: Int64, number: Int) -> Statement {
        statement.asLogin(run: run, number: number, fresh)
    }

    /// Fetches the published key that has signed the tokens.
    static func key(
        of setting: Setting,
        for tokens: [String],
        curl: CurlClient
    ) async throws -> _RSA.Signing.PublicKey {
        let reply = try await curl.send(
            try HTTPRequest(
                url: try HTTPURL(setting.keysURL),
                timeout: .seconds(5),
                connectTimeout: .seconds(1),
                maxReplyBytes: 262_144
            )
        )
        let keys = try JSONParser.parse(reply.body, limits: .reply).object?["keys"]?.array ?? []
        let kid = try object(tokens.first?.split(separator: ".") ?? [], 0)["kid"]
        guard let jwk = keys.compactMap(\.object).first(where: { $0["kid"] == kid }),
            let modulus = jwk["n"]?.string.flatMap({ Base64URL.decode($0.utf8) }),
            let exponent = jwk["e"]?.string.flatMap({ Base64URL.decode($0.utf8) })
        else { throw MissingSetting(name: "the key of the ID tokens") }
        return try _RSA.Signing.PublicKey(n: modulus, e: exponent)
    }

    /// Decodes the JSON object in a part of a token.
    private static func object(_ parts: [Substring], _ index: Int) throws -> JSONObject {
        guard parts.count == 3, let bytes = Base64URL.decode(parts[index].utf8),
            let object = try JSONParser.parse(bytes, limits: .reply).object
        else { throw MissingSetting(name: "an ID token") }
        return object
    }
}

/// An error for a token of the benchmark that the published key has not signed.
struct WrongSignature: Error {}
