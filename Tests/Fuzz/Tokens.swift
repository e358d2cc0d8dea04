import Crypto
import CryptoExtras
import Domain
import Encodings
@testable import Facebook
import FoundationEssentials
import SignedTokens

extension FuzzTarget {
    /// The target of ID tokens: a token is accepted only with our key's signature and by the rules of decision D3.
    ///
    /// The first byte says what follows: `S` the claims of a token that our key signs; `H` its header and, after the
    /// first line break, its claims; `P` a position of two bytes and the bytes that overwrite a good token there; `K` a
    /// key of a key set that verifies the good token. Any other input is the text of a token.
    static let idToken = FuzzTarget("id-token") { input in
        let issuer = try issuer.get()
        let rest = input.dropFirst()
        switch input.first {
        case UInt8(ascii: "S"):
            return try judge(issuer.sign(header: Array(Issuer.header.utf8), claims: Array(rest)), by: issuer)
        case UInt8(ascii: "H"):
            let parts = rest.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { return false }
            return try judge(issuer.sign(header: Array(parts[0]), claims: Array(parts[1])), by: issuer)
        case UInt8(ascii: "P") where rest.count > 2:
            var forged = Array(issuer.good.utf8)
            let place = (Int(rest[1]) << 8 | Int(rest[2])) % forged.count
            for (offset, byte) in rest.dropFirst(2).enumerated() where place + offset < forged.count {
                forged[place + offset] = byte
            }
            let text = String(decoding: forged, as: UTF8.self)
            let isTaken = accept(text, by: issuer.key) != nil
            try promise("no other text than the signed one counts", isTaken == text.hasSameBytes(as: issuer.good))
            return isTaken
        case UInt8(ascii: "K"):
            guard let jwk = try? JSONParser.parse(Array(rest), limits: .reply).object,
                let key = SigningKey(jwk: jwk)
            else { return false }
            try promise("a key has a name", (1...255).contains(key.id.utf8.count))
            let isOurs = jwk["n"] == issuer.jwk["n"] && jwk["e"] == issuer.jwk["e"]
            try promise("no other key has signed the token", (accept(issuer.good, by: key) != nil) == isOurs)
            return true
        default:
            let text = String(decoding: input, as: UTF8.self)
            try promise("what nobody has signed does not count", accept(text, by: issuer.key) == nil)
            return false
        }
    }

    /// The target of signed requests.
    ///
    /// A signed request is accepted only with its app's HMAC, a user, and an age of at most a day, whatever else the
    /// payload says.
    static let signedRequest = FuzzTarget("signed-request") { input in
        let text = String(decoding: input, as: UTF8.self)
        // Only a text with the right HMAC passes the signature check; a fuzzer does not find one.
        try promise("what nobody has signed does not count", request(text) == nil)
        let payload = Base64URL.encode(input)
        let key = SymmetricKey(data: Array("ours".utf8))
        let code = HMAC<SHA256>.authenticationCode(for: Array(payload.utf8), using: key)
        guard let request = request(Base64URL.encode(Array(code)) + "." + payload) else { return false }
        let members = try? JSONParser.parse(input, limits: .request).object
        try promise("its algorithm is the one that is taken", members?["algorithm"] == .string("HMAC-SHA256"))
        try promise("it is of a day", (Issuer.now - 86_400...Issuer.now + 300).contains(request.issuedAt))
        let digits = request.subject.text.utf8
        try promise("it is about a person", !digits.isEmpty && digits.allSatisfy { (48...57).contains($0) })
        return true
    }

    private static func request(_ text: String) -> SignedRequest? {
        guard let app = ProviderAppID(Issuer.app) else { return nil }
        return try? SignedRequest(text, apps: [ProviderApp(id: app, secret: Secret("ours"))], now: Issuer.now)
    }

    /// Checks the promises for a token of ours.
    private static func judge(_ text: String?, by issuer: Issuer) throws -> Bool {
        guard let token = text.flatMap({ accept($0, by: issuer.key) }) else { return false }
        try promise("it is of an issuer that is taken", token.claims["iss"] == .string(Issuer.name))
        try promise("it is for our app", token.app.text == Issuer.app)
        try promise("it is not over", token.expiry > Issuer.now - 60 && token.end > Issuer.now - 60)
        try promise("it is issued, not too long ago", (Issuer.now - 3600...Issuer.now + 60).contains(token.issued))
        try promise("it is for the nonce of the request", token.claims["nonce"] == .string("n-0S6"))
        return true
    }

    private static func accept(_ text: String, by key: SigningKey) -> AcceptedIDToken? {
        let check = IDTokenCheck(
            provider: "Facebook",
            issuers: [Issuer.name],
            apps: [ProviderAppID(Issuer.app)].compactMap { $0 },
            noncePolicy: .clientMade,
            longestAge: 3600
        )
        guard let token = try? SignedToken(Secret(text)) else { return nil }
        return try? check.accept(token, signedBy: key, nonce: Secret("n-0S6"), now: Issuer.now)
    }

    private static let issuer = Result { try Issuer() }
}

/// An issuer of ID tokens, with a new key in every process.
private struct Issuer: Sendable {
    static let name = "https://www.facebook.com"
    static let app = "1234567890"
    static let now: Int64 = 1_795_000_000
    static let header = #"{"alg":"RS256","typ":"JWT","kid":"known"}"#

    private let secret: _RSA.Signing.PrivateKey
    let jwk: JSONObject
    let key: SigningKey
    /// A valid token.
    let good: String

    init() throws {
        secret = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let numbers = try secret.publicKey.getKeyPrimitives()
        jwk = [
            "kid": .string("known"), "kty": .string("RSA"), "n": .string(Base64URL.encode(Array(numbers.modulus))),
            "e": .string(Base64URL.encode(Array(numbers.publicExponent))),
        ]
        guard let key = SigningKey(jwk: jwk) else { throw BrokenPromise(description: "our key is none") }
        self.key = key
        let claims = #"""
            {"iss":"\#(Self.name)","aud":"\#(Self.app)","sub":"10150000000000001","iat":\#(Self.now - 10),\#
            "exp":\#(Self.now + 3590),"jti":"N7tA.bdaa","nonce":"n-0S6"}
            """#
        good = try Self.sign(header: Array(Self.header.utf8), claims: Array(claims.utf8), by: secret)
    }

    /// Returns the token; nil for claims that every check refuses, since signing is slow.
    func sign(header: [UInt8], claims: [UInt8]) throws -> String? {
        guard (try? JSONParser.parse(claims, limits: .stored)) != nil else { return nil }
        return try Self.sign(header: header, claims: claims, by: secret)
    }

    private static func sign(header: [UInt8], claims: [UInt8], by key: _RSA.Signing.PrivateKey) throws -> String {
        let signed = Base64URL.encode(header) + "." + Base64URL.encode(claims)
        let digest = SHA256.hash(data: Array(signed.utf8))
        let signature = try key.signature(for: digest, padding: .insecurePKCS1v1_5).rawRepresentation
        return signed + "." + Base64URL.encode(Array(signature))
    }
}
