import Accounts
import Administration
import Description
import Domain
import Encodings
import Facebook
import Providers
import Store
import Testing
import TestSupport

@Suite("Documents on a database")
struct DocumentApplyTests {
    /// A value for each environment variable that a document may name.
    private static let environment: @Sendable (String) -> String? = { "canary-value-of-\($0)" }

    private static func document(_ text: String) throws -> ApplicationDocument {
        try ApplicationDocument(text: Array(text.utf8), kinds: try .outOfReach())
    }

    /// Applies a document and returns the changes.
    private static func apply(
        _ text: String,
        in office: Office,
        if precondition: Precondition = .any
    ) async throws -> [String] {
        try await office.administration.documents.apply(
            try document(text),
            environment: environment,
            if: precondition,
            by: Office.actor
        ).changes.map { [$0.action, $0.target].compactMap(\.self).joined(separator: " ") }
    }

    /// Returns the places of a document's problems.
    private static func pointers(_ body: () async throws -> ApplicationPlan) async throws -> [String] {
        do {
            _ = try await body()
            return []
        } catch let problems as DocumentProblems {
            return problems.problems.map(\.pointer.text)
        }
    }

    /// Returns the whole configuration, except times, revisions and the like.
    private static func configuration(in office: Office) async throws -> [[String?]] {
        try await office.database.psql(
            """
            select (select jsonb_agg(to_jsonb(a) - '{created,updated,revision}'::text[] order by id) from federation.applications a),
                (select jsonb_agg(to_jsonb(k) - 'created' order by label) from federation.api_keys k),
                (select jsonb_agg(to_jsonb(s)) from federation.provider_settings s),
                (select jsonb_agg(to_jsonb(f) - '{secret,secret_changed}'::text[] order by app_id) from federation.provider_apps f),
                (select jsonb_agg(document) from federation.mappings where active),
                (select jsonb_agg(to_jsonb(p) order by position) from federation.properties p),
                (select string_agg(concat(attrelid::regclass, attname, atttypid::regtype, attnotnull), ' ' order by attrelid, attnum)
                    from pg_attribute where attrelid::regclass::text like '%.users' and attnum > 0)
            """
        )
    }

    /// Returns the counters that every change raises.
    private static func traces(in office: Office) async throws -> [[String?]] {
        try await office.database.psql(
            "select revision, (select count(*) from federation.audit_log), (select count(*) from federation.mappings) from federation.configuration"
        )
    }

