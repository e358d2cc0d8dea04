import Administration
import Foundation
import Import
import Mapping
import Passwords
import Secrets
import Store
import TestSupport
import Testing
import Vocabulary

@Suite("Bringing users along")
struct UserImportTests {
    /// A file of so many users, in memory.
    private static func file(_ users: Int, from first: Int = 1) -> [UInt8] {
        var text = "objectId,email,name,age\n"
        for number in first..<first + users { text += "\(number),user\(number)@example.com,User \(number),\(number)\n" }
        return Array(text.utf8)
    }

    /// Stops an import in its middle, as a machine that fails does.
    private struct Broken: Error {}

    private static func job(
        _ bytes: [UInt8],
        from source: ImportSource = .csv,
        batch: Int = 100,
        _ former: ImportJob.Former = .refused,
        options: ImportOptions = ImportOptions(),
        parts: Int = 512,
        breakingBehind readable: Int = .max
    ) -> ImportJob {
        var digest = FileDigest()
        digest.add(bytes)
        var job = ImportJob(application: "demo", source: source, options: options, fileHash: digest.bytes) {
            var rest = bytes.prefix(readable)[...]
            return {
                guard !rest.isEmpty || readable >= bytes.count else { throw Broken() }
                defer { rest = rest.dropFirst(parts) }
                return Array(rest.prefix(parts))
            }
        }
        job.batch = batch
        job.former = former
        return job
    }

    private func run(_ job: ImportJob, _ office: Office) async throws -> [Int] {
        let summary = try await office.administration.userImport.run(job, by: Office.actor)
        let counts = summary.counts
        return [counts.records, counts.imported, counts.existing, counts.refused]
    }

    private func users(_ office: Office) async throws -> String? {
        try await office.database.psql("select count(*) from demo.users").first?.first ?? nil
    }

    @Test("a file becomes users, and once more none")
    func twice() async throws {
        try await Office.lend { office in
            #expect(try await run(Self.job(Self.file(250)), office) == [250, 250, 0, 0])
            #expect(try await run(Self.job(Self.file(250)), office) == [250, 0, 250, 0])
            // A later export has more of them.
            #expect(try await run(Self.job(Self.file(300)), office) == [300, 50, 250, 0])
            #expect(try await users(office) == "300")
            let log = try await office.audit().filter { $0 == "user.import" }
            #expect(log.count == 6)
        }
    }

