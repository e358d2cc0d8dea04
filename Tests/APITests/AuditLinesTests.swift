@testable import AdministrationAPI
import Domain
import Encodings
import HTTPTypes
import Testing
import TestSupport

@Suite("The audit log as JSON lines")
struct AuditLinesTests {
    @Test("holds all entries that fit, the newest first, by parameter and by header")
    func lines() async throws {
        try await Operators.lend { operators in
            try await operators.database.psql(
                """
                insert into federation.audit_log (actor, action, target)
                    select 'ann', 'test', number from generate_series(1, 450) as number
                """
            )
            for (query, accept) in [("&format=jsonl", "*/*"), ("", "text/plain, application/jsonl;q=0.5")] {
                let headers: HTTPFields = [.accept: accept]
                let reply = try await operators.send(.get, "audit?actor=ann" + query, as: .viewer, headers: headers)
                #expect(reply.status == 200)
                #expect(reply.headers[.contentType] == "application/jsonl")
                #expect(reply.headers[.cacheControl] == "no-store")
                let lines = reply.text.split(separator: "\n", omittingEmptySubsequences: false)
                #expect(lines.last == "", "each line ends")
                let entries = try lines.dropLast().map { try JSONParser.parse(String($0), limits: .stored) }
                #expect(entries.compactMap { $0.object?["target"]?.string } == (1...450).reversed().map { String($0) })
            }
        }
    }

    @Test("none is an empty body; a limit has no meaning, and other forms are refused")
    func edges() async throws {
        try await Operators.lend { operators in
            let none = try await operators.send(.get, "audit?format=jsonl&actor=nobody")
            #expect(none.status == 200)
            #expect(none.text == "")
            for query in [
                "format=jsonl&limit=5", "format=csv", "format=", "format=jsonl&cursor=x", "format=jsonl&since=x",
            ] {
                #expect(try await operators.send(.get, "audit?" + query).reason == "malformed_request", "\(query)")
            }
            let headers: HTTPFields = [.accept: "application/jsonl"]
            let json = try await operators.send(.get, "audit?format=json", headers: headers)
            #expect(json.headers[.contentType] == "application/json")
            #expect(json.json?["items"]?.array?.count == (try await operators.auditCount()))
        }
    }
}
