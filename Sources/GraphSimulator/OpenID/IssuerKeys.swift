import Crypto
import Encodings

/// The keys of the simulated issuers.
///
/// Until its first rotation, an issuer has the key that all issuers of its algorithm share. For RSA these are the keys
/// of the simulated Facebook.
struct IssuerKeys: Sendable {
    private let shared = Kinds()
    private let unpublished = Kinds()
    /// The keys of issuers after a rotation, by the issuers' names.
    private var own: [String: IssuerKey] = [:]

    /// A key of each kind but RSA.
    private struct Kinds: Sendable {
        let p256 = IssuerKey(kid: "p256", secret: .p256(P256.Signing.PrivateKey()))
        let p384 = IssuerKey(kid: "p384", secret: .p384(P384.Signing.PrivateKey()))
        /// The key has no id, as at issuers that publish a single key.
        let ed25519 = IssuerKey(kid: nil, secret: .ed25519(Curve25519.Signing.PrivateKey()))

        func key(for algorithm: OpenIDAlgorithm, rsa: SigningKey) -> IssuerKey {
            switch algorithm {
            case .rs256, .ps256: IssuerKey(kid: rsa.kid, secret: .rsa(rsa))
            case .es256: p256
            case .es384: p384
            case .edDSA: ed25519
            }
        }
    }

    /// The published key set of an issuer: `{"keys": […]}`.
    func published(by issuer: OpenIDIssuer, rsa: KeyRing) -> JSON {
        var keys = [signing(for: issuer, rsa: rsa)]
        if case .rsa = keys[0].secret, own(of: issuer) == nil {
            keys.insert(shared.key(for: issuer.algorithm, rsa: rsa.older), at: 0)
        }
        return ["keys": .array(keys.map { $0.jwk(for: issuer.algorithm) } + issuer.extraKeys)]
    }

    /// The key by which an issuer signs.
    func signing(for issuer: OpenIDIssuer, rsa: KeyRing) -> IssuerKey {
        own(of: issuer) ?? shared.key(for: issuer.algorithm, rsa: rsa.newer)
    }

    /// A key that no issuer publishes, with the id of the key by which an issuer signs.
    func unpublished(for issuer: OpenIDIssuer, rsa: KeyRing) -> IssuerKey {
        let key = unpublished.key(for: issuer.algorithm, rsa: rsa.unpublished)
        return IssuerKey(kid: signing(for: issuer, rsa: rsa).kid, secret: key.secret)
    }

    /// Replaces all published keys of an issuer by one.
    mutating func rotate(_ issuer: String, to key: IssuerKey) {
        own[issuer] = key
    }

    private func own(of issuer: OpenIDIssuer) -> IssuerKey? {
        own[issuer.name].flatMap { $0.fits(issuer.algorithm) ? $0 : nil }
    }
}

extension IssuerKey {
    /// Returns a signed JWT.
    ///
    /// `more` is merged into the header: `null` removes a member.
    func token(_ claims: JSON, header more: JSON = [:], by algorithm: OpenIDAlgorithm) throws(DataError) -> String {
        var header: JSON = ["alg": .string(algorithm.rawValue), "typ": "JWT"]
        header["kid"] = kid.map { .string($0) }
        let text = [header.merging(more), claims].map { Base64URL.encode(Array($0.plainText.utf8)) }
            .joined(separator: ".")
        do {
            return "\(text).\(Base64URL.encode(try signature(of: Array(text.utf8), by: algorithm)))"
        } catch {
            throw DataError(path: "", reason: "the token cannot be signed")
        }
    }
}
