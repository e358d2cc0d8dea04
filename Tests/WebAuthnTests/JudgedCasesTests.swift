import Encodings
import FoundationEssentials
import Testing
import TestSupport
@testable import WebAuthn

/// Writes cases with our verdicts to a file for `scripts/passkey-judge`, which asks other libraries for theirs.
@Suite("Cases for other judges")
struct JudgedCasesTests {
    private static let path = ProcessInfo.processInfo.environment["FEDERATION_TEST_PASSKEY_CASES"]

    @Test("all cases, the specification's vectors, and changes of them", .enabled(if: path != nil))
    func write() throws {
        let cases =
            try RegistrationCases.all() + AssertionCases.all() + VectorTests.cases() + OtherVectorTests.cases()
            + changed(4000)
        let lines = try cases.map { one in
            var line: JSONObject = [
                "name": .string(one.name), "response": .string(one.response),
                "challenge": .string(Base64URL.encode(one.challenge)),
                "rpId": .string(one.relyingPartyID),
                "origins": .array(one.origins.map(JSONValue.string)),
                "isUserVerificationRequired": .bool(one.verification == .required),
                "verdict": try one.verdict().map { .string($0.rawValue) } ?? .null,
            ]
            if let passkey = one.passkey {
                line.append("credentialId", .string(Base64URL.encode(passkey.credentialID)))
                line.append("publicKey", .string(Base64URL.encode(passkey.publicKey)))
                line.append("signCount", .integer(Int64(passkey.signCount)))
            }
            var writer = JSONWriter()
            writer.value(.object(line))
            return writer.bytes + [0x0A]
        }
        try Data(lines.joined()).write(to: URL(filePath: try #require(Self.path)))
    }

    /// Returns registrations and assertions with a random change.
    ///
    /// A registration has the change in its attestation object, authenticator data or key. Any change to the signed
    /// parts of an assertion makes it invalid, so there are fewer assertions.
    private func changed(_ count: Int) throws -> [CeremonyCase] {
        var random = SeededRandom(99)
        return try (0..<count).map { round in
            let algorithm = SoftAuthenticator.Algorithm.allCases[round % 3]
            var authenticator = try Ceremonies.authenticator(algorithm)
            let passkey = authenticator.passkey
            let seed = random.next()
            let mutate: @Sendable ([UInt8]) -> [UInt8] = { bytes in
                var random = SeededRandom(seed)
                return Mutation.mutated(bytes, &random)
            }
            if round % 8 == 7 {
                return CeremonyCase(
                    name: "changed: assertion \(round)",
                    response: try authenticator.assert(challenge: Ceremonies.challenge) { draft in
                        switch round / 8 % 3 {
                        case 0: draft.data.rewrite = mutate
                        case 1: draft.rewriteSignature = mutate
                        default: draft.clientData.rewrite = mutate
                        }
                    },
                    passkey: passkey,
                    expected: nil
                )
            }
            return CeremonyCase(
                name: "changed: registration \(round)",
                response: authenticator.register(challenge: Ceremonies.challenge) { draft in
                    switch round / 3 % 3 {
                    case 0: draft.rewrite = mutate
                    case 1: draft.data.rewrite = mutate
                    default: draft.data.publicKey = mutate(draft.data.publicKey)
                    }
                },
                expected: nil
            )
        }
    }
}
