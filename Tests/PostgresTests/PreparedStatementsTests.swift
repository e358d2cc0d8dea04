import Testing

@testable import Postgres

@Suite("Prepared statements of a connection")
struct PreparedStatementsTests {
    private func text(_ name: PreparedStatements.Name?) -> String? {
        name.map { String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) }
    }

    /// Prepares a statement and returns its name, followed by the names of the statements evicted for it.
    private func add(
        _ statement: Statement,
        near affinity: Affinity? = nil,
        to prepared: inout PreparedStatements
    ) -> [String?]? {
        prepared.add(statement, near: affinity).map { [text($0.name)] + $0.evicted.map(text) }
    }

    @Test("a statement is found by its text and the types of its values")
    func finding() {
        var prepared = PreparedStatements(capacity: 10_000)
        #expect(prepared.use("SELECT \(1)") == nil)
        #expect(add("SELECT \(1)", to: &prepared) == ["s1"])
        #expect(text(prepared.use("SELECT \(2)")) == "s1")
        #expect(prepared.use("SELECT \("x")") == nil)
        #expect(text(prepared.use("SELECT \(nil as Int?)")) == "s1")
    }

    @Test("another type of value takes the place of the first one")
    func retyping() {
        var prepared = PreparedStatements(capacity: 10_000)
        _ = prepared.add("SELECT \(1)")
        #expect(add("SELECT \("x")", to: &prepared) == ["s2", "s1"])
        #expect(prepared.count == 1)
    }

    @Test("the least recently used ones make room for as much text as comes")
    func evicting() {
        // Each statement counts as its text and 256 bytes.
        var prepared = PreparedStatements(capacity: 3 * 264)
        for number in 1...3 { _ = prepared.add(Statement(sql: "SELECT \(number)")) }
        #expect(prepared.discarded == 0)
        _ = prepared.use("SELECT 1")
        #expect(add("SELECT 4", to: &prepared) == ["s4", "s2"])
        #expect(prepared.use("SELECT 2") == nil)
        #expect(text(prepared.use("SELECT 1")) == "s1")
        let long = Statement(sql: "SELECT '\(String(repeating: "x", count: 255))'")
        #expect(add(long, to: &prepared) == ["s5", "s3", "s4"])
        #expect(prepared.count == 2 && prepared.discarded == 3 * 264)
    }

    @Test("one that is longer than all may be together is not prepared, and makes nothing go")
    func tooLong() {
        var prepared = PreparedStatements(capacity: 300)
        _ = prepared.add("SELECT 1")
        let long = Statement(sql: "SELECT '\(String(repeating: "x", count: 300))'")
        #expect(add(long, to: &prepared) == nil)
        #expect(text(prepared.use("SELECT 1")) == "s1")
        #expect(prepared.discarded == long.sql.utf8.count + 256)
    }

    @Test("a name is never used again")
    func names() {
        var prepared = PreparedStatements(capacity: 1000)
        _ = prepared.add("SELECT 1")
        prepared.remove("SELECT 1")
        #expect(add("SELECT 1", to: &prepared) == ["s2"])
        prepared.removeAll()
        #expect(add("SELECT 1", to: &prepared) == ["s3"])
        #expect(prepared.discarded == 2 * 264)
    }

    @Test("one that has expired is prepared under a new name, and the old one is freed")
    func expiring() {
        var prepared = PreparedStatements(capacity: 10_000)
        _ = prepared.add("SELECT 1")
        _ = prepared.add("SELECT 2")
        prepared.expire("SELECT 1")
        prepared.expire("SELECT 3")
        #expect(prepared.use("SELECT 1") == nil)
        #expect(text(prepared.use("SELECT 2")) == "s2")
        #expect(add("SELECT 1", to: &prepared) == ["s3", "s1"])
        #expect(text(prepared.use("SELECT 1")) == "s3")
        prepared.expireAll()
        #expect(prepared.use("SELECT 1") == nil)
        #expect(add("SELECT 2", to: &prepared) == ["s4", "s2"])
    }

    @Test("texts that only look alike are told apart")
    func bytes() {
        var prepared = PreparedStatements(capacity: 10_000)
        _ = prepared.add("SELECT 'e\u{301}'")
        #expect(prepared.use("SELECT '\u{E9}'") == nil)
        // The hash covers only the length and the ends of the text, which are equal here.
        let middle = String(repeating: "x", count: 100)
        _ = prepared.add(Statement(sql: middle + "a" + middle))
        #expect(prepared.use(Statement(sql: middle + "b" + middle)) == nil)
        #expect(prepared.use(Statement(sql: middle + "a" + middle)) != nil)
    }

    @Test("an affinity has statements of its own")
    func affinity() {
        var prepared = PreparedStatements(capacity: 10_000)
        #expect(add("SELECT 1", near: Affinity(of: "a"), to: &prepared) == ["s1"])
        #expect(prepared.use("SELECT 1", near: Affinity(of: "b")) == nil)
        #expect(text(prepared.use("SELECT 1", near: Affinity(of: "a"))) == "s1")
        prepared.expire("SELECT 1", near: Affinity(of: "a"))
        #expect(prepared.use("SELECT 1", near: Affinity(of: "a")) == nil)
        prepared.remove("SELECT 1", near: Affinity(of: "a"))
        #expect(prepared.count == 0)
    }
}
