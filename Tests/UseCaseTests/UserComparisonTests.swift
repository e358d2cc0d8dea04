import Administration
import Domain
import Encodings
import Import
import Store
import Testing
import TestSupport

@Suite("Comparing an export with the users who are here")
struct UserComparisonTests {
    private static func job(_ lines: [String], batch: Int) -> ImportJob {
        let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
        var job = ImportJob(
            application: "demo",
            source: .ndjson,
            options: ImportOptions(),
            fileHash: FileDigest.digest(of: bytes)
        ) {
            var rest: [UInt8]? = bytes
            return {
                defer { rest = nil }
                return rest ?? []
            }
        }
        job.batch = batch
        return job
    }

    private static let hash = "$2a$10$fVH8e28OQRj9tqiDXs1e1uxpsjN0c7II7YPKXua2NAKYvM6iQk7dq"

    private static func line(_ number: Int, email: String? = nil, _ more: String = "") -> String {
        #"{"objectId": "\#(number)", "email": "\#(email ?? "u\(number)@example.com")"\#(more.isEmpty ? "" : ", ")\#(more)}"#
    }

    private static func facebook(_ subject: Int) -> String {
        #""identities": [{"provider": "facebook", "app": "1", "subject": "\#(subject)"}]"#
    }

    private static func of(_ number: Int) -> String {
        "object_id = (select object_id from demo.users where email = 'u\(number)@example.com')"
    }

