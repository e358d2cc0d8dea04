import Crypto
import CryptoExtras
import Domain
import Encodings
import FoundationEssentials
@testable import SignedTokens

/// A key pair of an issuer such as Facebook, made for these tests.
struct Signer {
    let kid: String
    let key: _RSA.Signing.PrivateKey

    /// A signer whose key the verification knows; making the key takes some 100 ms.
    static let known = Result { Signer(kid: "known", key: try _RSA.Signing.PrivateKey(keySize: .bits2048)) }
    /// A signer whose key the verification does not know.
    static let stranger = Result { Signer(kid: "stranger", key: try _RSA.Signing.PrivateKey(keySize: .bits2048)) }

    /// The public key as an entry of the key set.
    var jwk: JSONObject {
        get throws {
            let numbers = try key.publicKey.getKeyPrimitives()
            return [
                "kid": .string(kid), "kty": .string("RSA"), "alg": .string("RS256"), "use": .string("sig"),
                "n": .string(Base64URL.encode(Array(numbers.modulus))),
                "e": .string(Base64URL.encode(Array(numbers.publicExponent))),
            ]
        }
    }

    func sign(_ text: String) throws -> [UInt8] {
        let digest = SHA256.hash(data: Array(text.utf8))
        return Array(try key.signature(for: digest, padding: .insecurePKCS1v1_5).rawRepresentation)
    }
}

/// A draft of an ID token, valid unless a test changes it.
struct Sample {
    static let now: Int64 = 1_795_000_000
    static let app = "1234567890"
    static let subject = "10150000000000001"

    var header: JSONObject = ["alg": .string("RS256"), "typ": .string("JWT"), "kid": .string("known")]
    var claims: JSONObject = [
        "iss": .string("https://www.facebook.com"), "aud": .string(app), "sub": .string(subject),
        "iat": .integer(now - 10), "exp": .integer(now + 3590), "jti": .string("N7tA.bdaa"), "nonce": .string("n-0S6"),
    ]
    /// The text of the header, where the JSON writer cannot write it; `claimsText` is the same for the claims.
    var headerText: String?
    var claimsText: String?
    var signer = Signer.known

    /// The signed text, `header.claims`.
    var signed: String {
        func part(_ text: String?, _ object: JSONObject) -> String {
            Base64URL.encode(Array((text ?? JSONValue.object(object).text).utf8))
        }
        return part(headerText, header) + "." + part(claimsText, claims)
    }

    var text: String {
        get throws { signed + "." + Base64URL.encode(try signer.get().sign(signed)) }
    }
}

extension JSONObject {
    /// Returns the object with members replaced, added and, for the value nil, removed.
    func with(_ changes: [String: JSONValue?]) -> JSONObject {
        var members = self.members.compactMap { member in
            guard let change = changes[member.key] else { return Optional(member) }
            return change.map { JSONObject.Member(member.key, $0) }
        }
        for (key, value) in changes where self[key] == nil {
            if let value { members.append(JSONObject.Member(key, value)) }
        }
        return JSONObject(members)
    }
}

/// Returns the verdict on a token by rules that a test may change.
func judge(
    _ text: String,
    nonce: String? = nil,
    apps: [String] = [Sample.app],
    policy: NoncePolicy = .clientMade,
    longestAge: Int64 = 3600,
    now: Int64 = Sample.now
) throws -> Verdict {
    let check = IDTokenCheck(
        provider: "Facebook",
        issuers: ["https://www.facebook.com", "https://facebook.com"],
        apps: apps.compactMap(ProviderAppID.init),
        noncePolicy: policy,
        longestAge: longestAge
    )
    do throws(Failure) {
        let token = try SignedToken(Secret(text))
        guard let key = try? SigningKey(jwk: Signer.known.get().jwk) else { return .noKey }
        return .accepted(try check.accept(token, signedBy: key, nonce: nonce.map(Secret.init), now: now))
    } catch {
        return .refused(error)
    }
}

enum Verdict {
    case accepted(AcceptedIDToken)
    case refused(Failure)
    case noKey

    var accepted: AcceptedIDToken? {
        guard case .accepted(let token) = self else { return nil }
        return token
    }

    /// The reason of a refusal and the number of the check that refused.
    var word: String {
        switch self {
        case .accepted: return "accepted"
        case .noKey: return "no key"
        case .refused(let failure):
            let check = failure.cause?.split(separator: ":").first?.split(separator: " ").last ?? "?"
            return "\(failure.reason.rawValue) \(check)"
        }
    }
}
