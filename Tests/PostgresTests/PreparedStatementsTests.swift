import Testing

@testable import Postgres

@Suite("Prepared statements of a connection")
struct PreparedStatementsTests {
    private func text(_ name: PreparedStatements.Name?) -> String? {
        name.map { String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) }
    }

    @Test("a statement is found by its text and the types of its values")
    func finding() {
        var prepared = PreparedStatements(capacity: 10)
        #expect(prepared.use("SELECT \(1)") == nil)
        #expect(text(prepared.add("SELECT \(1)").name) == "s1")
        #expect(text(prepared.use("SELECT \(2)")) == "s1")
        #expect(prepared.use("SELECT \("x")") == nil)
        #expect(text(prepared.use("SELECT \(nil as Int?)")) == "s1")
    }

    @Test("another type of value takes the place of the first one")
    func retyping() {
        var prepared = PreparedStatements(capacity: 10)
        _ = prepared.add("SELECT \(1)")
        let (name, evicted) = prepared.add("SELECT \("x")")
        #expect(text(name) == "s2")
        #expect(text(evicted) == "s1")
        #expect(prepared.count == 1)
    }

    @Test("the least recently used one makes room")
    func evicting() {
        var prepared = PreparedStatements(capacity: 2)
        _ = prepared.add("SELECT 1")
        _ = prepared.add("SELECT 2")
        _ = prepared.use("SELECT 1")
        #expect(text(prepared.add("SELECT 3").evicted) == "s2")
        #expect(prepared.use("SELECT 2") == nil)
        #expect(text(prepared.use("SELECT 1")) == "s1")
    }

    @Test("a name is never used again")
    func names() {
        var prepared = PreparedStatements(capacity: 2)
        _ = prepared.add("SELECT 1")
        prepared.remove("SELECT 1")
        #expect(text(prepared.add("SELECT 1").name) == "s2")
        prepared.removeAll()
        #expect(text(prepared.add("SELECT 1").name) == "s3")
    }

    @Test("one that has expired is prepared under a new name, and the old one is freed")
    func expiring() {
        var prepared = PreparedStatements(capacity: 10)
        _ = prepared.add("SELECT 1")
        _ = prepared.add("SELECT 2")
        prepared.expire("SELECT 1")
        prepared.expire("SELECT 3")
        #expect(prepared.use("SELECT 1") == nil)
        #expect(text(prepared.use("SELECT 2")) == "s2")
        let (name, evicted) = prepared.add("SELECT 1")
        #expect(text(name) == "s3")
        #expect(text(evicted) == "s1")
        #expect(text(prepared.use("SELECT 1")) == "s3")
        prepared.expireAll()
        #expect(prepared.use("SELECT 1") == nil)
        #expect(text(prepared.add("SELECT 2").evicted) == "s2")
    }

    @Test("texts that only look alike are told apart")
    func bytes() {
        var prepared = PreparedStatements(capacity: 10)
        _ = prepared.add("SELECT 'e\u{301}'")
        #expect(prepared.use("SELECT '\u{E9}'") == nil)
        // Same length and same ends, which is all that is hashed.
        let middle = String(repeating: "x", count: 100)
        _ = prepared.add(Statement(sql: middle + "a" + middle))
        #expect(prepared.use(Statement(sql: middle + "b" + middle)) == nil)
        #expect(prepared.use(Statement(sql: middle + "a" + middle)) != nil)
    }
}