    @Test("wherever an import breaks, it goes on from there: nothing lost, nothing twice")
    func resumed() async throws {
        try await Office.lend { office in
            let bytes = Self.file(500)
            var broken = 0
            for readable in stride(from: 600, to: bytes.count, by: 1500) {
                await #expect(throws: Broken.self) {
                    try await run(Self.job(bytes, batch: 30, .resumed, breakingBehind: readable), office)
                }
                broken += 1
            }
            #expect(broken > 5)
            let there = Int(try await users(office) ?? "") ?? 0
            #expect(there > 300 && there < 500)
            // Who says nothing of it learns that there is something to go on with.
            let refusal = await #expect(throws: Failure.self) { try await run(Self.job(bytes), office) }
            #expect(refusal?.reason == .conflict)
            #expect(try await run(Self.job(bytes, batch: 30, .resumed), office) == [500, 500, 0, 0])
            #expect(try await users(office) == "500")
            // At its end there is nothing to go on with, and what became of it is said again.
            #expect(try await run(Self.job(bytes, .resumed), office) == [500, 500, 0, 0])
            #expect(try await run(Self.job(bytes, .begunAnew), office) == [500, 0, 500, 0])
        }
    }

    @Test("two processes that import one file do it once, and one of them says so")
    func atOnce() async throws {
        try await Office.lend { office throws in
            let bytes = Self.file(400)
            async let first = try? await run(Self.job(bytes, batch: 20, .resumed), office)
            async let second = try? await run(Self.job(bytes, batch: 20, .resumed), office)
            _ = await (first, second)
            #expect(try await run(Self.job(bytes, batch: 20, .resumed), office)[0] == 400)
            #expect(try await users(office) == "400")
        }
    }

    @Test("of users of one file who share a login or an id, the first one counts, in a dry run, too")
    func repetitions() async throws {
        try await Office.lend { office in
            let text = """
                objectId,email
                1,ann@example.com
                2,bob@example.com
                1,other@example.com
                3,ANN@example.com
                4,bob@example.com
                5,cat@example.com

                """
            for batch in [1, 2, 100] {
                let check = try await office.administration.userImport.check(Self.job(Array(text.utf8), batch: batch))
                #expect(
                    check.counts.imported == 3 && check.counts.existing == 1 && check.counts.refused == 2,
                    "\(batch)"
                )
                #expect(try await users(office) == "0")
            }
            #expect(try await run(Self.job(Array(text.utf8)), office) == [6, 3, 1, 2])
        }
    }

    @Test("refused records are told of in the order of the file, and again when an import has come to its end")
    func refusals() async throws {
        try await Office.lend { office in
            var text = "objectId,email\n"
            for number in 1...30 {
                text += number.isMultiple(of: 7) ? "\(number)\n" : "\(number),u\(number)@example.com\n"
            }
            let job = Self.job(Array(text.utf8), batch: 4, .resumed)
            for _ in 1...2 {
                var told: [String] = []
                var listener = ImportListener()
                listener.refused = { told.append("\($0.record) \($0.line) \($0.reason)") }
                let summary = try await office.administration.userImport.run(job, by: Office.actor, telling: listener)
                #expect(summary.counts.refused == 4)
                #expect(told == ["7 8 malformed", "14 15 malformed", "21 22 malformed", "28 29 malformed"])
            }
        }
    }

    @Test("fields without a property are counted; undeclared properties are kept where the application keeps them")
    func fields() async throws {
        try await Office.lend { office in
            let job = Self.job(Self.file(10))
            let summary = try await office.administration.userImport.run(job, by: Office.actor)
            #expect(summary.untaken.map(\.name) == ["age"] && summary.untaken.map(\.count) == [10])
            let patch: JSONValue = .object(["settings": .object(["dynamicProperties": .bool(true)])])
            _ = try await office.administration.applications.change("demo", patch: patch, if: .any, by: Office.actor)
            let kept = Self.job(Self.file(10, from: 100))
            #expect(try await office.administration.userImport.run(kept, by: Office.actor).untaken.isEmpty)
            #expect(
                try await office.database.psql(
                    "select count(*), (select string_agg(name, ' ') from federation.dynamic_properties) from demo.users where dynamic ? 'age'"
                ) == [["10", "age"]]
            )
        }
    }

    @Test("undeclared properties for which the application has no place are counted, and stop nothing")
    func places() async throws {
        try await Office.lend { office in
            let patch: JSONValue = .object(["settings": .object(["undeclaredProperties": .string("store")])])
            _ = try await office.administration.applications.change("demo", patch: patch, if: .any, by: Office.actor)
            let names = (1...Store.dynamicNamesAllowed + 2).map { "p\($0)" }
            let text = "objectId,email,\(names.joined(separator: ","))\n"
            let lines = (1...3).map { number in
                "\(number),u\(number)@example.com,\(names.joined(separator: ","))\n"
            }
            let job = Self.job(Array((text + lines.joined()).utf8), batch: 2)
            let check = try await office.administration.userImport.check(job)
            let run = try await office.administration.userImport.run(job, by: Office.actor)
            for summary in [check, run] {
                #expect(summary.counts.imported == 3)
                #expect(summary.untaken.map(\.name) == ["p101", "p102"] && summary.untaken.map(\.count) == [3, 3])
            }
            #expect(
                try await office.database.psql(
                    "select count(*), (select count(*) from demo.users where dynamic ? 'p100' and not dynamic ? 'p101') from federation.dynamic_properties"
                ) == [["100", "3"]]
            )
        }
    }

    @Test("a batch ends early where its records are large")
    func largeRecords() async throws {
        try await Office.lend { office in
            let bulk = String(repeating: "x", count: 1_000_000)
            let lines = (1...20).map { number in
                "{\"objectId\": \"\(number)\", \"email\": \"u\(number)@example.com\", \"bulk\": \"\(bulk)\"}\n"
            }
            var batches: [Int] = []
            var listener = ImportListener()
            listener.progress = { counts, _ in batches.append(counts.records) }
            let job = Self.job(Array(lines.joined().utf8), from: .ndjson, batch: 5000, parts: 65_536)
            let summary = try await office.administration.userImport.check(job, telling: listener)
            #expect(summary.counts.imported == 20 && batches == [9, 18, 20])
        }
    }

    @Test("a file that is cut off says how many records it has, and an instance's identities follow its kind")
    func records() async throws {
        try await Office.lend { office in
            let users = (1...3).map { "{\"localId\": \"\($0)\", \"email\": \"u\($0)@example.com\"}" }
            let cut = "{\"users\": [\(users.joined(separator: ",")), {\"localId\""
            let failure = await #expect(throws: Failure.self) {
                try await office.administration.userImport.check(Self.job(Array(cut.utf8), from: .firebase))
            }
            #expect(
                failure?.message
                    == "The file cannot be read behind record 3: it ends in the middle of a record, so it is not whole."
            )
            try await office.database.psql(
                "insert into federation.provider_kinds (application_id, provider, kind) values ('demo', 'fb', 'facebook')"
            )
            let text = ["x7", "77"].map { subject in
                #"{"objectId": "\#(subject)", "identities": [{"provider": "fb", "app": "1", "subject": "\#(subject)"}]}"#
            }
            let job = Self.job(Array(text.joined(separator: "\n").utf8), from: .ndjson)
            #expect(try await run(job, office) == [2, 1, 0, 1])
            #expect(try await office.database.psql("select subject from demo.identities") == [["77"]])
        }
    }

    @Test("hashes are sealed for their user, and who has none has one of a password that nobody knows")
    func hashes() async throws {
        try await Office.lend { office in
            let hash = "$2a$10$fVH8e28OQRj9tqiDXs1e1uxpsjN0c7II7YPKXua2NAKYvM6iQk7dq"
            let text = """
                objectId,email,passwordHash
                0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60,ann@example.com,\(hash)
                1F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60,bob@example.com,
                2F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60,cat@example.com,plain
                """
            #expect(try await run(Self.job(Array(text.utf8)), office) == [3, 2, 0, 1])
            let application = try #require(ApplicationID("demo"))
            let keys = MasterKeys(current: try MasterKey(base64: Secret(Office.oldKey)))
            let rows = try await office.database.psql(
                "select object_id, encode(hash, 'hex'), hash_key_id from demo.passwords order by object_id"
            )
            let opened = try rows.map { row -> String in
                let user = try #require(ObjectID(row[0] ?? ""))
                let sealed = SealedSecret(
                    bytes: try #require(Hexadecimal.decode((row[1] ?? "").utf8)),
                    keyID: row[2] ?? ""
                )
                return try #require(keys.open(sealed, at: .passwordHash(application: application, user: user))).reveal()
            }
            #expect(opened.first == hash)
            #expect(opened.last?.hasPrefix("$argon2id$") == true)
            let verdict = try await PasswordHasher(random: .system).verify(
                Secret("abcdefghijklmnopqrstuvwxyz"),
                of: application,
                against: opened.first
            )
            #expect(verdict == .matches(outdated: true))
        }
    }
}
