import Domain
import Encodings
import FoundationEssentials
import Postgres
import Store
import Testing
import TestSupport

@Suite("Writing users of other systems")
struct ImportWriteTests {
    private let key: ImportKey

    init() throws {
        key = ImportKey(
            application: try #require(ApplicationID("tenant")),
            fileHash: [UInt8](repeating: 7, count: 32)
        )
    }

    private func row(
        _ record: Int,
        login: String? = nil,
        subject: String? = nil,
        id: ObjectID = ObjectID(UUID()),
        _ values: [(String, PropertyValue)] = []
    ) throws -> ImportRow {
        var row = ImportRow(record: record, line: record + 1, objectID: id)
        row.created = 1_577_836_800_123
        if let login {
            row.password = StoredPassword(
                objectID: id,
                login: login,
                hash: EncryptedSecret(bytes: [1, 2, 3], keyID: "key")
            )
        }
        if let subject { row.identities = [(try Tenant.key(subject), 1_577_836_800_500)] }
        for (name, value) in values {
            let property = try #require(Tenant.properties.first { $0.name.text == name })
            row.given.values.append((property, value))
        }
        return row
    }

    private func batch(_ rows: [ImportRow], behind before: Int = 0, refusals: [RecordFinding] = []) -> ImportBatch {
        let through = max(rows.last?.record ?? before, refusals.last?.record ?? before)
        return ImportBatch(before: before, through: through, rows: rows, refusals: refusals)
    }

    private func lend(_ body: (Tenant) async throws -> Void) async throws {
        try await Tenant.lend { tenant in
            try await tenant.store.beginImport(key, from: "csv", by: Tenant.actor)
            try await body(tenant)
        }
    }

    private func write(_ batch: ImportBatch, _ tenant: Tenant) async throws -> [Int] {
        let counts = try await tenant.store.write(
            batch,
            of: key,
            in: tenant.application,
            hashingBy: Tenant.hash
        ).counts
        return [counts.records, counts.imported, counts.existing, counts.refused]
    }

    private func reasons(_ tenant: Tenant) async throws -> [String] {
        try await tenant.store.refusals(of: key, after: 0, limit: 1000).map { "\($0.record) \($0.line) \($0.reason)" }
    }

    @Test("a user arrives with values of all types, password, identities and roles, as the source has the times")
    func whole() async throws {
        try await lend { tenant in
            var ann = try row(
                1,
                login: "ann@example.com",
                subject: "1001",
                [
                    ("email", .text("ann@example.com")), ("nick", .text("A\t\"\n")), ("points", .integer(7)),
                    ("ratio", .double(0.5)), ("member", .boolean(true)), ("seen", .dateTime(1_700_000_123_456)),
                    ("extra", .json(.array([.null]))),
                ]
            )
            ann.given.values.append(
                (
                    try #require(Tenant.properties.first { $0.name.text == "birthday" }),
                    CalendarDate(year: 1990, month: 5, day: 6).map(PropertyValue.date)
                )
            )
            ann.given.dynamic.append("shoe", .integer(42))
            ann.given.locale = .value("en")
            ann.status = .disabled
            ann.emailVerified = true
            ann.updated = 1_577_836_900_000
            ann.lastLogin = 1_600_000_000_000
            ann.roles = ["staff", "editor"]
            #expect(try await write(batch([ann]), tenant) == [1, 1, 0, 0])
            let person = try #require(try await tenant.store.storedUser(ann.objectID, of: tenant.application))
            #expect(person.user.value("points") == .integer(7) && person.user.value("nick") == .text("A\t\"\n"))
            #expect(person.user.value("birthday")?.json == .string("1990-05-06"))
            #expect(person.user.value("seen") == .dateTime(1_700_000_123_456))
            #expect(person.user.value("extra") == .json(.array([.null])) && person.user.value("ratio") == .double(0.5))
            #expect(person.user.dynamic == ["shoe": .integer(42)])
            #expect(person.user.created == 1_577_836_800_123 && person.user.updated == 1_577_836_900_000)
            #expect(person.user.lastLogin == 1_600_000_000_000 && person.user.status == .disabled)
            #expect(person.user.locale == "en" && person.user.emailVerified)
            #expect(person.identities.map(\.subject) == ["1001"])
            #expect(try await tenant.store.roles(of: ann.objectID, in: tenant.application) == ["editor", "staff"])
            let password = try await tenant.store.password(ofLogin: "ann@example.com", in: tenant.application)
            #expect(password?.objectID == ann.objectID && password?.hash.bytes == [1, 2, 3])
            // A user without values gets the defaults of the table.
            let bob = try row(2, subject: "1002")
            #expect(try await write(batch([bob], behind: 1), tenant) == [1, 1, 0, 0])
            let progress = try #require(try await tenant.store.progress(of: key, within: 1))
            #expect(progress.counts.records == 2 && progress.counts.imported == 2 && !progress.isFinished)
        }
    }

