import Crypto
import CryptoExtras
import TestSupport

@testable import WebAuthn

/// Assertions: valid ones, and ones with a single error.
enum AssertionCases {
    typealias Change = @Sendable (inout SoftAuthenticator.AssertionDraft) -> Void
    typealias Row = (name: String, expected: CeremonyError?, change: Change)

    static func all() throws -> [CeremonyCase] {
        var cases = try SoftAuthenticator.Algorithm.allCases.map { algorithm in
            try make("right, \(algorithm.rawValue)", algorithm)
        }
        for row in clientData + data + signatures {
            cases.append(try make(row.name, expecting: row.expected, row.change))
        }
        let eligible: SoftAuthenticator.Flags = [.userPresent, .userVerified, .backupEligible]
        cases.append(
            try make("user not verified, which is preferred", verification: .preferred) {
                $0.data.flags.remove(.userVerified)
            }
        )
        cases.append(try make("backup eligible, as before", flags: eligible))
        cases.append(
            try make("backed up, which it was not before", flags: eligible) { $0.data.flags.insert(.backedUp) }
        )
        cases.append(
            try make("backup eligible no more", expecting: .inconsistentBackup, flags: eligible) {
                $0.data.flags.remove(.backupEligible)
            }
        )
        return try cases + otherKeys() + counters() + users()
    }

    private static func make(
        _ name: String,
        _ algorithm: SoftAuthenticator.Algorithm = .es256,
        expecting expected: CeremonyError? = nil,
        verification: RelyingParty.UserVerification = .required,
        isUserKnown: Bool = true,
        stored: UInt32 = 0,
        flags: SoftAuthenticator.Flags = [.userPresent, .userVerified],
        _ draft: Change = { _ in }
    ) throws -> CeremonyCase {
        var authenticator = try Ceremonies.authenticator(algorithm)
        authenticator.signCount = stored
        authenticator.flags = flags
        let passkey = authenticator.passkey
        return CeremonyCase(
            name: "assertion: \(name)",
            response: try authenticator.assert(challenge: Ceremonies.challenge, draft),
            verification: verification,
            passkey: passkey,
            isUserKnown: isUserKnown,
            expected: expected
        )
    }

