import Accounts
import Administration
import Domain
import Encodings
import Foundation
import Import
import Mapping
import Passwords
import Secrets
import Store
import Testing
import TestSupport

@Suite("Bringing users along")
struct UserImportTests {
    /// Returns a CSV file of that many users.
    private static func file(_ users: Int, from first: Int = 1) -> [UInt8] {
        var text = "objectId,email,name,age\n"
        for number in first..<first + users { text += "\(number),user\(number)@example.com,User \(number),\(number)\n" }
        return Array(text.utf8)
    }

    /// An error that interrupts an import, as the failure of a machine does.
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
            // A later export has more users.
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
            // A run that neither resumes the interrupted import nor begins anew is refused.
            let refusal = await #expect(throws: Failure.self) { try await run(Self.job(bytes), office) }
            #expect(refusal?.reason == .conflict)
            #expect(try await run(Self.job(bytes, batch: 30, .resumed), office) == [500, 500, 0, 0])
            #expect(try await users(office) == "500")
            // Resuming a finished import imports nothing and returns its counts again.
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

    /// Runs or checks an import, and returns its counts and the refused records with line and reason.
    private func refused(_ job: ImportJob, _ office: Office, isRun: Bool) async throws -> [String] {
        var told: [String] = []
        var listener = ImportListener()
        listener.refused = { told.append("\($0.line) \($0.reason)") }
        let userImport = office.administration.userImport
        let counts =
            isRun
            ? try await userImport.run(job, by: Office.actor, telling: listener).counts
            : try await userImport.check(job, telling: listener).counts
        #expect(counts.areWhole && counts.refused == told.count)
        return ["\(counts.imported) \(counts.existing)"] + told
    }

    @Test(
        "of users of one file who share an id, an address or an identity, the first one counts, and the others are refused, in a dry run, too",
        arguments: [1, 2, 3, 100]
    )
    func repetitions(batch: Int) async throws {
        try await Office.lend { office in
            let text = """
                objectId,email,identities
                1,ann@example.com,
                2,bob@example.com,
                1,other@example.com,
                3,ANN@example.com,
                4,Bob@Example.Com,
                5,cat@example.com,
                6,,"[{""provider"": ""facebook"", ""app"": ""1"", ""subject"": ""77""}]"
                7,,"[{""provider"": ""facebook"", ""app"": ""1"", ""subject"": ""77""}]"
                1,ann@example.com,
                8,no address,
                8,dan@example.com,

                """
            let job = Self.job(Array(text.utf8), batch: batch)
            let repeated = ["4 repeated", "5 loginTaken", "6 loginTaken"]
            let checked = try await refused(job, office, isRun: false)
            #expect(checked == ["5 0"] + repeated + ["9 loginTaken", "10 repeated", "11 emailInvalid"])
            #expect(try await users(office) == "0")
            let run = repeated + ["9 identityTaken", "10 repeated", "11 emailInvalid"]
            #expect(try await refused(job, office, isRun: true) == ["5 0"] + run)
            #expect(try await refused(job, office, isRun: false) == ["0 5"] + run)
            #expect(try await refused(job, office, isRun: true) == ["0 5"] + run)
            #expect(try await users(office) == "5")
        }
    }

    @Test("a record without an id that has the address of another one in other letters is refused")
    func repeatedAddress() async throws {
        try await Office.lend { office in
            let text = "email,name\nann@example.com,Ann\nANN@example.com,Other\nann@example.com,Ann\n"
            for isRun in [false, true] {
                let told = try await refused(Self.job(Array(text.utf8), batch: 2), office, isRun: isRun)
                #expect(told == ["1 0", "3 repeated", "4 repeated"])
            }
        }
    }

