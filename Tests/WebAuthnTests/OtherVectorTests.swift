import Encodings
import FoundationEssentials
import Testing
@testable import WebAuthn

/// Tests with responses of real authenticators (docs/protocols/webauthn.md §8).
@Suite("Vectors of other libraries")
struct OtherVectorTests {
    static func cases() throws -> [CeremonyCase] {
        try vectors("py_webauthn").map { vector in
            let id = try #require(vector["id"])
            let name = try #require(vector["name"]?.string)
            let response = try #require(vector["response"])
            var writer = JSONWriter()
            writer.value(
                .object([
                    "id": id, "rawId": id, "type": .string("public-key"), "clientExtensionResults": .object([:]),
                    "response": response,
                ])
            )
            return CeremonyCase(
                name: "vector: \(name)",
                response: String(decoding: writer.bytes, as: UTF8.self),
                challenge: try #require(bytes(vector["challenge"])),
                relyingPartyID: "localhost",
                origins: ["https://login.example.org", "http://localhost:5000"],
                verification: vector["isUserVerified"] == nil ? .preferred : .required,
                passkey: try bytes(vector["publicKey"]).map { publicKey in
                    Passkey(
                        credentialID: try #require(bytes(id)),
                        publicKey: publicKey,
                        signCount: UInt32(try #require(vector["signCount"]?.integer)),
                        isBackupEligible: false,
                        userHandle: bytes(vector["userHandle"]) ?? []
                    )
                },
                isUserKnown: vector["userHandle"] == nil,
                expected: vector["expected"]?.string.flatMap(CeremonyError.init(rawValue:))
            )
        }
    }

    private static func bytes(_ value: JSONValue?) -> [UInt8]? {
        value?.string.flatMap { Base64URL.decode($0.utf8) }
    }

    private static func vectors(_ name: String) throws -> [JSONObject] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/\(name).json")
        let json = try JSONParser.parse(Array(try Data(contentsOf: file)), limits: .document)
        return try #require(json.array).compactMap(\.object)
    }

    @Test("keys of fido2 have signed what they have signed, and nothing else")
    func signatures() throws {
        let vectors = try Self.vectors("fido2")
        #expect(vectors.count == 3)
        for vector in vectors {
            func bytes(_ name: String) throws -> [UInt8] {
                let text = try #require(vector[name]?.string)
                return try #require(Hexadecimal.decode(text.utf8))
            }
            let key = try CredentialPublicKey(try bytes("publicKey"))
            var message = try bytes("message")
            #expect(try key.bytes == bytes("publicKey"))
            #expect(key.hasSigned(message, signature: try bytes("signature")))
            message[0] ^= 1
            #expect(!key.hasSigned(message, signature: try bytes("signature")))
        }
    }

    @Test("responses of py_webauthn are judged as there")
    func verdicts() throws {
        let cases = try Self.cases()
        #expect(cases.count == 7)
        for one in cases { #expect(try one.verdict() == one.expected, "\(one.name)") }
    }
}
