import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "A version of Graph that has ended, or that nobody knows",
    .serialized,
    .deployed(Document(options: #""graphVersion": "v20.0""#), Document(application: "other"))
)
struct GraphVersionTests {
    private static let ended = "Graph v20.0 ended on 2026-09-24."

    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private var lines: [JSONObject] {
        deployment.service.process.standardOutput.split(separator: "\n").compactMap { JSON.object(String($0)) }.filter {
            $0["message"]?.string == "a setting comes to its end"
        }
    }

    private func readiness() async throws -> (status: Int, warnings: [String]?) {
        let reply = try await deployment.service.management.get("/health/ready")
        return (reply.status, JSON.object(reply.text)?["warnings"]?.array?.compactMap(\.string))
    }

    @Test("readiness says so and stays ready, the log names the application, and a change is said when it counts")
    func running() async throws {
        let (status, warnings) = try await readiness()
        #expect(status == 200)
        #expect(warnings?.count == 1)
        #expect(warnings?.first?.hasPrefix("1 application: \(Self.ended)") == true, "\(warnings ?? [])")
        let line = try await eventually("the log says so") { lines.first }
        #expect(lines.count == 1, "it is said once, however often the configuration is looked at")
        #expect(line["level"]?.string == "warning")
        #expect(line["applications"]?.string == "demo")
        #expect(line["cause"]?.string?.hasPrefix(Self.ended) == true)

        let owner = try await deployment.admin()
        let path = "applications/other/providers/facebook"
        try await owner.ask("PATCH", path, #"{"graphVersion": "v20.0"}"#)
        try await eventually("both are counted") {
            try await readiness().warnings?.first?.hasPrefix("2 applications: ") == true
        }
        try await eventually("what has not changed is not said again") {
            lines.last?["applications"]?.string == "other"
        }
        #expect(lines.count == 2)
        try await owner.ask("PATCH", path, #"{"graphVersion": "v99.0"}"#)
        try await eventually("the unknown version is said") {
            try await readiness().warnings?.contains { $0.contains("Graph v99.0 is not a known version") } == true
        }
        try await owner.ask("PATCH", path, #"{"graphVersion": "v26.0"}"#)
        try await owner.ask("PATCH", "applications/demo/providers/facebook", #"{"enabled": false}"#)
        try await eventually("nothing is left to say") { try await readiness().warnings == nil }
        try await owner.ask("PATCH", "applications/demo/providers/facebook", #"{"enabled": true}"#)
    }

    @Test("apply, its dry run and diff say so, for people and for programs, and so does the administration")
    func applying() async throws {
        let document = deployment.documents[0]
        let environment = document.environment(database: deployment.database)
        for (version, text) in [
            ("v20.0", Self.ended), ("v99.0", "Graph v99.0 is not a known version"), ("v26.0", nil),
        ] {
            let file = document.text.replacing("v20.0", with: version)
            for command in [["apply"], ["apply", "--dry-run"], ["diff"]] {
                try await Document.withFile(file) { path in
                    let said = try await runFederation(command + [path], environment: environment).standardError
                    #expect(said.contains("warning: ") == (text != nil), "\(said)")
                    if let text { #expect(said.contains("warning: \(text)"), "\(said)") }
                    let shown = try await runFederation(command + [path, "--json"], environment: environment)
                    let warnings = JSON.object(shown.standardOutput)?["warnings"]?.array?.compactMap(\.string)
                    #expect(warnings?.count == (text == nil ? 0 : 1))
                    if let text { #expect(warnings?.first?.hasPrefix(text) == true) }
                }
            }
        }
        let owner = try await deployment.admin()
        let read = JSONValue.object(try await owner.get("applications/demo/document")).text
        let wish = read.replacing("v26.0", with: "v20.0")
        let plan = try await owner.ask("PUT", "applications/demo/document?dryRun=true", wish)
        #expect(plan["warnings"]?.array?.first?.string?.hasPrefix(Self.ended) == true, "\(plan)")
        try await document.apply(to: deployment.database)
    }
}
