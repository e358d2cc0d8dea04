import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

@Suite(
    "T-14: no environment opens a back door",
    .serialized,
    .deployed(
        Document(mapping: #"{"email": "email"}"#),
        environment: Dictionary(
            uniqueKeysWithValues: [
                "TEST", "TESTS", "TESTING", "TEST_MODE", "DEBUG", "MOCK", "MOCKS", "MOCK_FACEBOOK", "FEDERATION_TEST",
                "FEDERATION_TESTING", "FEDERATION_DEBUG", "FEDERATION_MOCK", "FEDERATION_INSECURE", "NODE_ENV", "ENV",
                "CI", "SKIP_VERIFICATION", "FEDERATION_SKIP_VERIFICATION", "DISABLE_AUTH",
                "XCTestConfigurationFilePath",
            ].map { ($0, "1") } + [("FEDERATION_MODE", "development"), ("FEDERATION_LOG_LEVEL", "trace")]
        )
    )
)
struct BackDoorTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("T-14: with every test variable set, a made-up token is refused")
    func testTokens() async throws {
        try await deployment.expectNothingWritten {
            for token in [
                "test", "TEST", "testing", "debug", "mock", "admin", "facebook", "1", "EAATEST", "valid", "skip",
            ] {
                let reply = try await deployment.login(body: #"{"accessToken": "\#(token)"}"#)
                try expectProblem(reply, oneOf: ["credential_invalid", "credential_wrong_kind"])
            }
        }
    }

    @Test("T-14: the binary has no words of such a branch")
    func strings() async throws {
        let suspects = [
            "test_token", "testtoken", "test-token", "backdoor", "back_door", "skip_verif", "skipverif", "bypass_auth",
            "fake_token", "mock_token", "mocktoken", "federation_test", "federation_mock", "federation_insecure",
            "disable_auth", "allow_any_token", "canary",
        ]
        var found = try await words(with: suspects.joined(separator: "|"))
        if PackageLayout.drivesRelease {
            found.removeAll { word in Self.ofLibraries.contains { word.contains($0) } }
            for word in ["canary", "backdoor"] {
                if let index = found.firstIndex(of: word) { found.remove(at: index) }
            }
        }
        #expect(found == [])
        #expect(try await words(with: "appsecret_proof") != [], "what is there is found")
    }

    /// What Swift's libraries, which are linked into the release build, have of the suspects.
    ///
    /// Besides there is, once each, the property `canary` of a checked continuation, and `backdoor` among the common
    /// passwords.
    private static let ofLibraries = ["CheckedContinuationCanary", "Atlantic:Canary", "6RegionV13canaryIslands"]

    /// The words of the program that have the pattern in them.
    private func words(with pattern: String) async throws -> [String] {
        let grep = try await run(
            "grep",
            ["-aoiE", "[[:alnum:]_:$-]*(\(pattern))[[:alnum:]_-]*", try PackageLayout.executable("federation")],
            environment: ["LC_ALL": "C"]
        )
        return grep.standardOutput.split(separator: "\n").map(String.init)
    }
}
