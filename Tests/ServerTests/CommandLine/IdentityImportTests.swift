import Domain
import Encodings
import Foundation
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("federation identity import")
struct IdentityImportTests {
    /// Lends an operator with an application, users, and a function that writes a file.
    private func withUsers(
        _ body: (CommandLineOperator, TestDatabase, (String) throws -> String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            try await ann.succeed("set applications/demo")
            try await ann.succeed(
                "set applications/demo/providers/facebook apps.1234567890.appSecret=@-",
                input: "canary-typed-secret-0123456789"
            )
            try await database.psql(
                """
                insert into demo.users (object_id, email, user_status) values
                    ('\(Self.id(1))', 'Ann@example.com', 'ENABLED'), ('\(Self.id(2))', 'bob@example.com', 'DISABLED'),
                    ('\(Self.id(3))', 'twin@example.com', 'ENABLED'), ('\(Self.id(4))', 'TWIN@example.com', 'ENABLED'),
                    ('\(Self.id(5))', null, 'GUEST'), ('\(Self.id(6))', 'dora@example.com', 'ENABLED'),
                    ('\(Self.id(7))', 'eve@example.com', 'ENABLED');
                update demo.users set email_verified = true, created = '2020-01-01' where email !~ 'dora';
                insert into demo.identities (provider, provider_app, subject, object_id) values
                    ('facebook', '1234567890', '6', '\(Self.id(6))'), ('facebook', '77', '1', '\(Self.id(1))')
                """
            )
            try await body(ann, database) { text in
                let path = folder.appending(path: UUID().uuidString).path
                try text.write(toFile: path, atomically: true, encoding: .utf8)
                return path
            }
        }
    }

    private static func id(_ number: Int) -> String { "0F3C2A5E-6D1B-4C8A-9E7F-00000000000\(number)" }

    private static let command = "identity import demo FILE --provider facebook --app 1234567890 --json"

    /// A record, and the reason of its refusal; nil if the user gets the identity.
    private static let records: [(String, String?)] = [
        ("\(id(1)),,1", nil),
        (",BOB@example.com,2", nil),
        (",twin@example.com,3", "userAmbiguous"),
        ("\(id(5)),,5", "userIsGuest"),
        // It is the identity of another user.
        ("\(id(7)),,6", "identityTaken"),
        ("\(id(6)),,66", "userHasIdentity"),
        // Somebody may have registered with the address of another.
        (",dora@example.com,11", "emailUnconfirmed"),
        ("\(id(1)),,12", "repeated"),
        ("\(id(9)),,9", "userUnknown"),
        (",nobody@example.com,10", "userUnknown"),
        ("\(id(7)),,ann", "identityNotTaken"),
        ("\(id(7)),,", "identityNotTaken"),
        ("\(id(7)),eve@example.com,7", "malformed"),
        (",,7", "idMissing"),
        ("g7y9tkhB7O,,8", "idMissing"),
        (",\"eve@example.com, x@example.com\",7", "emailInvalid"),
        // Two users claim one subject: the first may be a thief, so neither gets it.
        ("\(id(3)),,42", "identityTaken"),
        ("\(id(4)),,42", "identityTaken"),
        // A refused record is a claim, too.
        (",é@example.com,77", "emailInvalid"),
        ("\(id(7)),,77", "identityTaken"),
    ]

