import Domain
import Encodings
import Foundation
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite("federation user import")
struct UserImportTests {
    private static let exports = PackageLayout.path("Tests/ImportTests/Exports")

    /// Lends an operator with an application, and a folder.
    private func withFolder(_ body: (CommandLineOperator, String, TestDatabase) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withDatabase { database in
            let ann = CommandLineOperator(database: database)
            try await ann.succeed("set applications/demo")
            try await body(ann, folder.path, database)
        }
    }

    private func setApp(of ann: CommandLineOperator) async throws {
        try await ann.succeed(
            "set applications/demo/providers/facebook apps.1234567890.appSecret=@-",
            input: "canary-typed-secret-0123456789"
        )
    }

    /// A page with the exports that its commands name, and the users in the application after the commands.
    struct Page: CustomTestStringConvertible {
        let name: String
        let files: [String: String]
        let users: Int
        let refused: [String]

        var testDescription: String { name }
    }

    private static let pages = [
        Page(name: "backendless", files: ["Users.csv": "backendless.csv"], users: 3, refused: ["passwordNotTaken"]),
        Page(
            name: "firebase",
            files: ["users.json": "firebase.json", "hash.txt": "hash.txt"],
            users: 3,
            refused: ["noLoginMethod"]
        ),
        Page(
            name: "identities",
            files: ["Users.csv": "backendless-facebook.csv", "pairs.csv": "pairs.csv"],
            users: 2,
            // The last two claim one id, and the first of them may be a thief.
            refused: ["identityNotTaken", "identityTaken", "identityTaken"]
        ),
        // The second command finds the users of the first.
        Page(
            name: "parse",
            files: ["users.json": "parse.json", "users.ndjson": "parse-mongo.ndjson"],
            users: 2,
            refused: ["noLoginMethod", "noLoginMethod"]
        ),
        Page(
            name: "auth0",
            files: ["users.ndjson": "auth0.ndjson"],
            users: 3,
            refused: ["passwordNotTaken", "malformed"]
        ),
        Page(name: "cognito", files: ["users.csv": "cognito.csv"], users: 1, refused: ["noLoginMethod"]),
        Page(name: "supabase", files: ["users.csv": "supabase.csv"], users: 2, refused: []),
        Page(
            name: "files",
            files: [
                "people.csv": "people.csv", "people-mapping.json": "people-mapping.json",
                "users.ndjson": "users.ndjson",
            ],
            users: 2,
            refused: []
        ),
    ]