    /// A record, what happens to its user after the import, and the reasons of the expected findings.
    private static let records: [(line: String, change: String, found: [String])] = [
        (
            line(
                1,
                #""passwordHash": "\#(hash)", \#(facebook(11)), "age": 7, "height": 1.75, "seen": 1577836800123, "#
                    + #""day": "2020-02-29", "vip": true, "extra": {"b": 1.0, "a": [2]}, "blUserLocale": "de", "#
                    + #""roles": ["admin"], "emailVerified": true, "name": "Ann", "note": "x", "shoe": 42"#
            ), "", []
        ),
        (line(2, #""note": "y", \#(facebook(12))"#), "delete from demo.users where \(of(2))", ["userMissing"]),
        (line(3, facebook(13)), "delete from demo.identities where subject = '13'", ["identityMissing"]),
        (
            line(4, facebook(14)),
            """
            update demo.identities set object_id = (select object_id from demo.users where email = 'u1@example.com')
            where subject = '14'
            """,
            ["identityTaken"]
        ),
        (line(5, #""passwordHash": "\#(hash)""#), "delete from demo.passwords where \(of(5))", ["passwordMissing"]),
        (
            line(6, #""age": 7, "name": "Bob""#), "update demo.users set age = 8, name = 'BOB' where \(of(6))",
            ["valueDiffers"]
        ),
        (line(7), "update demo.users set user_status = 'DISABLED' where \(of(7))", ["valueDiffers"]),
        (
            line(8, #""emailVerified": true"#), "update demo.users set email_verified = false where \(of(8))",
            ["valueDiffers"]
        ),
        (line(9, #""roles": ["admin"]"#), "delete from demo.user_roles where \(of(9))", ["valueDiffers"]),
        (line(10, #""blUserLocale": "de""#), "update demo.users set locale = null where \(of(10))", ["valueDiffers"]),
        (
            line(11), "insert into demo.users (object_id, email) values (gen_random_uuid(), 'U11@example.com')",
            ["emailShared"]
        ),
        // The user was here before the import, with another id.
        (line(12, email: "there@example.com"), "", ["userMissing", "loginShared", "emailShared"]),
        (line(13, email: "no address"), "", ["emailInvalid"]),
        (line(1), "", ["repeated"]),
        (line(15), "delete from demo.users where \(of(15))", ["userMissing"]),
        (line(16, email: "U15@example.com"), "", ["userMissing", "loginShared", "emailShared"]),
        // What a user has got here is no difference.
        (
            line(17),
            """
            update demo.users set age = 9, email_verified = true where \(of(17));
            insert into demo.user_roles (object_id, role) select object_id, 'admin' from demo.users where \(of(17))
            """, []
        ),
        (
            line(18, #""firebaseUid": "u18", "firebaseClaims": {"plan": "gold"}"#),
            "update demo.firebase_users set claims = null where \(of(18))", ["valueDiffers"]
        ),
    ]

    private func withOffice(_ body: (Office) async throws -> Void) async throws {
        try await Office.lend { office in
            let types = [
                ("age", "INT"), ("height", "DOUBLE"), ("seen", "DATETIME"), ("day", "DATE"), ("vip", "BOOLEAN"),
                ("extra", "JSON"),
            ]
            for (name, type) in types {
                _ = try await office.administration.properties.declare(
                    of: "demo",
                    .object(["name": .string(name), "type": .string(type)]),
                    if: .any,
                    by: Office.actor
                )
            }
            try await change(#"{"settings": {"roles": ["admin"]}}"#, office)
            try await body(office)
        }
    }

    private func change(_ patch: String, _ office: Office) async throws {
        _ = try await office.administration.applications.change(
            "demo",
            patch: try json(patch),
            if: .any,
            by: Office.actor
        )
    }

    /// Compares a file, and returns the summary and the findings as `LINE REASON`.
    private func compare(_ job: ImportJob, _ office: Office) async throws -> (ComparisonSummary, [RecordFinding]) {
        var findings: [RecordFinding] = []
        let summary = try await office.administration.userImport.compare(
            job,
            by: Office.actor,
            found: { findings.append($0) }
        )
        return (summary, findings)
    }

    @Test(
        "every record has one outcome and its findings, whatever the batches, and nothing changes",
        arguments: [1, 3, 100]
    )
    func findings(batch: Int) async throws {
        try await withOffice { office in
            try await office.database.psql(
                """
                with there as (
                    insert into demo.users (object_id, email) values (gen_random_uuid(), 'there@example.com')
                    returning object_id
                )
                insert into demo.passwords (object_id, login, hash, hash_key_id)
                select object_id, 'there@example.com', 'x', 'x' from there
                """
            )
            let lines = Self.records.map(\.line)
            _ = try await office.administration.userImport.run(Self.job(lines, batch: 100), by: Office.actor)
            // Before any change, only what the import refused is not complete.
            let (before, _) = try await compare(Self.job(lines, batch: batch), office)
            #expect(before.counts.complete == 14 && before.counts.missing == 2 && before.counts.refused == 2)
            #expect(before.differences.isEmpty)
            for record in Self.records where !record.change.isEmpty { try await office.database.psql(record.change) }
            let state = """
                select (select string_agg(u::text, '' order by object_id) from demo.users u),
                    (select string_agg(i::text, '' order by subject) from demo.identities i),
                    (select string_agg(p::text, '' order by login) from demo.passwords p),
                    (select string_agg(i::text, '') from federation.imports i),
                    (select string_agg(r::text, '' order by record) from federation.import_refusals r)
                """
            let stored = try await office.database.psql(state)
            let audited = try await office.audit()
            let (summary, findings) = try await compare(Self.job(lines, batch: batch), office)
            #expect(try await office.database.psql(state) == stored)
            #expect(try await office.audit() == audited + ["user.search"])
            let expected = Self.records.enumerated().flatMap { index, record in
                record.found.map { "\(index + 1) \($0)" }
            }
            #expect(findings.map { "\($0.line) \($0.reason)" } == expected)
            #expect(!findings.contains { $0.message.contains("@") || $0.message.contains("Bob") })
            #expect(findings.contains { $0.message == "its user has another value of name, age" })
            let told = JSONValue.object(summary.json)
            let whole = """
                {"records": 18, "complete": 3, "differs": 6, "incomplete": 3, "missing": 4, "refused": 2,
                 "passwordsTaken": 1, "passwordsMissing": 1, "emailsShared": 3, "loginsShared": 2,
                 "droppedRecords": 2, "droppedValues": 3,
                 "identities": [{"provider": "facebook", "here": 1, "missing": 2, "ofOthers": 1}],
                 "differences": [
                    {"property": "age", "records": 1}, {"property": "emailVerified", "records": 1},
                    {"property": "firebaseClaims", "records": 1},
                    {"property": "locale", "records": 1}, {"property": "name", "records": 1},
                    {"property": "roles", "records": 1}, {"property": "userStatus", "records": 1}
                 ],
                 "unmapped": [{"field": "note", "records": 2}, {"field": "shoe", "records": 1}]}
                """
            #expect(told == (try json(whole)), "\(told.text)")
            #expect(summary.counts.lackSomething)
        }
    }

    @Test("undeclared properties are compared by name, and other values alone lack nothing")
    func undeclared() async throws {
        try await withOffice { office in
            try await change(#"{"settings": {"undeclaredProperties": "store"}}"#, office)
            let lines = [Self.line(1, #""shoe": 42"#), Self.line(2, #""shoe": 43"#)]
            _ = try await office.administration.userImport.run(Self.job(lines, batch: 10), by: Office.actor)
            try await office.database.psql("update demo.users set dynamic = '{\"shoe\": 44}' where \(Self.of(2))")
            let (summary, findings) = try await compare(Self.job(lines, batch: 10), office)
            #expect(summary.differences == ["shoe": 1] && summary.counts.complete == 1 && summary.counts.differs == 1)
            #expect(findings.map { "\($0.line) \($0.reason)" } == ["2 valueDiffers"])
            #expect(!summary.counts.lackSomething && summary.unmapped.isEmpty)
        }
    }
}
