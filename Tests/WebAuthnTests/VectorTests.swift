import Crypto
import Encodings
import FoundationEssentials
import Testing
@testable import WebAuthn

/// Tests with the vectors of the specification (docs/protocols/webauthn.md §8).
@Suite("Test vectors of WebAuthn level 3")
struct VectorTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let name: String
        let registration: [String: [UInt8]]
        let assertion: [String: [UInt8]]

        var testDescription: String { name }
    }

    static let vectors: Result<[Vector], any Error> = Result {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/w3c.json")
        let json = try JSONParser.parse(Array(try Data(contentsOf: file)), limits: .document)
        return try #require(json.array).map { vector in
            let vector = try #require(vector.object)
            return Vector(
                name: try #require(vector["name"]?.string),
                registration: try bytes(vector["registration"]),
                assertion: try bytes(vector["assertion"])
            )
        }
    }

    private static func bytes(_ value: JSONValue?) throws -> [String: [UInt8]] {
        let members = try #require(value?.object).members
        return try Dictionary(
            uniqueKeysWithValues: members.map { member in
                let text = try #require(member.value.string)
                return (member.key, try #require(Hexadecimal.decode(text.utf8)))
            }
        )
    }

    /// Returns the specification's vectors as cases, in which user verification is discouraged.
    static func cases() throws -> [CeremonyCase] {
        try vectors.get().flatMap { vector in
            let isEmbedded = ["none.ES256.crossOrigin", "none.ES256.topOrigin"].contains(vector.name)
            let id = try #require(vector.registration["credentialId"])
            let object = try #require(vector.registration["attestationObject"])
            let data = try AuthenticatorData(RelyingParty.authenticatorData(of: object))
            return [
                CeremonyCase(
                    name: "vector: registration \(vector.name)",
                    response: response(id, vector.registration),
                    challenge: try #require(vector.registration["challenge"]),
                    verification: .discouraged,
                    expected: isEmbedded ? .embedded : nil
                ),
                CeremonyCase(
                    name: "vector: assertion \(vector.name)",
                    response: response(id, vector.assertion),
                    challenge: try #require(vector.assertion["challenge"]),
                    verification: .discouraged,
                    passkey: Passkey(
                        credentialID: id,
                        publicKey: try #require(data.credential).publicKey.bytes,
                        signCount: data.signCount,
                        isBackupEligible: data.flags.contains(.backupEligible),
                        userHandle: [1]
                    ),
                    expected: isEmbedded ? .embedded : nil
                ),
            ]
        }
    }

    private static func response(_ id: [UInt8], _ members: [String: [UInt8]]) -> String {
        let id = Base64URL.encode(id)
        let response = ["clientDataJSON", "attestationObject", "authenticatorData", "signature"].compactMap { name in
            members[name].map { #""\#(name)":"\#(Base64URL.encode($0))""# }
        }
        return """
            {"id":"\(id)","rawId":"\(id)","type":"public-key","clientExtensionResults":{},\
            "response":{\(response.joined(separator: ","))}}
            """
    }

    @Test("the challenges are those that the specification derives from the names")
    func derivation() throws {
        let vectors = try Self.vectors.get()
        #expect(vectors.count == 8)
        for vector in vectors {
            let challenge = HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Array("WebAuthn test vectors".utf8)),
                salt: [0],
                info: Array(vector.name.utf8),
                outputByteCount: 32
            )
            #expect(challenge.withUnsafeBytes { Array($0) } == vector.registration["challenge"])
            let data = try AuthenticatorData(
                RelyingParty.authenticatorData(of: try #require(vector.registration["attestationObject"]))
            )
            #expect(data.credential?.aaguid == vector.registration["aaguid"])
            #expect(data.credential?.id == vector.registration["credentialId"])
        }
    }

    @Test("registrations and assertions count, but for those in a frame of another origin")
    func verdicts() throws {
        for one in try Self.cases() { #expect(try one.verdict() == one.expected, "\(one.name)") }
    }
}