    private static let clientData: [Row] = [
        ("another origin of ours", nil, { $0.clientData.origin = "https://example.org" }),
        ("another host", .wrongOrigin, { $0.clientData.origin = "https://example.net" }),
        ("a sub-domain's origin", .wrongOrigin, { $0.clientData.origin = "https://a.login.example.org" }),
        ("client data of a registration", .wrongType, { $0.clientData.type = "webauthn.create" }),
        ("another challenge", .wrongChallenge, { $0.clientData.challenge[0] ^= 1 }),
        ("in a frame of another origin", .embedded, { $0.clientData.crossOrigin = true }),
        ("unknown members of client data", nil, { $0.clientData.more = #","extraData":"more""# }),
        ("a credential of another type", .malformedCredential, { $0.type = "public_key" }),
        ("another credential", .wrongCredential, { $0.credentialID[0] ^= 1 }),
    ]

    private static let data: [Row] = [
        ("another RP id", .wrongRelyingParty, { $0.data.relyingPartyID = "example.net" }),
        ("user not present", .userAbsent, { $0.data.flags.remove(.userPresent) }),
        ("user not verified, which is required", .userUnverified, { $0.data.flags.remove(.userVerified) }),
        (
            "backup eligible, which it was not before", .inconsistentBackup,
            {
                $0.data.flags.insert(.backupEligible)
            }
        ),
        ("backed up and not eligible", .inconsistentBackup, { $0.data.flags.insert(.backedUp) }),
        ("an attested credential", .malformedAuthenticatorData, { $0.data.flags.insert(.attestedCredential) }),
        (
            "extensions", nil,
            {
                $0.data.flags.insert(.extensions)
                $0.data.extensions = [0xA1, 0x63, 0x75, 0x76, 0x6D, 0x81, 0x83, 0x02, 0x04, 0x02]
            }
        ),
        ("something behind the data", .malformedAuthenticatorData, { $0.data.rewrite = { $0 + [0x00] } }),
        ("data that end early", .malformedAuthenticatorData, { $0.data.rewrite = { $0.dropLast() } }),
        (
            "data that are too long", .malformedCredential,
            {
                $0.data.rewrite = { $0 + [UInt8](repeating: 0, count: 4096) }
            }
        ),
    ]

    private static let signatures: [Row] = [
        ("a signature of other data", .invalidSignature, { $0.rewriteSigned = { [$0[0] ^ 1] + $0[1...] } }),
        (
            "a signature of other client data", .invalidSignature,
            {
                $0.rewriteSigned = { $0.dropLast() + [$0[$0.count - 1] ^ 1] }
            }
        ),
        ("a changed signature", .invalidSignature, signature { $0.dropLast() + [$0[$0.count - 1] ^ 1] }),
        ("no signature", .invalidSignature, signature { _ in [] }),
        ("a signature that ends early", .invalidSignature, signature { $0.dropLast() }),
        ("a signature with something behind it", .invalidSignature, signature { $0 + [0] }),
        ("a signature that is too long", .malformedCredential, signature { $0 + [UInt8](repeating: 0, count: 512) }),
        ("DER with a length in a longer form", .invalidSignature, signature { [0x30, 0x81] + $0[1...] }),
        ("DER of an indefinite length", .invalidSignature, signature { [0x30, 0x80] + $0[2...] + [0, 0] }),
        (
            "DER with a number in a longer form", .invalidSignature,
            signature { signature in
                [0x30, signature[1] + 1, 0x02, signature[3] + 1, 0x00] + signature[4...]
            }
        ),
        (
            "DER with something in the sequence", .invalidSignature,
            signature { signature in
                [0x30, signature[1] + 2] + signature[2...] + [0x05, 0x00]
            }
        ),
        (
            "both numbers without DER", .invalidSignature,
            signature { signature in
                (try? P256.Signing.ECDSASignature(derRepresentation: signature)).map { Array($0.rawRepresentation) }
                    ?? []
            }
        ),
        ("zeros for both numbers", .invalidSignature, signature { _ in [0x30, 6, 2, 1, 0, 2, 1, 0] }),
    ]

    private static func signature(_ change: @escaping @Sendable ([UInt8]) -> [UInt8]) -> Change {
        { $0.rewriteSignature = change }
    }

    /// Returns signatures by other keys and in other forms.
    private static func otherKeys() throws -> [CeremonyCase] {
        let message = Array("another message".utf8)
        var cases: [CeremonyCase] = []
        for algorithm in SoftAuthenticator.Algorithm.allCases {
            let other = try SoftAuthenticator.Key(algorithm).signature(of: message)
            cases.append(
                try make("a signature of another key, \(algorithm.rawValue)", algorithm, expecting: .invalidSignature) {
                    $0.rewriteSignature = { _ in other }
                }
            )
            cases.append(
                try make("a changed signature, \(algorithm.rawValue)", algorithm, expecting: .invalidSignature) {
                    $0.rewriteSignature = { $0.dropLast() + [$0[$0.count - 1] ^ 1] }
                }
            )
        }
        cases.append(
            try make("RS256 with a zero before it", .rs256, expecting: .invalidSignature) {
                $0.rewriteSignature = { [0] + $0 }
            }
        )
        cases.append(
            try make("EdDSA with a number that is not reduced", .edDSA, expecting: .invalidSignature) {
                $0.rewriteSignature = { addingOrder($0) }
            }
        )
        return cases
    }

    /// Returns the signature with the group's order added to its second half: the same number modulo the order.
    private static func addingOrder(_ signature: [UInt8]) -> [UInt8] {
        let order: [UInt8] =
            [
                0xED, 0xD3, 0xF5, 0x5C, 0x1A, 0x63, 0x12, 0x58, 0xD6, 0x9C, 0xF7, 0xA2, 0xDE, 0xF9, 0xDE, 0x14,
            ] + [UInt8](repeating: 0, count: 15) + [0x10]
        var result = signature
        var carry = 0
        for index in 0..<32 {
            let sum = Int(signature[32 + index]) + Int(order[index]) + carry
            result[32 + index] = UInt8(sum & 0xFF)
            carry = sum >> 8
        }
        return result
    }

    /// Returns cases of the authenticator's counter and the stored counter.
    private static func counters() throws -> [CeremonyCase] {
        let rows: [(name: String, stored: UInt32, given: UInt32, expected: CeremonyError?)] = [
            ("both counters zero", 0, 0, nil), ("a counter begins", 0, 7, nil), ("a counter grows", 7, 8, nil),
            ("a counter leaps", 7, .max, nil), ("a counter stands", 7, 7, .cloned), ("a counter falls", 7, 6, .cloned),
            ("a counter falls to zero", 7, 0, .cloned), ("a counter at its end", .max, .max, .cloned),
        ]
        return try rows.map { row in
            try make(row.name, expecting: row.expected, stored: row.stored) {
                $0.data.signCount = row.given
            }
        }
    }

    /// Returns cases of the user handle, with and without a known user.
    private static func users() throws -> [CeremonyCase] {
        try [
            make("no handle of a user who is known") { $0.userHandle = nil },
            make("no handle of a user who is not known", expecting: .wrongUser, isUserKnown: false) {
                $0.userHandle = nil
            },
            make("the handle of a user who is not known", isUserKnown: false),
            make("another handle", expecting: .wrongUser) { $0.userHandle?[0] ^= 1 },
            make("an empty handle of a user who is known") { $0.userHandle = [] },
            make("an empty handle of a user who is not known", expecting: .wrongUser, isUserKnown: false) {
                $0.userHandle = []
            },
            make("a handle that is too long", expecting: .malformedCredential) {
                $0.userHandle = .init(repeating: 7, count: 65)
            },
        ]
    }
}
