import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("The level of an instance's log, while it runs", .serialized, .deployed())
struct LogLevelTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// The outcomes of the logins in the log.
    private var outcomes: [String] {
        deployment.service.process.standardOutput.split(separator: "\n").compactMap { JSON.object(String($0)) }
            .filter { $0["message"]?.string == "login" }.compactMap { $0["outcome"]?.string }
    }

    @Test("what is below it is not written, at this instance alone, and each change is in the audit log")
    func changes() async throws {
        let admin = try await deployment.admin()
        let visitor = try await deployment.newcomer()
        let usual = try await admin.get("log-level")
        #expect(usual["level"]?.string == "info" && usual["until"]?.isNull == true, "\(usual)")
        let entries = try await deployment.audited {
            let set = try await admin.ask("PUT", "log-level", #"{"level": "error", "seconds": 3600}"#)
            #expect(set["level"]?.string == "error" && set["configured"]?.string == "info", "\(set)")
            #expect(set["until"]?.integer != nil)
        }
        #expect(entries.map { $0["action"]?.string } == ["log-level.change"])
        let details = entries.first?["details"]?.object
        #expect(details?["from"]?.object?["level"]?.string == "info")
        #expect(details?["to"]?.object == ["level": .string("error"), "seconds": .integer(3600)])
        #expect(try await deployment.login(visitor).status == 200)
        try await deployment.withSecondInstance { second in
            let other = try await AdminClient(http: second.management, token: admin.token).get("log-level")
            #expect(other["level"]?.string == "info", "\(other)")
        }
        try await admin.ask("PUT", "log-level", #"{"level": "info"}"#)
        #expect(try await deployment.login(visitor).status == 200)
        // Lines keep their order: a line of the first login would precede this one.
        try await eventually("the second login is in the log") { !outcomes.isEmpty }
        #expect(outcomes != ["created"] && outcomes.count == 1, "\(outcomes)")
    }

    @Test(
        "what is no level, or no time, is refused and changes nothing",
        arguments: [
            "{}", "[]", #"{"level": "loud"}"#, #"{"level": 1}"#, #"{"level": "debug", "seconds": 0}"#,
            #"{"level": "debug", "seconds": 86401}"#, #"{"level": "debug", "seconds": 1.5}"#,
            #"{"level": "debug", "for": 1}"#,
        ]
    )
    func refusals(_ body: String) async throws {
        let admin = try await deployment.admin()
        let before = try await admin.get("log-level")
        try expectProblem(try await admin.send("PUT", "log-level", body), "document_invalid")
        #expect(try await admin.get("log-level") == before)
    }
}