    @Test("of users whose names are one to log in by, the first one counts")
    func repeatedName() async throws {
        try await Office.lend { office in
            _ = try await office.administration.properties.declare(
                of: "demo",
                .object(["name": .string("handle"), "type": .string("STRING")]),
                if: .any,
                by: Office.actor
            )
            let patch: JSONValue = .object(["settings": .object(["identityProperty": .string("handle")])])
            _ = try await office.administration.applications.change("demo", patch: patch, if: .any, by: Office.actor)
            let text = """
                objectId,handle,email
                1,Ann,a@example.com
                2,ann,b@example.com
                3,bob,a@example.com

                """
            for isRun in [false, true] {
                #expect(
                    try await refused(Self.job(Array(text.utf8)), office, isRun: isRun) == ["2 0", "3 loginTaken"]
                )
            }
        }
    }

    @Test("an import that goes on knows the ids of the records before")
    func repetitionsBehindBreak() async throws {
        try await Office.lend { office in
            let head = "objectId,email\n1,no address\n2,b@example.com\n3,c@example.com\n2,other@example.com\n"
            let rest = (10..<200).map { "\($0),u\($0)@example.com\n" }.joined()
            let bytes = Array((head + rest + "1,a@example.com\n2,b@example.com\n3,c@example.com\n").utf8)
            let broken = Self.job(bytes, batch: 4, .resumed, parts: 64, breakingBehind: 1500)
            await #expect(throws: Broken.self) { try await run(broken, office) }
            let there = Int(try await users(office) ?? "") ?? 0
            #expect(there > 4 && there < 190)
            // Record 1 created no user, so another record of the same id may.
            let last = bytes.split(separator: UInt8(ascii: "\n")).count
            #expect(
                try await refused(Self.job(bytes, batch: 4, .resumed), office, isRun: true)
                    == ["193 0", "2 emailInvalid", "5 repeated", "\(last - 1) repeated", "\(last) repeated"]
            )
        }
    }

    @Test("whom the database loses on the way is missed: such an import has no good end")
    func sums() async throws {
        try await Office.lend { office in
            let bytes = Array("objectId,email\n1,no\n2,b@example.com\n3,c@example.com\n".utf8)
            let broken = Self.job(bytes, batch: 1, .resumed, parts: 8, breakingBehind: bytes.count - 1)
            await #expect(throws: Broken.self) { try await run(broken, office) }
            try await office.database.psql("delete from federation.import_refusals")
            let failure = await #expect(throws: Failure.self) {
                try await run(Self.job(bytes, batch: 1, .resumed), office)
            }
            #expect(failure?.reason == .internal && failure?.message.contains("--restart") == true)
            #expect(try await run(Self.job(bytes, batch: 1, .begunAnew), office) == [3, 0, 2, 1])
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
            #expect(summary.unmapped.map(\.name) == ["age"] && summary.unmapped.map(\.count) == [10])
            let patch: JSONValue = .object(["settings": .object(["dynamicProperties": .bool(true)])])
            _ = try await office.administration.applications.change("demo", patch: patch, if: .any, by: Office.actor)
            let kept = Self.job(Self.file(10, from: 100))
            #expect(try await office.administration.userImport.run(kept, by: Office.actor).unmapped.isEmpty)
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
                #expect(summary.unmapped.map(\.name) == ["p101", "p102"] && summary.unmapped.map(\.count) == [3, 3])
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
                    == "The file cannot be read after record 3: it ends in the middle of a record, so it is not whole."
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

    @Test("the users of a backend's request are imported without a stored progress, and each batch has an audit entry")
    func backend() async throws {
        try await Office.lend { office in
            let application = try #require(ApplicationID("demo"))
            let records: [JSONObject] = [("a", "a@example.com"), ("b", "no address"), ("a", "c@example.com")].map {
                ["localId": .string($0), "email": .string($1)]
            }
            for _ in 1...2 {
                let refused = try await office.administration.userImport.ofBackends(
                    GivenUsers(records: records, hashing: nil),
                    application,
                    Office.actor
                )
                #expect(refused.map(\.index) == [1, 2], "\(refused)")
            }
            #expect(try await users(office) == "1")
            #expect(try await office.database.psql("select count(*) from federation.imports") == [["0"]])
            let entries = try await office.database.psql(
                """
                select t ->> 'step', t ->> 'imported', t ->> 'existing', t ->> 'refused'
                from federation.audit_log cross join lateral (select details -> 'to') d (t)
                where action = 'user.import' order by id
                """
            )
            #expect(
                entries == [
                    ["part", "1", "0", "1"], ["part", "0", "0", "1"], ["part", "0", "1", "1"], ["part", "0", "0", "1"],
                ]
            )
        }
    }

    @Test("hashes are encrypted for their user, and who has none has one of a password that nobody knows")
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
                let encrypted = EncryptedSecret(
                    bytes: try #require(Hexadecimal.decode((row[1] ?? "").utf8)),
                    keyID: row[2] ?? ""
                )
                return try #require(keys.open(encrypted, at: .passwordHash(application: application, user: user)))
                    .reveal()
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
