import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "A mapping that reads a field which Facebook does not have",
    .serialized,
    .deployed(
        Document(properties: #"{"city": {"type": "STRING"}}"#, mapping: #"{"email": "email"}"#),
        Document(application: "fresh", properties: #"{"city": {"type": "STRING"}}"#, mapping: #"{"email": "email"}"#)
    )
)
struct UnknownFieldTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let warning =
        #"/mapping/facebook/1/from: mapping[1] ("locaton.nam" to "city"): locaton is not a known field of Facebook (did you mean location.name?)"#

    private func document(_ application: String) -> Document {
        Document(
            application: application,
            properties: #"{"city": {"type": "STRING"}}"#,
            mapping: #"[{"from": "email", "to": "email"}, {"from": "locaton.nam", "to": "city"}]"#
        )
    }

    private var ann: CommandLineOperator {
        var ann = CommandLineOperator(database: deployment.database)
        ann.environment.merge(document("demo").environment(database: deployment.database)) { $1 }
        ann.environment.merge(deployment.simulator.environment) { $1 }
        return ann
    }

    @Test("is told by check, diff and apply, and with --strict an error that changes nothing")
    func documents() async throws {
        let text = document("fresh").text
        for command in ["check -", "check --live -", "diff -", "apply - --dry-run", "apply - --dry-run --json"] {
            let run = try await ann.run(command, input: text)
            #expect(run.exitStatus == .exited(command == "diff -" ? 1 : 0), "\(command): \(run.standardError)")
            #expect(run.standardError.contains("warning: \(Self.warning)"), "\(command): \(run.standardError)")
            let strict = try await ann.run(command + " --strict", input: text)
            #expect(strict.exitStatus == .exited(65), "\(command): \(strict.standardError)")
            #expect(strict.standardError.contains("warnings are errors"), "\(command)")
        }
        let strict = try await ann.run("apply - --strict", input: text)
        #expect(strict.exitStatus == .exited(65))
        #expect(
            try await ann.json("get applications/fresh/mappings/facebook")["entries"]?.array?.count == 1,
            "nothing is applied"
        )
        let right = try await ann.run("check --strict -", input: deployment.documents[0].text)
        #expect(right.exitStatus == .exited(0), "\(right.standardError)")
    }

    @Test("is told by mapping put, by REST, by the doctor and in a preview")
    func mappings() async throws {
        let mapping = #"[{"from": "email", "to": "email"}, {"from": "locaton.nam", "to": "city"}]"#
        let strict = try await ann.fail(
            "set applications/fresh/mappings/facebook - strict=true",
            with: 65,
            input: mapping
        )
        #expect(strict.contains("/1/from: mapping[1]"), "\(strict)")
        let put = try await ann.run("set applications/fresh/mappings/facebook -", input: mapping)
        #expect(put.exitStatus == .exited(0))
        #expect(put.standardError.contains("warning: mapping[1] (\"locaton.nam\" to \"city\")"), "\(put.standardError)")

        let admin = try await deployment.admin()
        let path = "applications/fresh/mappings/facebook"
        let shown = try await admin.get(path)
        #expect(shown["warnings"]?.array?.first?.string?.contains("did you mean location.name?") == true, "\(shown)")
        try await admin.ask("PUT", path, JSONValue.object(shown).text)
        let application = try await admin.get("applications/fresh")
        #expect(application["warnings"]?.array?.contains { $0.string?.hasPrefix(Self.warning) == true } == true)
        let doctor = try await ann.run("doctor --offline --application fresh --json")
        let findings = JSON.object(doctor.standardOutput)?["findings"]?.array?.compactMap(\.object) ?? []
        let found = findings.first { $0["text"]?.string?.hasPrefix(Self.warning) == true }
        #expect(found?["severity"]?.string == "warning", "\(doctor.standardOutput)")

        let profile = #"{"profile": {"id": "1", "email": "a@example.com"}, "fieldsMapping": {"emial": "city"}}"#
        let preview = try await admin.ask("POST", "\(path)/preview", profile)
        let warnings = preview["warnings"]?.array?.compactMap(\.string) ?? []
        #expect(warnings.contains { $0.contains("locaton is not a known field") }, "\(preview)")
        let entry = preview["entries"]?.array?.compactMap(\.object).first { $0["from"]?.string == "locaton.nam" }
        #expect(entry?["warning"]?.string?.contains("did you mean location.name?") == true)
        try await ann.succeed("mapping rollback fresh 1")
        #expect(try await admin.get(path)["warnings"] == .array([]))
    }

    @Test("is found by asking Facebook, once somebody has logged in, and the login that fails names the right one")
    func live() async throws {
        let text = document("demo").text
        let nobody = try await ann.run("check --live -", input: document("fresh").text)
        #expect(
            nobody.standardOutput.contains("fields were not checked: no user has logged in"),
            "\(nobody.standardOutput)"
        )

        let visitor = try await deployment.newcomer(#"{"email": "live@example.com"}"#)
        _ = try await deployment.loggedIn(visitor)
        let right = try await ann.run("check --live -", input: deployment.documents[0].text)
        #expect(right.standardOutput.contains("Facebook has all fields of its mapping"), "\(right.standardOutput)")
        let checked = try await ann.run("check --live -", input: text)
        #expect(checked.exitStatus == .exited(65), "\(checked.standardError)")
        #expect(
            checked.standardError.contains(
                #"mapping[1] ("locaton.nam" to "city"): Facebook has no field locaton (did you mean location.name?): every login is refused"#
            ),
            "\(checked.standardError)"
        )

        try await ann.succeed("apply -", input: text)
        // Another process has applied the document, and the service is notified within a moment.
        try await eventually("the service has the mapping that was applied") {
            let refused = try await deployment.login(visitor)
            return refused.status == 400 && refused.text.contains("did you mean location.name?")
        }
        // Readiness, the doctor in the service and the console's list, which shows the doctor, name the cause of
        // refusals.
        let obstacle = "Logins by facebook are refused: mapping[1] (\"locaton.nam\" to \"city\")"
        func readiness() async throws -> JSONObject {
            try #require(JSON.object(try await deployment.service.management.get("/health/ready").text))
        }
        func errorsOfDoctor() async throws -> [String] {
            let findings = try await deployment.admin().get("doctor")["findings"]?.array?.compactMap(\.object) ?? []
            return findings.filter { $0["severity"]?.string == "error" }.compactMap { $0["text"]?.string }
        }
        let degraded = try await readiness()
        #expect(degraded["status"]?.string == "degraded", "\(degraded)")
        let errors = degraded["errors"]?.array?.compactMap(\.string) ?? []
        #expect(errors.contains { $0.hasPrefix("demo: \(obstacle)") }, "\(degraded)")
        #expect(try await errorsOfDoctor().contains { $0.hasPrefix(obstacle) })
        let check = try await ann.run("provider check demo --json")
        #expect(check.exitStatus == .exited(65))
        #expect(JSON.object(check.standardOutput)?["problems"]?.array?.count == 1, "\(check.standardOutput)")
        let doctor = try await ann.run("doctor --application demo")
        #expect(doctor.standardOutput.contains("error  provider demo facebook: mapping[1]"), "\(doctor.standardOutput)")
        try await ann.succeed("mapping rollback demo 1")
        #expect(try await ann.run("provider check demo").exitStatus == .exited(0))
        try await eventually("nothing refuses logins any more") {
            try await readiness()["errors"]?.array?.isEmpty ?? true
        }
        let mended = try await errorsOfDoctor()
        #expect(!mended.contains { $0.hasPrefix(obstacle) }, "\(mended)")
    }
}
