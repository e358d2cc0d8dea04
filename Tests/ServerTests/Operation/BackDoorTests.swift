@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "T-14: no environment opens a back door",
    .serialized,
    .deployed(
        Document(mapping: #"{"email": "email"}"#),
        environment: Dictionary(
            uniqueKeysWithValues: [
                "TEST", "TESTS", "TESTING", "TEST_MODE", "DEBUG", "MOCK", "MOCKS", "MOCK_FACEBOOK", "NODE_ENV", "ENV",
                "CI", "SKIP_VERIFICATION", "DISABLE_AUTH", "XCTestConfigurationFilePath",
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

    @Test("T-14: with one under the service's own prefix it does not start")
    func refusedVariables() async throws {
        let names = ["TEST", "TESTING", "DEBUG", "MOCK", "INSECURE", "SKIP_VERIFICATION"].map { "FEDERATION_" + $0 }
        let process = try await runFederation(
            ["serve"],
            environment: Deployment.environment(database: deployment.database)
                .merging(names.map { ($0, "1") }) { $1 }
        )
        #expect(process.exitStatus == .exited(78))
        for name in names {
            #expect(process.standardError.contains("  \(name) is not a variable"), "\(process.standardError)")
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
        }
        for word in PackageLayout.drivesRelease ? ["canary", "backdoor"] : ["backdoor"] {
            if let index = found.firstIndex(of: word) { found.remove(at: index) }
        }
        #expect(found == [])
        #expect(try await words(with: "appsecret_proof") != [], "what is there is found")
    }

    /// The suspicious words of Swift's libraries, which are linked into the release build.
    ///
    /// The property `canary` of a checked continuation also occurs once. `backdoor` is one of the common passwords, in
    /// either build.
    private static let ofLibraries = ["CheckedContinuationCanary", "Atlantic:Canary", "6RegionV13canaryIslands"]

    /// Returns the words of the program that match a pattern.
    private func words(with pattern: String) async throws -> [String] {
        // One word per line: grep is slow if a pattern begins with arbitrary text.
        let script = #"tr -cs '[:alnum:]_:$-' '\n' <"$1" | grep -aiE "$2""#
        let grep = try await run(
            "sh",
            ["-c", script, "words", try PackageLayout.executable("federation"), pattern],
            environment: ["LC_ALL": "C"]
        )
        return grep.standardOutput.split(separator: "\n").map(String.init)
    }
}
