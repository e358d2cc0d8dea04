import TestSupport

@testable import WebAuthn

/// COSE keys in registrations, with the verdict on each.
enum PublicKeyCases {
    /// The generator of P-256, which serves as any valid point.
    static let x: [UInt8] = [
        0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2, 0x77, 0x03,
        0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96,
    ]
    static let y: [UInt8] = [
        0x4F, 0xE3, 0x42, 0xE2, 0xFE, 0x1A, 0x7F, 0x9B, 0x8E, 0xE7, 0xEB, 0x4A, 0x7C, 0x0F, 0x9E, 0x16, 0x2B, 0xCE,
        0x33, 0x57, 0x6B, 0x31, 0x5E, 0xCE, 0xCB, 0xB6, 0x40, 0x68, 0x37, 0xBF, 0x51, 0xF5,
    ]

    static let rows: [RegistrationCases.Row] = [
        key("a key", nil, ec()),
        key("a key's members in another order", nil, [0xA5] + [0x22] + bytes(y) + [0x21] + bytes(x) + ecHead),
        key("a key with a member twice", .unsupportedKey, [0xA5] + ecHead + [0x21] + bytes(x) + [0x21] + bytes(x)),
        key("a key with a member too many", .unsupportedKey, [0xA6] + ec()[1...] + [0x04, 0x01]),
        key("a key with another member", .unsupportedKey, [0xA5] + ecHead + [0x21] + bytes(x) + [0x23] + bytes(y)),
        key(
            "a key with a text for a label",
            .unsupportedKey,
            [0xA5] + ecHead + [0x21] + bytes(x) + [0x61, 0x79] + bytes(y)
        ),
        key("a key with a label in a longer form", .unsupportedKey, [0xA5, 0x18] + ec()[1...]),
        key("a key without end", .unsupportedKey, [0xBF] + ec()[1...] + [0xFF]),
        key("a key that is an array", .unsupportedKey, [0x85] + ec()[1...]),
        key("a point off the curve", .unsupportedKey, ec(y: changed(y))),
        key("the point 0, 0", .unsupportedKey, ec(x: zeros(32), y: zeros(32))),
        key("a compressed point", .unsupportedKey, [0xA5] + ecHead + [0x21] + bytes(x) + [0x22, 0xF5]),
        key("a coordinate that is too short", .unsupportedKey, ec(x: Array(x.dropLast()))),
        key("a coordinate that is too long", .unsupportedKey, ec(x: [0] + x)),
        key(
            "a coordinate that is a text",
            .unsupportedKey,
            [0xA5] + ecHead + [0x21, 0x78, 0x20] + zeros(32) + [0x22] + bytes(y)
        ),
        key(
            "ES256 on another curve",
            .unsupportedKey,
            [0xA5, 1, 2, 3, 0x26, 0x20, 2, 0x21] + bytes(x) + [0x22] + bytes(y)
        ),
        key(
            "ES384",
            .unsupportedKey,
            [0xA5, 1, 2, 3, 0x38, 0x22, 0x20, 2, 0x21] + bytes(zeros(48)) + [0x22] + bytes(zeros(48))
        ),
        key("ES256K", .unsupportedKey, [0xA5, 1, 2, 3, 0x38, 0x2E, 0x20, 8, 0x21] + bytes(x) + [0x22] + bytes(y)),
        key(
            "ES256 with an RSA key",
            .unsupportedKey,
            [0xA4, 1, 3, 3, 0x26, 0x20] + bytes(modulus()) + [0x21] + bytes([1, 0, 1])
        ),
        key("the algorithm none", .unsupportedKey, [0xA4, 1, 2, 0x20, 1, 0x21] + bytes(x) + [0x22] + bytes(y)),
        key("the algorithm 0", .unsupportedKey, [0xA5, 1, 2, 3, 0, 0x20, 1, 0x21] + bytes(x) + [0x22] + bytes(y)),
        key(
            "an algorithm of 64 bits",
            .unsupportedKey,
            [0xA5, 1, 2, 3, 0x3B] + Array(repeating: 0xFF, count: 8) + ec()[5...]
        ),
        key("Ed25519", nil, ed(x)),
        key("EdDSA with 31 bytes", .unsupportedKey, [0xA4, 1, 1, 3, 0x27, 0x20, 6, 0x21] + bytes(Array(x.dropLast()))),
        key("EdDSA with X25519", .unsupportedKey, [0xA4, 1, 1, 3, 0x27, 0x20, 4, 0x21] + bytes(x)),
        key("EdDSA with Ed448", .unsupportedKey, [0xA4, 1, 1, 3, 0x27, 0x20, 7, 0x21] + bytes(zeros(57))),
        key(
            "Ed25519 with words for numbers",
            .unsupportedKey,
            [0xA3, 1, 0x63] + Array("OKP".utf8) + [3, 0x27, 0x20, 0x67] + Array("Ed25519".utf8) + [0x21] + bytes(x)
        ),
        key("RSA of 2048 bits", nil, rsa(modulus())),
        key("RSA of 4096 bits", nil, rsa(modulus(512))),
        key("RSA of 4104 bits", .unsupportedKey, rsa(modulus(513))),
        key("RSA of 2047 bits", .unsupportedKey, rsa([0x45] + modulus().dropFirst())),
        key("RSA of 1024 bits", .unsupportedKey, rsa(modulus(128))),
        key("RSA with a leading zero", .unsupportedKey, rsa([0] + modulus())),
        key("RSA with an even modulus", .unsupportedKey, rsa(modulus().dropLast() + [0xC4])),
        key("RSA with the exponent 1", .unsupportedKey, rsa(modulus(), [1])),
        key("RSA with the exponent 3", .unsupportedKey, rsa(modulus(), [3])),
        key("RSA with an even exponent", .unsupportedKey, rsa(modulus(), [1, 0, 0])),
        key("RSA with an exponent of 32 bits", nil, rsa(modulus(), [0x80, 0, 0, 1])),
        key("RSA with an exponent of 40 bits", .unsupportedKey, rsa(modulus(), [1, 0, 0, 0, 1])),
        key("RSA with an exponent with a leading zero", .unsupportedKey, rsa(modulus(), [0, 1, 0, 1])),
        key(
            "RS1",
            .unsupportedKey,
            [0xA4, 1, 3, 3, 0x39, 0xFF, 0xFE, 0x20] + bytes(modulus()) + [0x21] + bytes([1, 0, 1])
        ),
        key(
            "PS256",
            .unsupportedKey,
            [0xA4, 1, 3, 3, 0x38, 0x24, 0x20] + bytes(modulus()) + [0x21] + bytes([1, 0, 1])
        ),
        key(
            "RS256 with a point",
            .unsupportedKey,
            [0xA5, 1, 2, 3, 0x39, 1, 0, 0x20, 1, 0x21] + bytes(x) + [0x22] + bytes(y)
        ),
        key("RSA with a member too many", .unsupportedKey, [0xA5] + rsa(modulus())[1...] + [0x04, 0x01]),
        key("RSA with a member twice", .unsupportedKey, [0xA5] + rsa(modulus())[1...] + [0x20] + bytes(modulus())),
        key("EdDSA with a member too many", .unsupportedKey, [0xA5] + ed(x)[1...] + [0x04, 0x01]),
        key("no key", .unsupportedKey, []),
        key("an empty key", .unsupportedKey, [0xA0]),
        key("a point without COSE", .unsupportedKey, [0x04] + x + y),
    ]