    @Test(
        "each document that ships is applied; applied again it changes nothing, to the last secret",
        arguments: DocumentFiles.ready
    )
    func ready(name: String) async throws {
        try await Office.lend { office in
            let text = try DocumentFiles.text(name)
            let planned = try await office.administration.documents.plan(
                try Self.document(text),
                environment: Self.environment
            )
            let steps = try await Self.apply(text, in: office)
            #expect(
                planned.changes.map(\.action) == steps.compactMap { $0.split(separator: " ").first.map(String.init) }
            )
            #expect(steps.count > 5)
            let logged = try await office.audit()
            #expect(Array(logged.suffix(steps.count)) == steps, "each step is in the audit log")

            let traces = try await Self.traces(in: office)
            #expect(try await Self.apply(text, in: office) == [])
            let again = try await office.administration.documents.plan(
                try Self.document(text),
                environment: Self.environment
            )
            #expect(again.changes.isEmpty && again.undeclared.isEmpty)
            #expect(try await Self.traces(in: office) == traces)
            let dump = try await Self.configuration(in: office).description + office.audit().description
            #expect(!dump.contains("canary"))
        }
    }

    @Test("what is exported makes the same application again when there is none", arguments: DocumentFiles.ready)
    func again(name: String) async throws {
        try await Office.lend { office in
            _ = try await Self.apply(try DocumentFiles.text(name), in: office)
            let id = try Self.document(try DocumentFiles.text(name)).id.text
            let exported = try await office.administration.documents.read(of: id).body.text
            // The export names other variables, which hold the same secrets.
            _ = try await Self.apply(exported, in: office)
            let before = try await Self.configuration(in: office)
            try await office.administration.applications.delete(id, confirmation: id, if: .any, by: Office.actor)
            _ = try await Self.apply(exported, in: office)
            #expect(try await Self.configuration(in: office) == before)
            #expect(try await office.administration.documents.read(of: id).body.text == exported)
            #expect(try await Self.apply(exported, in: office) == [])
        }
    }

    @Test("numbers that PostgreSQL writes in its own way are no difference")
    func numbers() async throws {
        try await Office.lend { office in
            let text = #"""
                {"application": "demo", "properties": {"n": {"type": "DOUBLE"}, "j": {"type": "JSON"}, "t": {"type": "TEXT"}},
                 "mapping": {"facebook": [{"from": "age_range.min", "to": "n", "default": 1e2},
                   {"from": "x", "to": "j", "default": {"b": [1.50, -0, 1E+3, 12e-3, 0.0, 123456789012345678901234567890], "a": 1.0e1}},
                   {"from": "gender", "to": "t", "transform": {"lookup": {"b": 2.50, "a": 1e1}}}]}}
                """#
            let first = try await Self.apply(text, in: office)
            #expect(first.count == 4)
            let second = try await Self.apply(text, in: office)
            #expect(second == [])
        }
    }

    @Test("a document that is wrong in any way changes nothing, and everything that is wrong is told at once")
    func wrong() async throws {
        try await Office.lend { office in
            try await office.database.psql("alter table demo.users add column theirs text not null default ''")
            try await office.database.psql("alter table demo.users alter column theirs drop default")
            let before = try await Self.configuration(in: office) + Self.traces(in: office)
            let document = try Self.document(
                #"{"application":"demo","name":"New","schema":"other","keys":[{"label":"ios","key":{"env":"KEY"}}],"properties":{"p":{"type":"INT"}},"mapping":{"facebook":{}}}"#
            )
            let expected = ["/keys/0/key/env", "/schema", "/mapping/facebook"]
            let applied = try await pointersOfProblems {
                try await office.administration.documents.apply(
                    document,
                    environment: { _ in nil },
                    if: .any,
                    by: Office.actor
                )
            }
            #expect(applied == expected)
            let planned = try await pointersOfProblems {
                try await office.administration.documents.plan(document, environment: { _ in nil })
            }
            #expect(planned == expected)
            let after = try await Self.configuration(in: office) + Self.traces(in: office)
            #expect(after == before)
        }
    }

    @Test("a plan says what would be done and does nothing")
    func plan() async throws {
        try await Office.lend { office in
            _ = try await Self.apply(
                #"{"application":"demo","properties":{"a":{"type":"INT"},"b":{"type":"INT"}},"mapping":{"facebook":{"id":"a"}}}"#,
                in: office
            )
            let before = try await Self.configuration(in: office) + Self.traces(in: office)
            let plan = try await office.administration.documents.plan(
                try Self.document(#"{"application":"demo","properties":{"b":{"type":"STRING"},"c":{"type":"DATE"}}}"#),
                environment: { _ in nil }
            )
            #expect(
                plan.changes.map(\.action) == [
                    "property.widen", "property.declare", "mapping.facebook.set", "property.order",
                ]
            )
            #expect(plan.undeclared.map(\.text) == ["a"])
            let after = try await Self.configuration(in: office) + Self.traces(in: office)
            #expect(after == before)
        }
    }

    @Test("a host name of another application is refused, before and while the document is applied")
    func hostNames() async throws {
        try await Office.lend { office in
            _ = try await Self.apply(#"{"application":"demo","settings":{"hostNames":["a.example"]}}"#, in: office)
            let other = #"{"application":"other","settings":{"hostNames":["b.example","a.example"]}}"#
            let planned = try await failure {
                try await office.administration.documents.plan(try Self.document(other), environment: Self.environment)
            }
            #expect(planned?.reason == .conflict)
            let applied = try await failure { try await Self.apply(other, in: office) }
            #expect(applied?.reason == .conflict)
            #expect(applied?.message.contains("a.example") == true)
            let missing = try await failure { try await office.administration.documents.read(of: "other") }
            #expect(missing?.reason == .notFound)
        }
    }

    @Test("a document is applied to what somebody has read, and to nothing else")
    func preconditions() async throws {
        try await Office.lend { office in
            let text = #"{"application":"demo","name":"Other"}"#
            let tag = try #require(try await office.administration.documents.read(of: "demo").tag)
            for (precondition, reason) in [
                (Precondition.missing, Failure.Reason.preconditionRequired), (.tags(["0"]), .preconditionFailed),
            ] {
                let refused = try await failure { try await Self.apply(text, in: office, if: precondition) }
                #expect(refused?.reason == reason)
            }
            #expect(try await Self.apply(text, in: office, if: .tags([tag])) == ["application.rename"])
            let gone = try await failure {
                try await Self.apply(#"{"application":"new"}"#, in: office, if: .tags([tag]))
            }
            #expect(gone?.reason == .preconditionFailed)
            #expect(try await Self.apply(#"{"application":"new"}"#, in: office, if: .missing) == ["application.create"])
        }
    }
}

/// Returns the places of a document's problems that applying or planning it reports.
private func pointersOfProblems(_ body: () async throws -> ApplicationPlan) async throws -> [String] {
    do {
        _ = try await body()
        return []
    } catch let problems as DocumentProblems {
        return problems.problems.map(\.pointer.text)
    }
}
