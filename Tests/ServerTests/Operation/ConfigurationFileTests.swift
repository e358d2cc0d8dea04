import Testing
import TestSupport

@testable import ServerTestSupport

@Suite("The file of FEDERATION_CONFIG_FILE")
struct ConfigurationFileTests {
    /// Runs `federation migrate` with a configuration file of these contents.
    private func migrate(_ contents: String, _ further: [String: String] = [:]) async throws -> ManagedProcess {
        try await Document.withFile(contents) { path in
            try await runFederation(
                ["migrate"],
                environment: ["FEDERATION_CONFIG_FILE": path].merging(further) { $1 }
            )
        }
    }

    @Test("values stand in levels or joined by dots, in quotes or bare, and the environment goes before them")
    func values() async throws {
        try await withDatabase(.empty) { database in
            let contents = """
                {"federation": {"database": {"url": "\(database.url)", "lease.milliseconds": "900"}},
                 "federation.database.prepared": {"statements": false},
                 "federation.database.statement.milliseconds": 1500}
                """
            let migrated = try await migrate(contents)
            #expect(migrated.exitStatus == .exited(0), "\(migrated.standardError)")
            let elsewhere = "postgres://nobody@127.0.0.1:1/none"
            let overridden = try await migrate(contents, ["FEDERATION_DATABASE_URL": elsewhere])
            #expect(overridden.exitStatus == .exited(69), "\(overridden.standardError)")
            for (value, variable) in [("1500", "STATEMENT_MILLISECONDS"), ("false", "PREPARED_STATEMENTS")] {
                let wrong = try await migrate(contents.replacing(value, with: "0.5"))
                #expect(wrong.exitStatus == .exited(78))
                #expect(wrong.standardError.contains("FEDERATION_DATABASE_\(variable) must be"))
            }
        }
    }

    @Test(
        "what is no such file is said, with the place",
        arguments: [
            ("{", "is not JSON (at line 1, column 2)"), ("[]", "must contain a JSON object"),
            (#"{"federation": {"listen": ["127.0.0.1:8080"]}}"#, "federation.listen must be a text, a number"),
            (#"{"federation.log": {"level": null}}"#, "federation.log.level must be a text, a number"),
            (#"{"federation.log": {"levle": "canary"}}"#, "federation.log.levle is not a variable of the service (did"),
            (#"{"log": {"level": "canary"}}"#, "log.level is not a variable of the service (did you mean federation"),
        ]
    )
    func problems(contents: String, text: String) async throws {
        let run = try await migrate(contents)
        #expect(run.exitStatus == .exited(78))
        #expect(run.standardError.contains("FEDERATION_CONFIG_FILE: "))
        #expect(run.standardError.contains(text), "\(run.standardError)")
        #expect(!run.standardError.contains("canary"))
    }

    @Test("a file that is not there is said")
    func missing() async throws {
        let environment = ["FEDERATION_CONFIG_FILE": "/nowhere/federation.json"]
        let run = try await runFederation(["migrate"], environment: environment)
        #expect(run.exitStatus == .exited(78))
        #expect(run.standardError.contains("FEDERATION_CONFIG_FILE: /nowhere/federation.json cannot be read"))
    }
}