    @Test(
        "who is there stays as is; a login, an identity or a value of another user is refused, with everything of the row"
    )
    func conflicts() async throws {
        try await lend { tenant in
            try await tenant.database.psql("create unique index on \(Tenant.users) (nick)")
            let there = try row(1, login: "ann@example.com", subject: "1001", [("nick", .text("ann"))])
            #expect(try await write(batch([there]), tenant) == [1, 1, 0, 0])
            var again = try row(2, login: "new@example.com", id: there.objectID, [("nick", .text("other"))])
            again.roles = ["staff"]
            let rows = [
                again,
                try row(3, login: "ann@example.com", subject: "1003"),
                try row(4, login: "dan@example.com", subject: "1001"),
                try row(5, login: "eve@example.com", subject: "1005", [("nick", .text("ann"))]),
                try row(6, login: "fay@example.com", subject: "1006", [("nick", .text("fay"))]),
            ]
            let refusal = RecordFinding(record: 7, line: 9, reason: "malformed", message: "it is broken")
            #expect(try await write(batch(rows, behind: 1, refusals: [refusal]), tenant) == [6, 1, 1, 4])
            #expect(
                try await reasons(tenant) == ["3 4 loginTaken", "4 5 identityTaken", "5 6 valueTaken", "7 9 malformed"]
            )
            #expect(try await tenant.count("users") == "2")
            #expect(try await tenant.count("passwords") == "2")
            #expect(try await tenant.count("identities") == "2")
            #expect(try await tenant.count("user_roles") == "0")
            let person = try #require(try await tenant.store.storedUser(there.objectID, of: tenant.application))
            #expect(person.user.value("nick") == .text("ann"))
        }
    }

    @Test("a uid belongs to one user, and is no other user's object id; who is there gets one, and keeps one")
    func uids() async throws {
        try await lend { tenant in
            func row(_ record: Int, _ uid: String?, id: ObjectID = ObjectID(UUID()), claims: String? = nil) throws
                -> ImportRow
            {
                var row = try self.row(record, subject: "\(record)", id: id)
                row.uid = try uid.map { try #require(FirebaseUID($0)) }
                row.claims = try claims.map { try CustomClaims(["plan": .string($0)]) }
                return row
            }
            func stored() async throws -> [[String?]] {
                try await tenant.database.psql(
                    """
                    select uid, claims
                    from \(Tenant.schema).firebase_users join \(Tenant.schema).identities using (object_id)
                    order by subject
                    """
                )
            }
            let (ann, bob) = (try row(1, "u1", claims: "gold"), try row(2, nil))
            #expect(try await write(batch([ann, bob]), tenant) == [2, 2, 0, 0])
            #expect(try await stored() == [["u1", #"{"plan":"gold"}"#]])
            let own = ObjectID(UUID())
            let more = [
                // Who is there keeps the uid and the claims, and gets those that are missing.
                try row(3, "other", id: ann.objectID, claims: "silver"), try row(4, "u2", id: bob.objectID),
                try row(5, "u1"), try row(6, bob.objectID.description),
                try row(7, own.description, id: own), try row(8, bob.objectID.description.lowercased()),
            ]
            #expect(try await write(batch(more, behind: 2), tenant) == [6, 2, 2, 2])
            #expect(try await reasons(tenant) == ["5 6 uidTaken", "6 7 uidTaken"])
            let all: [[String?]] = [
                ["u1", #"{"plan":"gold"}"#], ["u2", nil], [bob.objectID.description.lowercased(), nil],
            ]
            #expect(try await stored() == all)
            let uuid = ObjectID(UUID())
            #expect(try await write(batch([try row(9, uuid.description)], behind: 8), tenant) == [1, 1, 0, 0])
            #expect(try await write(batch([try row(10, nil, id: uuid)], behind: 9), tenant) == [1, 0, 0, 1])
            let dry = try await tenant.store.check(
                batch([try row(11, "u2")], behind: 10),
                in: tenant.application,
                hashingBy: Tenant.hash
            )
            #expect(dry.refusals.map(\.reason) == ["uidTaken"])
            let found = try await tenant.store.users(ofUIDs: ["u2", "other", "u1"], in: tenant.application)
            #expect(found.map { "\($0.key) \($0.value)" }.sorted() == ["u1 \(ann.objectID)", "u2 \(bob.objectID)"])
            try await tenant.database.psql("delete from \(Tenant.users) where object_id = '\(ann.objectID)'")
            #expect(try await tenant.count("firebase_users") == "3", "an erasure takes the uid along")
        }
    }

    @Test("a row that breaks a rule of the operator's is refused alone, wherever it stands")
    func rules() async throws {
        try await lend { tenant in
            try await tenant.database.psql("alter table \(Tenant.users) add check (points < 100)")
            let rows = try (1...20).map { record in
                try row(record, subject: "10\(record)", [("points", .integer([7, 8, 20].contains(record) ? 100 : 1))])
            }
            let refusal = RecordFinding(record: 21, line: 1, reason: "malformed", message: "it is broken")
            #expect(try await write(batch(rows, refusals: [refusal]), tenant) == [21, 17, 0, 4])
            #expect(
                try await reasons(tenant) == [
                    "7 8 notStored", "8 9 notStored", "20 21 notStored", "21 1 malformed",
                ]
            )
            #expect(try await tenant.store.progress(of: key, within: 1)?.counts.records == 21)
            // A text that PostgreSQL cannot store refuses its row only.
            let nul = try row(22, subject: "1099", [("nick", .text("a\0b"))])
            #expect(try await write(batch([nul], behind: 21), tenant) == [1, 0, 0, 1])
        }
    }

    @Test("what is done is done once: a batch whose records are done already is refused, and nothing of it is written")
    func once() async throws {
        try await lend { tenant in
            let first = batch([try row(1, login: "ann@example.com")])
            #expect(try await write(first, tenant) == [1, 1, 0, 0])
            for late in [first, batch([try row(3, login: "late@example.com")], behind: 2)] {
                let failure = await #expect(throws: Failure.self) { try await write(late, tenant) }
                #expect(failure?.reason == .conflict)
            }
            #expect(try await tenant.count("users") == "1")
            // An import cannot finish while its counts disagree with the stored ones.
            var counts = ImportCounts()
            for sums in [(1, 0, 0, 1), (1, 1, 0, 1), (2, 1, 1, 0)] {
                (counts.records, counts.imported, counts.existing, counts.refused) = sums
                let wrong = counts
                let failure = await #expect(throws: Failure.self) {
                    try await tenant.store.finishImport(key, from: "csv", wrong, by: Tenant.actor)
                }
                #expect(failure?.reason == .internal && failure?.message.contains("--restart") == true)
            }
            (counts.records, counts.imported, counts.existing, counts.refused) = (1, 1, 0, 0)
            try await tenant.store.finishImport(key, from: "csv", counts, by: Tenant.actor)
            let behindTheEnd = batch([try row(2, login: "bob@example.com")], behind: 1)
            await #expect(throws: Failure.self) { try await write(behindTheEnd, tenant) }
            #expect(try await tenant.store.progress(of: key, within: 1)?.isFinished == true)
            // A restarted import counts from the beginning, and forgets its refusals.
            try await tenant.store.beginImport(key, from: "csv", by: Tenant.actor)
            #expect(try await write(first, tenant) == [1, 0, 1, 0])
            #expect(
                try await tenant.database.psql(
                    "select details -> 'to' ->> 'step' from federation.audit_log where action = 'user.import' order by id"
                ) == [["begin"], ["end"], ["begin"]]
            )
        }
    }

    @Test("a check says what a run would, and writes nothing")
    func check() async throws {
        try await lend { tenant in
            try await tenant.database.psql("alter table \(Tenant.users) add check (points < 100)")
            let there = try row(1, login: "ann@example.com", subject: "1001")
            #expect(try await write(batch([there]), tenant) == [1, 1, 0, 0])
            let before = try await tenant.state()
            let rows = [
                try row(2, id: there.objectID), try row(3, login: "ann@example.com"),
                try row(4, subject: "1004", [("points", .integer(100))]), try row(5, subject: "1005"),
            ]
            let outcome = try await tenant.store.check(
                batch(rows, behind: 1),
                in: tenant.application,
                hashingBy: Tenant.hash
            )
            let (counts, refusals) = (outcome.counts, outcome.refusals)
            #expect(outcome.existing == [2])
            #expect([counts.records, counts.imported, counts.existing, counts.refused] == [4, 1, 1, 2])
            #expect(refusals.map { "\($0.record) \($0.reason)" } == ["3 loginTaken", "4 notStored"])
            #expect(try await tenant.state() == before)
            #expect(try await tenant.count("identities") == "1")
            #expect(try await tenant.store.progress(of: key, within: 1)?.counts.records == 1)
        }
    }

    @Test(
        "an adopted table's own rules hold, in a check, too, and what a row lacks gets the default, as at a registration"
    )
    func adopted() async throws {
        try await Tenant.lendAdopted { tenant in
            try await tenant.store.beginImport(key, from: "csv", by: Tenant.actor)
            try await tenant.database.psql(
                """
                alter table \(Tenant.adopted) alter score set default 7;
                update \(Tenant.adopted) set score = 0 where score is null;
                alter table \(Tenant.adopted) alter score set not null, alter birthday set default '2000-01-01'
                """
            )
            let rows = try [
                row(1, login: "ann@example.com", [("email", .text("ann@example.com"))]),
                row(2, subject: "1002", [("points", .integer(5))]),
                row(3, subject: "1003", [("points", .integer(-1))]),
                row(4, subject: "1004", [("nick", .text(String(repeating: "x", count: 101)))]),
            ]
            let sequence = """
                select pg_sequence_last_value(pg_get_serial_sequence('\(Tenant.quotedAdopted)', 'id')::regclass)
                """
            let before = try await tenant.database.psql(sequence)
            let outcome = try await tenant.store.check(
                batch(rows),
                in: tenant.application,
                hashingBy: Tenant.hash
            )
            let (counts, refusals) = (outcome.counts, outcome.refusals)
            #expect([counts.records, counts.imported, counts.existing, counts.refused] == [4, 2, 0, 2])
            #expect(refusals.map { "\($0.record) \($0.reason)" } == ["3 notStored", "4 notStored"])
            #expect(try await tenant.database.psql(sequence) == before)
            #expect(try await write(batch(rows), tenant) == [4, 2, 0, 2])
            #expect(try await reasons(tenant) == ["3 4 notStored", "4 5 notStored"])
            #expect(
                try await tenant.database.psql(
                    "select mail, score, birthday, note from \(Tenant.adopted) where id > 1000 order by score"
                ) == [[nil, "5", "2000-01-01", "kept"], ["ann@example.com", "7", "2000-01-01", "kept"]]
            )
        }
    }

    @Test("a batch may take longer than a statement of others may")
    func timeout() async throws {
        try await lend { tenant in
            try await tenant.database.psql(
                """
                create function \(Tenant.schema).wait() returns trigger language plpgsql as
                    'begin perform pg_sleep(0.05); return new; end';
                create trigger waiting before insert on \(Tenant.users) for each row
                    execute function \(Tenant.schema).wait()
                """
            )
            let rows = try (1...20).map { try row($0, subject: "10\($0)") }
            let (application, key) = (tenant.application, key)
            try await withStore(tenant.database.url, configure: { $0.statementTimeout = .milliseconds(300) }) { store in
                let outcome = try await store.write(batch(rows), of: key, in: application, hashingBy: Tenant.hash)
                #expect(outcome.counts.imported == 20)
            }
        }
    }

    @Test("a banned identity comes in by no file, until the ban is lifted")
    func banned() async throws {
        try await lend { tenant in
            let user = try await tenant.ban("1001")
            let rows = [try row(1, login: "ann@example.com", subject: "1001"), try row(2, subject: "1002")]
            let outcome = try await tenant.store.check(
                batch(rows),
                in: tenant.application,
                hashingBy: Tenant.hash
            )
            let (counts, refusals) = (outcome.counts, outcome.refusals)
            #expect(counts.imported == 1 && refusals.map(\.reason) == ["identityBanned"])
            #expect(try await write(batch(rows), tenant) == [2, 1, 0, 1])
            #expect(try await reasons(tenant) == ["1 2 identityBanned"])
            _ = try await tenant.store.liftBans(of: user, in: tenant.application, by: Tenant.actor)
            #expect(try await write(batch([try row(3, subject: "1001")], behind: 2), tenant) == [1, 1, 0, 0])
        }
    }

    @Test("statistics are brought up to date, however long PostgreSQL's own maintenance is at work on the tables")
    func statistics() async throws {
        try await lend { tenant in
            _ = try await write(batch([try row(1, subject: "1001")]), tenant)
            let application = tenant.application
            try await withStore(tenant.database.url, configure: { $0.lockTimeout = .milliseconds(100) }) { store in
                let lock = "lock table \(Tenant.users) in share update exclusive mode"
                let analysis = try await tenant.database.whileLocked(lock) {
                    let analysis = Task { try await store.analyzeUsers(of: application) }
                    try await eventually("it has waited for longer than anything else may") {
                        try await tenant.database.psql(
                            """
                            select 1 from pg_stat_activity where wait_event_type = 'Lock'
                                and datname = current_database() and now() - query_start > interval '200 milliseconds'
                            """
                        ).count == 1
                    }
                    return analysis
                }
                try await analysis.value
            }
            #expect(
                try await tenant.database.psql(
                    "select reltuples from pg_class where oid = '\(Tenant.users)'::regclass"
                ) == [["1"]]
            )
        }
    }

    @Test("whoever goes on with an import waits for a batch that is under way, and hears of one that does not end")
    func underWay() async throws {
        try await lend { tenant in
            let (store, key) = (tenant.store, key)
            // This lock is that of a killed process's batch which PostgreSQL still runs.
            let batch = "update federation.imports set records = records + 3, imported = imported + 2"
            try await tenant.database.whileLocked(batch) {
                let failure = await #expect(throws: Failure.self) { try await store.progress(of: key, within: 1) }
                #expect(failure?.reason == .conflict && failure?.message.contains("still running") == true)
            }
            let refusal = """
                insert into federation.import_refusals (application_id, file_hash, record, line, reason, message)
                select application_id, file_hash, 5, 6, 'malformed', 'it is broken' from federation.imports
                """
            try await tenant.whileWaiting(behind: "\(batch); \(refusal)") {
                let counts = try await store.progress(of: key, within: 60)?.counts
                #expect([counts?.records, counts?.imported, counts?.existing, counts?.refused] == [6, 4, 0, 1])
            }
        }
    }

    @Test("a user of a large batch costs PostgreSQL no more than one of a small batch")
    func costs() async throws {
        try await lend { tenant in
            var (before, costs) = (0, [Duration]())
            for size in [1000, 8000] {
                let rows = try (before + 1...before + size).map {
                    try row($0, login: "u\($0)@example.com", subject: "10\($0)")
                }
                let times = try await processorTimes(tenant)
                #expect(try await write(batch(rows, behind: before), tenant)[1] == size)
                before += size
                let spent = try await processorTimes(tenant).map { $0.value - (times[$0.key] ?? .zero) }
                costs.append(spent.reduce(.zero, +) / size)
            }
            #expect(costs[0] > .zero && costs[1] <= costs[0] * 2, "\(costs)")
        }
    }

    /// Returns the processor time of each session of the tenant's database.
    private func processorTimes(_ tenant: Tenant) async throws -> [Int32: Duration] {
        let sessions = try await tenant.database.psql(
            "select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'"
        )
        var times: [Int32: Duration] = [:]
        for pid in sessions.compactMap({ $0[0].flatMap(Int32.init) }) {
            times[pid] = try ProcessUsage(of: pid).processorTime
        }
        return times
    }

    @Test("a login that comes between waits for nobody but its own row, and the batch sees it")
    func race() async throws {
        try await lend { tenant in
            let rows = [try row(1, login: "ann@example.com", subject: "1001"), try row(2, login: "bob@example.com")]
            let (store, application, batch, key) = (tenant.store, tenant.application, batch(rows), key)
            // Another session takes one of the logins, and has not committed when the batch checks.
            try await tenant.whileWaiting(
                behind: """
                    insert into \(Tenant.users) (object_id) values ('0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60');
                    insert into \(Tenant.schema).passwords (object_id, login, hash, hash_key_id)
                    values ('0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60', 'ann@example.com', '', 'key')
                    """
            ) {
                let counts = try await store.write(
                    batch,
                    of: key,
                    in: application,
                    hashingBy: Tenant.hash
                ).counts
                #expect([counts.records, counts.imported, counts.existing, counts.refused] == [2, 1, 0, 1])
            }
            #expect(try await reasons(tenant) == ["1 2 loginTaken"])
        }
    }
}
