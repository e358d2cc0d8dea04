import TestSupport

@testable import WebAuthn

extension RegistrationCases {
    /// Attestation objects with changes around the authenticator data.
    static let objects: [Row] = [
        (
            "attestation that is not asked for", nil,
            { draft in
                draft.format = "packed"
                draft.statement = map([("alg", [0x26]), ("sig", CBORText.bytes([1, 2, 3]))])
            }
        ),
        (
            "attestation of an unknown format", nil,
            { draft in
                draft.format = "another"
                draft.statement = map([
                    ("ver", CBORText.text("2.0")), ("x", [0xF5]), ("y", [0xFB] + Array(repeating: 0, count: 8)),
                ])
            }
        ),
        (
            "attestation without format, and a statement", .malformedAttestation,
            {
                $0.statement = map([("alg", [0x26])])
            }
        ),
        ("attestation without format, and a list for a statement", .malformedAttestation, { $0.statement = [0x80] }),
        ("a statement as deep as may be", nil, nested(6)),
        ("a statement that is too deep", .malformedAttestation, nested(7)),
        ("a statement that is very deep", .malformedAttestation, nested(4000)),
        ("a statement with a tag", .malformedAttestation, other([0xC0, 0x60])),
        ("a statement without end", .malformedAttestation, other([0xBF, 0xFF])),
        ("a statement with a text without end", .malformedAttestation, other([0x7F, 0x61, 0x61, 0xFF])),
        ("a statement that is no UTF-8", .malformedAttestation, other([0x62, 0xC3, 0x28])),
        ("a statement with a number in a longer form", .malformedAttestation, other([0x18, 0x17])),
        ("a statement with a length in a longer form", .malformedAttestation, other([0x58, 0x01, 0x00])),
        ("a statement with a huge length", .malformedAttestation, other([0x5B] + Array(repeating: 0xFF, count: 8))),
        ("a statement with a length beyond the end", .malformedAttestation, other([0x5A, 0x7F, 0xFF, 0xFF, 0xFF])),
        (
            "a statement with a huge list", .malformedAttestation,
            other([0x9B, 0x7F] + Array(repeating: 0xFF, count: 7))
        ),
        ("a statement with a huge map", .malformedAttestation, other([0xBB] + Array(repeating: 0xFF, count: 8))),
        ("a statement with a reserved length", .malformedAttestation, other([0x1C])),
        ("a statement with a reserved simple value", .malformedAttestation, other([0xF8, 0x20])),
        ("a statement with a break", .malformedAttestation, other([0xFF])),
        ("a format that is no UTF-8", .malformedAttestation, rewriting { $0[..<6] + [0xFF] + $0[7...] }),
        ("a format that is a number", .malformedAttestation, rewriting { Array($0[..<5]) + [0x01] + $0[10...] }),
        (
            "members in another order", nil,
            { draft in
                draft.rewrite = { object in
                    // `fmt` and `attStmt` have 9 bytes each; the authenticator data follow.
                    [0xA3] + object[19...] + object[1..<10] + object[10..<19]
                }
            }
        ),
        ("a member twice", .malformedAttestation, rewriting { [0xA3] + $0[1..<10] + $0[1..<10] + $0[19...] }),
        ("a member too many", .malformedAttestation, rewriting { [0xA4] + $0[1...] + [0x61, 0x78, 0x00] }),
        (
            "an unknown member", .malformedAttestation,
            rewriting { [0xA3] + $0[1..<10] + $0[19...] + [0x61, 0x78, 0x00] }
        ),
        ("a member is missing", .malformedAttestation, rewriting { [0xA2] + $0[1..<10] + $0[19...] }),
        ("something behind the object", .malformedAttestation, rewriting { $0 + [0x00] }),
        ("the object is an array", .malformedAttestation, rewriting { [0x83] + $0[1...] }),
        ("the object has no end", .malformedAttestation, rewriting { [0xBF] + $0[1...] + [0xFF] }),
        ("the object's length is in a longer form", .malformedAttestation, rewriting { [0xB8, 0x03] + $0[1...] }),
        ("no object", .malformedAttestation, rewriting { _ in [] }),
        ("data that are a text", .malformedAttestation, rewriting { Array($0[..<28]) + [0x78] + $0[29...] }),
        ("an object that is too long", .malformedCredential, other(CBORText.bytes(Array(repeating: 0, count: 33_000)))),
    ]

    /// Returns a map in CBOR.
    private static func map(_ members: [(String, [UInt8])]) -> [UInt8] {
        [0xA0 | UInt8(members.count)] + members.flatMap { CBORText.text($0.0) + $0.1 }
    }

    /// Returns a change to a statement of an unknown format, with this value as its only member.
    private static func other(_ value: [UInt8]) -> Change {
        { draft in
            draft.format = "another"
            draft.statement = map([("x", value)])
        }
    }

    /// Returns a change to a statement of `depth` nested lists and maps.
    private static func nested(_ depth: Int) -> Change {
        other(Array(repeating: 0x81, count: depth - 2) + [0xA0])
    }

    private static func rewriting(_ change: @escaping @Sendable ([UInt8]) -> [UInt8]) -> Change {
        { $0.rewrite = change }
    }
}
