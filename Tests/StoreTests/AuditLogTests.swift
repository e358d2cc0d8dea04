import Encodings
import Store
import Testing
import TestSupport

@Suite("The audit log")
struct AuditLogTests {
    @Test("entries come newest first, page by page, by each filter alone and by all together")
    func filters() async throws {
        try await withDatabase(.schema) { database in
            try await database.psql(
                """
                insert into federation.audit_log (happened, actor, source, application_id, action, target, details)
                select to_timestamp(1000 + n), 'actor' || n % 2, 'host', 'app' || n % 3, 'action' || n % 5, 't' || n,
                    jsonb_build_object('to', n)
                from generate_series(1, 60) n
                """
            )
            try await withStore(database.url) { store in
                func targets(_ filter: AuditFilter, before: Int64? = nil, limit: Int = 100) async throws -> [String?] {
                    try await store.audit(matching: filter, before: before, limit: limit).map(\.target)
                }
                func numbers(_ condition: (Int) -> Bool) -> [String?] {
                    (1...60).reversed().filter(condition).map { "t\($0)" }
                }
                let first = try await store.audit(matching: AuditFilter(), before: nil, limit: 7)
                #expect(first.map(\.target) == numbers { $0 > 53 })
                #expect(first.first?.happened == 1_060_000)
                #expect(first.first?.details == .object(["to": .integer(60)]))
                #expect(
                    try await targets(AuditFilter(), before: first.last?.id, limit: 3) == numbers { (51...53) ~= $0 }
                )
                #expect(try await targets(AuditFilter(application: "app1")) == numbers { $0 % 3 == 1 })
                #expect(try await targets(AuditFilter(actor: "actor0")) == numbers { $0 % 2 == 0 })
                #expect(try await targets(AuditFilter(action: "action3")) == numbers { $0 % 5 == 3 })
                #expect(
                    try await targets(AuditFilter(since: 1_010_000, until: 1_020_000)) == numbers { (10..<20) ~= $0 }
                )
                #expect(try await targets(AuditFilter(since: .min, until: .max)).count == 60)
                let all = AuditFilter(
                    application: "app1",
                    actor: "actor1",
                    action: "action1",
                    since: 1_005_000,
                    until: 1_060_000
                )
                #expect(try await targets(all) == ["t31"])
                #expect(try await targets(AuditFilter(application: "app1' or true --")).isEmpty)
            }
        }
    }

    @Test("a refusal is noted with who asked for what, of an application that need not exist")
    func refusals() async throws {
        try await withDatabase(.schema) { database in
            try await withStore(database.url) { store in
                let request = "DELETE /admin/v1/applications/" + String(repeating: "é", count: 400)
                try await store.recordRefusal(of: request, application: "nowhere", actor: Tenant.actor)
                try await store.recordRefusal(of: "GET /", application: nil, actor: Tenant.actor)
                try await store.recordRefusal(of: "GET /\0", application: "a\0b", actor: Tenant.actor)
                let entries = try await store.audit(matching: AuditFilter(action: "refused"), before: nil, limit: 9)
                #expect(entries.map(\.application) == ["a?b", nil, "nowhere"])
                #expect(entries.map(\.actor) == ["ann", "ann", "ann"])
                #expect(entries.map(\.source) == ["10.0.0.1", "10.0.0.1", "10.0.0.1"])
                #expect(entries.prefix(2).map(\.target) == ["GET /?", "GET /"])
                #expect(entries.last?.target?.hasPrefix("DELETE /admin/v1/applications/éé") == true)
                #expect(entries.last.map { $0.target?.utf8.count ?? 0 <= 503 } == true)
                #expect(entries.first?.details == .object([:]))
                #expect(try await store.configurationState().revision == 1)
            }
        }
    }
}
