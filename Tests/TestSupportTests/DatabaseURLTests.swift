import Testing

@testable import TestSupport

@Suite("Database URLs")
struct DatabaseURLTests {
    @Test(
        "name another database or port and keep the rest",
        arguments: [
            ("postgresql://postgres:p%40w@127.0.0.1:5432/postgres", "postgresql://postgres:p%40w@127.0.0.1:99/new"),
            ("postgresql://127.0.0.1:5432", "postgresql://127.0.0.1:99/new"),
            ("postgres://u@localhost:1/a?sslmode=disable", "postgresql://u@localhost:99/new?sslmode=disable"),
        ]
    )
    func rewritten(text: String, expected: String) throws {
        #expect(try DatabaseURL(text).text(database: "new", port: 99) == expected)
    }

    @Test(
        "without a host and a port are refused",
        arguments: ["", "dbname=x", "postgresql://host/x", "postgresql://h:1,i:2/x"]
    )
    func refused(text: String) {
        #expect(throws: NotADatabaseURL.self) { try DatabaseURL(text) }
    }
}
