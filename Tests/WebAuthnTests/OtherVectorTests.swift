import FoundationEssentials
import Testing
import Vocabulary

@testable import WebAuthn

/// Responses of real authenticators (docs/protocols/webauthn.md §8).
@Suite("Vectors of py_webauthn")
struct OtherVectorTests {
    static func cases() throws -> [CeremonyCase] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/py_webauthn.json")
        let json = try JSONParser.parse(Array(try Data(contentsOf: file)), limits: .document)
        let vectors = try #require(json.array)
        return try vectors.map { vector in
            let vector = try #require(vector.object)
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

    @Test("they are judged as there")
    func verdicts() throws {
        let cases = try Self.cases()
        #expect(cases.count == 7)
        for one in cases { #expect(try one.verdict() == one.expected, "\(one.name)") }
    }
}
