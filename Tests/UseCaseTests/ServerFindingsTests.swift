import Testing

@testable import Administration
@testable import Store

@Suite("What the doctor says of a database server")
struct ServerFindingsTests {
    private static let now: Int64 = 1_800_000_000_000

    /// A server without problems.
    private static let healthy = ServerFacts(
        version: 150_018,
        encoding: "UTF8",
        isStandby: false,
        settings: [("autovacuum", "on"), ("fsync", "on"), ("synchronous_commit", "on")],
        time: now,
        isEncrypted: true,
        connections: (100, 12),
        age: (1_000_000, 200_000_000),
        oldestTransaction: 2,
        preparedTransactions: 0,
        isSuperuser: false
    )

    struct Row: Sendable, CustomTestStringConvertible {
        let severity: Finding.Severity
        let subject: Finding.Subject
        let words: String
        let change: @Sendable (inout ServerFacts) -> Void
        var testDescription: String { words }
    }

    private static let ailments: [Row] = [
        Row(severity: .error, subject: .database, words: "PostgreSQL 14.9") { $0.version = 140_009 },
        Row(severity: .error, subject: .database, words: "LATIN1") { $0.encoding = "LATIN1" },
        Row(severity: .error, subject: .database, words: "standby") { $0.isStandby = true },
        Row(severity: .error, subject: .database, words: "fsync is off") { $0.settings = [("fsync", "off")] },
        Row(severity: .error, subject: .database, words: "autovacuum is off") { $0.settings = [("autovacuum", "off")] },
        Row(severity: .warning, subject: .database, words: "synchronous_commit is off") {
            $0.settings = [("synchronous_commit", "off")]
        },
        Row(severity: .error, subject: .database, words: "not encrypted") { $0.isEncrypted = false },
        Row(severity: .warning, subject: .database, words: "91 of 100") { $0.connections = (100, 91) },
        Row(severity: .error, subject: .database, words: "300000001 behind") { $0.age = (300_000_001, 200_000_000) },
        Row(severity: .warning, subject: .database, words: "301 s") { $0.oldestTransaction = 301 },
        Row(severity: .warning, subject: .database, words: "1 prepared") { $0.preparedTransactions = 1 },
        Row(severity: .warning, subject: .database, words: "superuser") { $0.isSuperuser = true },
        Row(severity: .error, subject: .clock, words: "11 s ahead of") { $0.time = now + 11_000 },
        Row(severity: .error, subject: .clock, words: "90 s behind") { $0.time = now - 90_000 },
    ]

    @Test("each ailment is found, by itself, with what to do", arguments: ailments)
    func ailment(row: Row) {
        var facts = Self.healthy
        row.change(&facts)
        let found = facts.findings(now: Self.now).filter { $0.severity != .ok }
        #expect(found.count == 1 && found[0].severity == row.severity && found[0].subject == row.subject, "\(found)")
        #expect(found.allSatisfy { $0.text.contains(row.words) && $0.advice?.isEmpty == false }, "\(found)")
    }

    @Test("what is within its bounds is well")
    func healthy() {
        var facts = Self.healthy
        facts.connections = (100, 90)
        facts.age = (300_000_000, 200_000_000)
        facts.oldestTransaction = 300
        facts.time = Self.now - 10_000
        #expect(facts.findings(now: Self.now).map(\.severity) == [.ok, .ok])
    }

    @Test("of a table, dead rows and no look at it are told apart")
    func tables() {
        let dead = TableFacts(name: "demo.users", liveRows: 10, deadRows: 20_000, isAnalyzed: true).finding
        let unseen = TableFacts(name: "demo.users", liveRows: 20_000, deadRows: 0, isAnalyzed: false).finding
        #expect(dead.text.hasPrefix("20000 rows are dead") && dead.advice?.contains("vacuum") == true)
        #expect(unseen.text.contains("20000 rows") && unseen.advice == "analyze demo.users")
    }
}