    @Test("every command of docs/migrating does what its page says, on a small export of that form", arguments: pages)
    func page(page: Page) async throws {
        try await withFolder { ann, folder, database in
            try await setApp(of: ann)
            for (name, export) in page.files {
                try FileManager.default.copyItem(atPath: "\(Self.exports)/\(export)", toPath: "\(folder)/\(name)")
            }
            let source = PackageLayout.path("docs/migrating") + "/\(page.name).md"
            let text = try String(contentsOfFile: source, encoding: .utf8)
            let scripts = text.components(separatedBy: "```").filter { $0.hasPrefix("sh\n") }.map { $0.dropFirst(3) }
            #expect(!scripts.isEmpty)
            let binary = try PackageLayout.executable("federation")
            let path = binary.split(separator: "/").dropLast().map { "/" + $0 }.joined()
            let process = try await run(
                "bash",
                ["-c", "cd \"$0\" && PATH=$1:$PATH && \(scripts.joined(separator: "\n"))", folder, path],
                environment: ann.environment
            )
            for sign in ["Usage:", "Error:", "command not found", "syntax error", "federation: "] {
                #expect(!process.standardError.contains(sign), "\(process.standardError)")
            }
            #expect(
                try await database.psql("select count(*) from demo.users") == [["\(page.users)"]],
                "\(process.standardOutput)\(process.standardError)"
            )
            if let report = try? String(contentsOfFile: folder + "/refused.ndjson", encoding: .utf8) {
                let reasons = report.split(separator: "\n").compactMap { JSON.object(String($0))?["reason"]?.string }
                #expect(reasons == page.refused, "\(report)")
                #expect(!report.contains("@") && !report.contains("canary") && !report.contains("$2"))
            } else {
                #expect(page.refused.isEmpty)
            }
        }
    }

    @Test("prints what became of the records, keeps hashes encrypted, and ends with 65 where some were refused")
    func summary() async throws {
        try await withFolder { ann, folder, database in
            try await ann.succeed("set applications/demo/properties/age type=INT")
            let file = "\(Self.exports)/backendless.csv"
            let dry = try await ann.run("user import demo \(file) --from backendless --dry-run --json")
            #expect(dry.exitStatus == .exited(65))
            let expected = JSON.object(
                #"{"dryRun": true, "records": 3, "imported": 2, "existing": 0, "refused": 1, "identities": [], "unmapped": [{"field": "city", "records": 2}]}"#
            )
            #expect(JSON.object(dry.standardOutput) == expected)
            #expect(dry.standardError == "Line 5: the hash of the password has none of the forms that are known\n")
            #expect(try await database.psql("select count(*) from demo.users") == [["0"]])
            #expect(try await database.psql("select count(*) from federation.imports") == [["0"]])

            let report = "\(folder)/report"
            let done = try await ann.run("user import demo \(file) --from backendless --report \(report)")
            #expect(done.exitStatus == .exited(65))
            #expect(done.standardOutput.contains("imported") && done.standardError.contains("Refused records: 1."))
            let attributes = try FileManager.default.attributesOfItem(atPath: report)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            #expect(
                try await database.psql("select email, age from demo.users order by email") == [
                    ["ann@example.com", "36"], ["bob@example.com", nil],
                ]
            )
            // Bob has an unknown password, to be reset; no hash is stored unencrypted.
            #expect(
                try await database.psql(
                    "select login, position('$2a$' in encode(hash, 'escape')) from demo.passwords order by login"
                ) == [["ann@example.com", "0"], ["bob@example.com", "0"]]
            )
            let again = try await ann.run("user import demo \(file) --from backendless --without-passwords --json")
            #expect(JSON.object(again.standardOutput)?["existing"]?.integer == 2)
            #expect(JSON.object(again.standardOutput)?["imported"]?.integer == 1)
            let log = try await database.psql(
                "select details::text from federation.audit_log where action = 'user.import' order by id"
            )
            #expect(log.count == 4 && !log.description.contains("example.com"))
        }
    }

    @Test("import check reads the same file, exits with 1 while something is missing, and prints no value")
    func check() async throws {
        try await withFolder { ann, folder, database in
            let (file, report) = ("\(folder)/people.csv", "\(folder)/report")
            let text = "objectId,email,name,shoe\n1,ann@example.com,Ann,\n2,bob@example.com,Bob,43\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            func check(_ options: String, exit: Int32) async throws -> (JSONObject, String) {
                let run = try await ann.run("import check demo \(file) --from csv --json \(options)")
                #expect(run.exitStatus == .exited(exit), "\(run.standardError)")
                #expect(!(run.standardOutput + run.standardError).contains("@"))
                return (try #require(JSON.object(run.standardOutput)), run.standardError)
            }
            let (none, told) = try await check("", exit: 1)
            #expect(none["missing"]?.integer == 2)
            #expect(told == "Line 2: its user is not here\nLine 3: its user is not here\n")
            try await ann.succeed("user import demo \(file) --from csv")
            let (all, nothing) = try await check("", exit: 0)
            #expect(all["complete"]?.integer == 2 && all["droppedValues"]?.integer == 1 && nothing.isEmpty)
            try await database.psql("update demo.users set name = 'Bobby' where name = 'Bob'")
            let (other, line) = try await check("", exit: 0)
            #expect(other["differs"]?.integer == 1 && line == "Line 3: its user has another value of name\n")
            try await database.psql("delete from demo.users where name = 'Ann'")
            let (_, summary) = try await check("--report \(report)", exit: 1)
            #expect(summary == "Findings: 2. See \(report).\n")
            let reasons = try String(contentsOfFile: report, encoding: .utf8).split(separator: "\n").map {
                JSON.object(String($0))?["reason"]?.string
            }
            #expect(reasons == ["userMissing", "valueDiffers"])
            let table = try await ann.run("import check demo \(file) --from csv")
            #expect(table.standardOutput.contains("PROPERTY") && table.standardOutput.contains("shoe"))
            try await ann.fail("import check demo \(file) --from firebase", with: 64)
            try await ann.fail("import check none \(file) --from csv", with: 66)
        }
    }

    @Test("a mapping or a file that cannot be read, and options that do not go together, are said at once")
    func refusals() async throws {
        try await withFolder { ann, folder, _ in
            let file = "\(Self.exports)/firebase.json"
            for (words, code) in [
                ("user import demo \(file) --from firebase", 64),
                ("user import demo \(file) --from parse --hash-config \(file)", 64),
                ("user import demo \(file) --from parse --field objectId=id", 64),
                ("user import demo \(file) --from parse --resume --restart", 64),
                ("user import demo \(file) --from elsewhere", 64),
                ("user import demo \(file) --from firebase --hash-config \(file)", 65),
                ("user import demo \(file) --from csv --mapping \(file)", 65),
                ("user import demo \(Self.exports)/people.csv --from parse", 65),
                ("user import none \(file) --from parse", 66),
                ("user import demo \(folder)/none --from parse", 66),
                ("user import demo \(folder) --from parse", 66),
                ("user import demo \(file) --from parse --report \(folder)/none/report", 73),
            ] as [(String, Int32)] {
                let said = try await ann.fail(words, with: code)
                #expect(!said.contains("jxspr8Ki0"), "\(words)")
            }
        }
    }

    @Test("an app that the application does not have at the provider is refused before a record is read")
    func unknownApp() async throws {
        try await withFolder { ann, folder, database in
            let file = "\(folder)/people.csv"
            try Data("objectId,email,fbId\n1,ann@example.com,77\n".utf8).write(to: URL(fileURLWithPath: file))
            try await setApp(of: ann)
            for command in ["user import demo", "import check demo"] {
                let words = "\(command) \(file) --from csv --identity facebook=fbId,app="
                let said = try await ann.fail(words + "1234567891", with: 65)
                #expect(said.contains("no app 1234567891 at facebook, but 1234567890"), "\(said)")
            }
            #expect(try await database.psql("select count(*) from federation.imports") == [["0"]])
            try await ann.succeed("user import demo \(file) --from csv --identity facebook=fbId,app=1234567890")
            // Without the provider, nothing tells which apps the operator has.
            try await ann.succeed("delete applications/demo/providers/facebook --confirm facebook")
            try await ann.succeed("user import demo \(file) --from csv --identity facebook=fbId,app=1 --restart")
        }
    }

    @Test("the report is a new file, and never the one that is read; what is refused at the start leaves it as it was")
    func report() async throws {
        try await withFolder { ann, folder, database in
            let (file, link, report) = ("\(folder)/people.csv", "\(folder)/link.csv", "\(folder)/report")
            let text = "objectId,email\n1,broken\n2,bob@example.com\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            try FileManager.default.linkItem(atPath: file, toPath: link)
            for name in [file, link] {
                try await ann.fail("user import demo \(file) --from csv --report \(name)", with: 73)
                #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
            }
            try Data("former".utf8).write(to: URL(fileURLWithPath: report))
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: report)
            try await ann.fail("user import demo \(Self.exports)/people.csv --from parse --report \(report)", with: 65)
            #expect(try String(contentsOfFile: report, encoding: .utf8) == "former")
            let done = try await ann.run("user import demo \(file) --from csv --report \(report)")
            #expect(done.exitStatus == .exited(65))
            #expect(try String(contentsOfFile: report, encoding: .utf8).contains("emailInvalid"))
            let attributes = try FileManager.default.attributesOfItem(atPath: report)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(Set(names) == ["people.csv", "link.csv", "report"])
        }
    }

    @Test("parameters by which no hash of Firebase's could be checked are refused before a record is read")
    func hashParameters() async throws {
        try await withFolder { ann, folder, database in
            let good = try String(contentsOfFile: "\(Self.exports)/hash.txt", encoding: .utf8)
            let file = "\(folder)/hash.txt"
            try Data(good.replacing("mem_cost: 14", with: "mem_cost: 60").utf8).write(to: URL(fileURLWithPath: file))
            let words = "user import demo \(Self.exports)/firebase.json --from firebase --hash-config \(file)"
            let said = try await ann.fail(words, with: 65)
            #expect(said.contains("hash.txt") && !said.contains("jxspr8Ki0"), "\(said)")
            #expect(try await database.psql("select count(*) from federation.imports") == [["0"]])
        }
    }

    @Test("a table that was there before takes users, by its own rules and defaults")
    func adopted() async throws {
        try await withFolder { ann, folder, database in
            try await database.psql(
                """
                create table public.customers (
                    id serial primary key, mail text unique, points integer, note text not null default 'kept'
                )
                """
            )
            try await ann.succeed("set applications/demo/properties/points type=INT")
            try await ann.succeed(
                "adopt demo --table public.customers --id id --email mail --property points=points --yes"
            )
            try await database.psql(
                """
                alter table customers alter points set default 7, alter points set not null;
                alter table customers add check (points < 100)
                """
            )
            let file = "\(folder)/people.csv"
            let text = "objectId,email,points\n1,ann@example.com,\n2,bob@example.com,5\n3,cat@example.com,100\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            for options in ["--dry-run --json", "--json", "--json"] {
                let isDone = try await database.psql("select 1 from customers").count == 2
                let done = try await ann.run("user import demo \(file) --from csv \(options)")
                #expect(done.exitStatus == .exited(65), "\(done.standardError)")
                let summary = try #require(JSON.object(done.standardOutput))
                #expect(summary["imported"]?.integer == (isDone ? 0 : 2) && summary["refused"]?.integer == 1)
            }
            #expect(
                try await database.psql("select mail, points, note from customers order by mail") == [
                    ["ann@example.com", "7", "kept"], ["bob@example.com", "5", "kept"],
                ]
            )
            #expect(try await database.psql("select count(distinct object_id) from demo.users") == [["2"]])
        }
    }

    @Test("resumed right after a kill, it waits for the batch that PostgreSQL is still at, and says so")
    func resumedAtOnce() async throws {
        try await withFolder { ann, folder, database in
            let file = "\(folder)/people.csv"
            var text = "objectId,email\n"
            for number in 1...40 { text += "\(number),user\(number)@example.com\n" }
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            // The second batch runs until the test ends it, so that the process can be killed meanwhile.
            try await database.psql(
                """
                create table held as select 1 as n;
                create function demo.linger() returns trigger language plpgsql as $body$
                begin
                    if new.email = 'user30@example.com' then
                        while exists (select from public.held) loop perform pg_sleep(0.02); end loop;
                    end if;
                    return new;
                end $body$;
                create trigger linger before insert on demo.users for each row execute function demo.linger()
                """
            )
            let words = "user import demo \(file) --from csv --batch 20 --json"
            func start(_ words: String) async throws -> ManagedProcess {
                try await ManagedProcess.start(
                    try PackageLayout.executable("federation"),
                    words.split(separator: " ").map(String.init),
                    environment: ann.environment
                )
            }
            let process = try await start(words)
            try await eventually("the second batch is under way") {
                try await !database.psql("select 1 from pg_stat_activity where wait_event = 'PgSleep'").isEmpty
            }
            try await process.kill()
            let end = try await start(words + " --resume")
            try await eventually("it says that it waits") { end.standardError.contains("Waiting for the last batch") }
            try await database.psql("delete from held")
            #expect(try await end.waitForExit() == .exited(0), "\(end.standardError)")
            let summary = try #require(JSON.object(end.standardOutput))
            #expect(summary["records"]?.integer == 40 && summary["refused"]?.integer == 0)
            #expect(try await database.psql("select count(*) from demo.users") == [["40"]])
        }
    }

    @Test("a member that looks like a credential refuses the record, or is left out by name and counted")
    func leftOut() async throws {
        try await withFolder { ann, folder, _ in
            let file = "\(folder)/people.csv"
            try Data("objectId,email,password\n1,ann@example.com,CANARY\n".utf8).write(to: URL(fileURLWithPath: file))
            let refused = try await ann.run("user import demo \(file) --from csv --json")
            #expect(refused.exitStatus == .exited(65))
            #expect(refused.standardError.contains(#""password" looks like a credential"#), "\(refused.standardError)")
            #expect(refused.standardError.contains("--without-member") && !refused.standardError.contains("CANARY"))
            let done = try await ann.run("user import demo \(file) --from csv --without-member password --json")
            #expect(done.exitStatus == .exited(0), "\(done.standardError)")
            #expect(done.standardOutput.replacing(" ", with: "").contains(#"{"field":"password","records":1}"#))
        }
    }

    @Test("killed in the middle and resumed: nothing is lost, nothing there twice")
    func killed() async throws {
        try await withFolder { ann, folder, database in
            let count = 12_000
            var text = "objectId,email,name\n"
            for number in 1...count { text += "\(number),user\(number)@example.com,User \(number)\n" }
            // One record is a duplicate, and one is malformed.
            text += "17,user17@example.com,User 17\n18,broken\n"
            let file = "\(folder)/people.csv"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            let words = "user import demo \(file) --from csv --batch 200 --json"
            var arguments = words.split(separator: " ").map(String.init)
            func done() async throws -> Int {
                Int((try await database.psql("select coalesce(max(records), 0) from federation.imports")[0][0]) ?? "")
                    ?? 0
            }
            for _ in 1...3 {
                let before = try await done()
                let process = try await ManagedProcess.start(
                    try PackageLayout.executable("federation"),
                    arguments,
                    environment: ann.environment
                )
                try await eventually("some records are done") { try await done() > before + 500 }
                try await process.kill()
                if before == 0 {
                    let refused = try await ann.run(words)
                    #expect(refused.exitStatus == .exited(65))
                    #expect(refused.standardError.contains("--resume"), "\(refused.standardError)")
                    arguments.append("--resume")
                }
            }
            #expect(try await done() < count)
            let end = try await ann.run(words + " --resume")
            #expect(end.exitStatus == .exited(65))
            let summary = try #require(JSON.object(end.standardOutput))
            #expect(summary["records"]?.integer == Int64(count + 2) && summary["imported"]?.integer == Int64(count))
            #expect(summary["existing"]?.integer == 0 && summary["refused"]?.integer == 2)
            #expect(end.standardError.contains("Line \(count + 2): an earlier record has the same id"))
            #expect(
                try await database.psql(
                    "select count(*), count(distinct email), (select count(*) from demo.passwords) from demo.users"
                ) == [["\(count)", "\(count)", "\(count)"]]
            )
            // A further run reports the same.
            let finished = try await ann.run(words + " --resume")
            #expect(JSON.object(finished.standardOutput)?["imported"]?.integer == Int64(count))
        }
    }
}