    @Test("gives users the identities that fit, refuses the others by line, and a dry run says the same")
    func outcomes() async throws {
        try await withUsers { ann, database, file in
            let text = "objectId,email,subject\n" + Self.records.map { $0.0 + "\n" }.joined()
            let command = Self.command.replacing("FILE", with: try file(text))
            let refused = Self.records.enumerated().filter { $0.element.1 != nil }
            let identities =
                "select subject, object_id from demo.identities where provider_app = '1234567890' order by 1"
            for (isDryRun, existing) in [(true, 0), (false, 0), (false, 2)] {
                let report = try file("") + ".ndjson"
                let run = try await ann.run("\(command) --report \(report)\(isDryRun ? " --dry-run" : "")")
                #expect(run.exitStatus == .exited(65), "\(run.standardError)")
                let sum = JSON.object(
                    #"{"dryRun": \#(isDryRun), "records": \#(Self.records.count), "imported": \#(2 - existing), "existing": \#(existing), "refused": \#(refused.count)}"#
                )
                #expect(JSON.object(run.standardOutput) == sum, "\(run.standardOutput)")
                let lines = try String(contentsOfFile: report, encoding: .utf8).split(separator: "\n")
                let reasons = lines.compactMap { JSON.object(String($0)) }
                #expect(reasons.compactMap { $0["reason"]?.string } == refused.compactMap(\.element.1))
                #expect(reasons.compactMap { $0["line"]?.integer } == refused.map { Int64($0.offset + 2) })
                #expect(!lines.contains { $0.contains("@") }, "a report has no value of the file")
                let rows = try await database.psql(identities)
                #expect(
                    rows.map { $0.map { $0?.uppercased() } }
                        == (isDryRun ? [] : [["1", Self.id(1)], ["2", Self.id(2)]]) + [["6", Self.id(6)]]
                )
            }
            // Otherwise the undo of an older change would remove them as those of a thief.
            let young = try await database.psql(
                """
                select subject from demo.identities i join demo.users u using (object_id)
                where i.created <> u.created and provider_app = '1234567890' and subject <> '6'
                """
            )
            #expect(young.isEmpty)
            let entries = try await database.psql(
                """
                select details #>> '{to,step}', details #>> '{to,imported}'
                from federation.audit_log where action = 'identity.import' order by id
                """
            )
            #expect(entries == [["begin", nil], ["end", "2"], ["begin", nil], ["end", "0"]])
        }
    }

    @Test("more records than one batch: a user of an earlier batch is known, and a locked user is waited for")
    func batches() async throws {
        try await withUsers { ann, database, file in
            try await database.psql(
                """
                insert into demo.users (object_id, email)
                select ('00000000-0000-4000-8000-' || lpad(g::text, 12, '0'))::uuid, 'u' || g || '@example.com'
                from generate_series(1, 1100) g;
                update demo.users set email_verified = true where email = 'u1@example.com'
                """
            )
            func row(_ number: Int, _ subject: Int) -> String {
                let digits = String(number)
                return
                    "00000000-0000-4000-8000-\(String(repeating: "0", count: 12 - digits.count))\(digits),,\(subject)\n"
            }
            // The last record names the user of the first one by address.
            let rest = row(1, 9999) + ",u1@example.com,9998\n"
            let text = "objectId,email,subject\n" + (1...1100).map { row($0, 1000 + $0) }.joined() + rest
            let command = Self.command.replacing("FILE", with: try file(text))
            func sum(isDryRun: Bool) -> JSONObject? {
                JSON.object(
                    #"{"dryRun": \#(isDryRun), "records": 1102, "imported": 1100, "existing": 0, "refused": 2}"#
                )
            }
            let dry = try await ann.run(command + " --dry-run")
            #expect(JSON.object(dry.standardOutput) == sum(isDryRun: true), "\(dry.standardOutput)")
            let waiting = """
                select xact_start from pg_stat_activity
                where wait_event_type = 'Lock' and query like '%import_pairs%' and datname = current_database()
                """
            let lock = "select from demo.users where object_id = '00000000-0000-4000-8000-000000000500' for update"
            let run = try await database.whileLocked(lock) { unlock in
                async let run = ann.run(command)
                var attempts: Set<String> = []
                try await eventually("the batch is written again", within: .seconds(60)) {
                    attempts.formUnion(try await database.psql(waiting).compactMap { $0[0] })
                    return attempts.count > 1
                }
                try await unlock()
                return try await run
            }
            #expect(JSON.object(run.standardOutput) == sum(isDryRun: false), "\(run.standardError)")
            for told in [dry.standardError, run.standardError] {
                #expect(told.contains("Line 1102: an earlier record has the same user"), "\(told)")
                #expect(told.contains("Line 1103: its user has another identity of this provider"), "\(told)")
            }
        }
    }

    @Test("takes lines of JSON with the former system's ids, and refuses a banned identity")
    func formerIDs() async throws {
        try await withUsers { ann, database, file in
            let users = try file("{\"objectId\": \"g7y9tkhB7O\", \"email\": \"parse@example.com\"}\n")
            try await ann.succeed("user import demo \(users) --from parse")
            let pairs = try file("{\"objectId\": \"g7y9tkhB7O\", \"subject\": 12345}\n")
            let command = Self.command.replacing("FILE", with: pairs) + " --from ndjson"
            #expect(try await ann.run(command).exitStatus == .exited(65))
            try await ann.succeed("\(command) --ids-of parse")
            let owner = try await database.psql(
                "select u.email from demo.identities i join demo.users u using (object_id) where i.subject = '12345'"
            )
            #expect(owner == [["parse@example.com"]])
            // The user is disabled and erased, which bans the identity.
            let id = try #require(
                try await database.psql("select object_id from demo.users where email = 'parse@example.com'")[0][0]
            )
            try await ann.succeed("patch applications/demo/users/\(id) userStatus=DISABLED")
            try await ann.succeed("user erase demo \(id) --confirm \(id)")
            let again = try await ann.run(
                Self.command.replacing("FILE", with: try file("objectId,subject\n\(Self.id(7)),12345\n"))
            )
            #expect(again.exitStatus == .exited(65))
            #expect(again.standardError.contains("is banned"), "\(again.standardError)")
        }
    }

    @Test(
        "a CSV file without the columns of a pair is refused as a whole",
        arguments: ["subject\n1\n", "objectId,Subject\n1,2\n", "0F3C2A5E-6D1B-4C8A-9E7F-000000000007,7\nx,8\n"]
    )
    func columns(text: String) async throws {
        try await withUsers { ann, database, file in
            let run = try await ann.run(Self.command.replacing("FILE", with: try file(text)))
            #expect(run.exitStatus != .exited(0) && run.standardError.contains("The header of the file must name"))
            #expect(
                try await database.psql("select count(*) from federation.audit_log where action = 'identity.import'")
                    == [["0"]]
            )
        }
    }

    @Test(
        "says what is wrong with its arguments, and writes nothing",
        arguments: [
            ("identity import demo FILE --provider facebook", "name the app by --app"),
            ("identity import demo FILE --provider twitter --app 1", "leave the app out"),
            ("identity import demo FILE --provider facebook --app 77", "no app 77 at facebook, but 1234567890"),
            ("identity import demo FILE --provider nowhere --app 1", "facebook, oauth2, oidc, twitter"),
            ("identity import demo FILE --provider password --app 1", "password"),
            ("identity import demo FILE --provider facebook --app 1 --from parse", "csv or ndjson"),
            ("identity import other FILE --provider facebook --app 1", "application"),
        ]
    )
    func refused(command: String, message: String) async throws {
        try await withUsers { ann, database, file in
            let path = try file("objectId,email,subject\n\(Self.id(7)),,7\n")
            let run = try await ann.run(command.replacing("FILE", with: path))
            #expect(run.exitStatus != .exited(0) && run.standardError.contains(message), "\(run.standardError)")
            #expect(try await database.psql("select count(*) from demo.identities") == [["2"]])
        }
    }
}
