import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

@Suite("The file of FEDERATION_CONFIG_FILE")
struct ConfigurationFileTests {
    /// How a command ends, and what it says, with a file of these contents.
    private func doctor(
        _ contents: String,
        _ further: [String: String] = [:]
    ) async throws -> (status: ProcessEnd?, findings: [String]) {
        try await Document.withFile(contents) { path in
            let run = try await runFederation(
                ["doctor", "--offline", "--json"],
                environment: ["FEDERATION_CONFIG_FILE": path].merging(further) { $1 }
            )
            let findings = try #require(JSON.object(run.standardOutput)?["findings"]?.array, "\(run.standardError)")
            return (run.exitStatus, findings.compactMap { $0.object?["text"]?.string })
        }
    }

    @Test("values stand in levels or joined by dots, in quotes or bare, and the environment goes before them")
    func values() async throws {
        try await withDatabase(.schema) { database in
            let contents = """
                {"federation": {"database": {"url": "postgres://nobody@127.0.0.1:1/none", "lease.milliseconds": "900"},
                  "master": {"key": "\(Canary.masterKey)"}, "mode": "development", "upkeep": {"enabled": false}},
                 "federation.database.statement": {"milliseconds": 1500}}
                """
            let found = try await doctor(contents, ["FEDERATION_DATABASE_URL": database.url])
            #expect(found.status == .exited(0), "\(found.findings)")
            let away = try await doctor(contents)
            #expect(away.status != .exited(0), "\(away.findings)")
            let outside = try await doctor(contents.replacing("1500", with: "0.5"))
            #expect(
                outside.findings.contains {
                    $0.contains("FEDERATION_DATABASE_STATEMENT_MILLISECONDS must be a whole number from 1 to 3600000")
                },
                "\(outside.findings)"
            )
        }
    }

    @Test(
        "what is no such file is said, with the place",
        arguments: [
            ("{", "is not JSON (at byte 1)"), ("[]", "must hold an object"),
            (#"{"federation": {"listen": ["127.0.0.1:8080"]}}"#, "federation.listen must be a text, a number"),
            (#"{"federation.log": {"level": null}}"#, "federation.log.level must be a text, a number"),
        ]
    )
    func problems(contents: String, text: String) async throws {
        let found = try await doctor(contents)
        #expect(found.status != .exited(0))
        #expect(
            found.findings.contains { $0.contains("FEDERATION_CONFIG_FILE") && $0.contains(text) },
            "\(found.findings)"
        )
    }

    @Test("a file that is not there is said")
    func missing() async throws {
        let environment = ["FEDERATION_CONFIG_FILE": "/nowhere/federation.json"]
        let run = try await runFederation(["migrate"], environment: environment)
        #expect(run.exitStatus == .exited(78))
        #expect(run.standardError.contains("FEDERATION_CONFIG_FILE: /nowhere/federation.json cannot be read"))
    }
}
