import Crypto
import CryptoExtras

/// The signature algorithms offered to authenticators, by their COSE numbers.
package enum SignatureAlgorithm: Int64, Sendable, CaseIterable {
    /// ECDSA on P-256 with SHA-256.
    case es256 = -7
    /// Ed25519.
    case edDSA = -8
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = -257
}

/// The public key of a passkey, read from a COSE key (docs/protocols/webauthn.md §5).
package struct CredentialPublicKey: Sendable {
    package let algorithm: SignatureAlgorithm
    /// The COSE key in CTAP2's canonical form, even if its members were received in another order.
    package let bytes: [UInt8]
    private let key: Key

    private enum Key: Sendable {
        case es256(P256.Signing.PublicKey)
        case edDSA(Curve25519.Signing.PublicKey)
        case rs256(_RSA.Signing.PublicKey)
    }

    /// Parses a COSE key, which must fill all of the bytes.
    package init(_ bytes: [UInt8]) throws(CeremonyError) {
        var reader = CBORReader(bytes[...])
        let members: COSEMembers
        do {
            members = try COSEMembers(&reader)
        } catch {
            throw .unsupportedKey
        }
        guard reader.isAtEnd, let key = Self(members) else { throw .unsupportedKey }
        self = key
    }

    /// Creates a public key from the members of a COSE key.
    ///
    /// Nil unless the members are exactly those of a supported algorithm (WebAuthn 6.5.1.1).
    init?(_ members: COSEMembers) {
        guard let algorithm = members.integer(COSEMembers.algorithm).flatMap(SignatureAlgorithm.init(rawValue:))
        else { return nil }
        let made: (Key, [UInt8])? =
            switch algorithm {
            case .es256: Self.es256(members)
            case .edDSA: Self.edDSA(members)
            case .rs256: Self.rs256(members)
            }
        guard let (key, bytes) = made else { return nil }
        self.algorithm = algorithm
        self.key = key
        self.bytes = bytes
    }

    /// Returns whether this key made the signature.
    func hasSigned(_ message: [UInt8], signature: [UInt8]) -> Bool {
        switch key {
        case .es256(let key):
            guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: message)
        case .edDSA(let key): return key.isValidSignature(signature, for: message)
        case .rs256(let key):
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return key.isValidSignature(signature, for: SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
        }
    }

    /// Creates a key of type EC2 on curve P-256, with both coordinates; checks that the point is on the curve.
    private static func es256(_ members: COSEMembers) -> (Key, [UInt8])? {
        guard members.count == 5, members.integer(COSEMembers.keyType) == 2, members.integer(-1) == 1,
            let x = members.bytes(-2), x.count == 32, let y = members.bytes(-3), y.count == 32,
            let key = try? P256.Signing.PublicKey(x963Representation: [0x04] + x + y)
        else { return nil }
        let bytes: [UInt8] = [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20] + x + [0x22, 0x58, 0x20] + y
        return (.es256(key), bytes)
    }

    /// Creates a key of type OKP on curve Ed25519.
    private static func edDSA(_ members: COSEMembers) -> (Key, [UInt8])? {
        guard members.count == 4, members.integer(COSEMembers.keyType) == 1, members.integer(-1) == 6,
            let x = members.bytes(-2), x.count == 32,
            let key = try? Curve25519.Signing.PublicKey(rawRepresentation: x)
        else { return nil }
        return (.edDSA(key), [0xA4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20] + x)
    }

    /// Creates a key of type RSA (RFC 8230).
    ///
    /// The modulus has 2048 to 4096 bits; the exponent is odd, at least 65537, and at most 32 bits long. Both have no
    /// leading zeros.
    private static func rs256(_ members: COSEMembers) -> (Key, [UInt8])? {
        guard members.count == 4, members.integer(COSEMembers.keyType) == 3,
            let modulus = members.bytes(-1), (256...512).contains(modulus.count), let first = modulus.first,
            first >= 0x80 || modulus.count > 256 && first > 0, modulus.last.map({ $0 & 1 == 1 }) ?? false,
            let exponent = members.bytes(-2), (3...4).contains(exponent.count), exponent.first != 0,
            exponent.last.map({ $0 & 1 == 1 }) ?? false,
            let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent)
        else { return nil }
        let length = [UInt8(modulus.count >> 8), UInt8(modulus.count & 0xFF)]
        let head: [UInt8] = [0xA4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20, 0x59] + length
        return (.rs256(key), head + modulus + [0x21, 0x40 | UInt8(exponent.count)] + exponent)
    }
}

/// The members of a COSE key: a map of at most five members, whose labels are integers, and whose values are integers
/// or byte strings.
///
/// CTAP2 requires an order of the members; this parser accepts any order, as other relying parties do. It does not
/// detect duplicate members. But `CredentialPublicKey` requires each member of the key's algorithm and no further
/// member, which excludes duplicates.
struct COSEMembers {
    static let keyType: Int64 = 1
    static let algorithm: Int64 = 3

    private enum Value {
        case integer(Int64)
        case bytes(ArraySlice<UInt8>)
    }

    private var members: [(label: Int64, value: Value)] = []

    init(_ reader: inout CBORReader) throws(CBORError) {
        let count = try reader.map()
        guard count <= 5 else { throw CBORError() }
        for _ in 0..<count {
            let label = try reader.integer()
            let value: Value = reader.isAtInteger ? .integer(try reader.integer()) : .bytes(try reader.bytes())
            members.append((label, value))
        }
    }

    var count: Int { members.count }

    func integer(_ label: Int64) -> Int64? {
        guard case .integer(let value) = self[label] else { return nil }
        return value
    }

    func bytes(_ label: Int64) -> ArraySlice<UInt8>? {
        guard case .bytes(let value) = self[label] else { return nil }
        return value
    }

    private subscript(label: Int64) -> Value? {
        members.first { $0.label == label }?.value
    }
}