    private static let ecHead: [UInt8] = [0x01, 0x02, 0x03, 0x26, 0x20, 0x01]

    private static func key(_ name: String, _ expected: CeremonyError?, _ bytes: [UInt8]) -> RegistrationCases.Row {
        (name, expected, { $0.data.publicKey = bytes })
    }

    private static func ec(x: [UInt8] = x, y: [UInt8] = y) -> [UInt8] {
        SoftAuthenticator.Key.cose(x: x, y: y)
    }

    private static func ed(_ x: [UInt8]) -> [UInt8] { [0xA4, 1, 1, 3, 0x27, 0x20, 6, 0x21] + bytes(x) }

    private static func rsa(_ modulus: [UInt8], _ exponent: [UInt8] = [1, 0, 1]) -> [UInt8] {
        SoftAuthenticator.Key.cose(modulus: modulus, exponent: exponent)
    }

    /// Returns an odd number of that many bytes, with its first bit set.
    private static func modulus(_ count: Int = 256) -> [UInt8] { [UInt8](repeating: 0xC5, count: count) }

    private static func bytes(_ value: [UInt8]) -> [UInt8] { CBORText.bytes(value) }

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

    private static func changed(_ bytes: [UInt8]) -> [UInt8] { bytes.dropLast() + [bytes[bytes.count - 1] ^ 1] }
}
