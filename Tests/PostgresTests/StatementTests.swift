import FoundationEssentials
import Testing

@testable import Postgres

@Suite("Statements")
struct StatementTests {
    @Test("interpolated values are bound in order")
    func binding() {
        let name = "x'; DROP TABLE users; --"
        let missing: Int? = nil
        let statement: Statement = "SELECT \(name), \(7), \(missing), \(true)"
        #expect(statement.sql == "SELECT $1, $2, $3, $4")
        #expect(statement.binds == [.text(name), .int64(7), .null(.int64), .bool(true)])
    }

    @Test("every type that can be bound has its NULL", arguments: Bind.NullType.allCases)
    func nulls(type: Bind.NullType) {
        #expect(Bind.null(type).sqlType == type.sqlType)
    }

    @Test("an optional binds its value or the NULL of its type")
    func optionals() {
        func binds(_ statement: Statement) -> [Bind] { statement.binds }
        #expect(binds("\("a" as String?)") == [.text("a")])
        #expect(binds("\(nil as [UInt8]?)\(nil as [String]?)") == [.null(.bytes), .null(.texts)])
        #expect(
            binds("\(nil as UUID?)\(nil as Timestamp?)\(nil as Day?)") == [
                .null(.uuid), .null(.timestamp), .null(.day),
            ]
        )
        #expect(
            binds("\(nil as JSONText?)\(nil as Double?)\(nil as Bool?)") == [
                .null(.json), .null(.double), .null(.bool),
            ]
        )
    }

    @Test(
        "an identifier is quoted, and its quotes are doubled",
        arguments: [
            ("users", "\"users\""), ("we\"ird", "\"we\"\"ird\""), ("\"", "\"\"\"\""), ("", "\"\""),
            ("Ünal", "\"Ünal\""),
        ]
    )
    func identifiers(name: String, quoted: String) {
        let statement: Statement = "SELECT * FROM \(identifier: name)"
        #expect(statement.sql == "SELECT * FROM " + quoted)
        #expect(statement.binds.isEmpty)
    }

    @Test("a statement inside another one brings its values along")
    func composition() {
        let condition: Statement = "a = \(1) AND b = \("two")"
        let statement: Statement = "SELECT \(0) WHERE \(condition) OR \(unsafeRaw: "true") OR c = \(3)"
        #expect(statement.sql == "SELECT $1 WHERE a = $2 AND b = $3 OR true OR c = $4")
        #expect(statement.binds == [.int64(0), .int64(1), .text("two"), .int64(3)])

        var appended: Statement = "SELECT \(0)"
        appended.append("WHERE x = \(1)")
        #expect(appended.sql == "SELECT $1 WHERE x = $2")
        #expect(appended.binds == [.int64(0), .int64(1)])
    }

    @Test("what only looks like a placeholder stays as it is, and statements hold statements that hold some")
    func nesting() {
        let innermost: Statement = "'$1' || \("a") || \"$2\" || \("ü") || $$ $1 $$ -- $1"
        let inner: Statement = "f(\(1), \(innermost), \(2)) || E'ä$3'"
        var outer: Statement = "SELECT \(0), \(inner), \(inner)"
        #expect(
            outer.sql == """
                SELECT $1, f($2, '$1' || $3 || "$2" || $4 || $$ $1 $$ -- $1, $5) || E'ä$3', \
                f($6, '$1' || $7 || "$2" || $8 || $$ $1 $$ -- $1, $9) || E'ä$3'
                """
        )
        outer.append("UNION SELECT \(7), \(inner)")
        #expect(
            outer.sql.hasSuffix(
                "UNION SELECT $10, f($11, '$1' || $12 || \"$2\" || $13 || $$ $1 $$ -- $1, $14) || E'ä$3'"
            )
        )
        let values: [Bind] = [.int64(1), .text("a"), .text("ü"), .int64(2)]
        #expect(outer.binds == [.int64(0)] + values + values + [.int64(7)] + values)
        let again: Statement = "(\(outer))"
        #expect(again.sql == "(\(outer.sql))")
        #expect(again.binds == outer.binds)
    }

    @Test("values do not show in any description")
    func redaction() {
        let statement: Statement = "SELECT \("canary"), \(["canary"]), \(JSONText("canary"))"
        var dumped = ""
        dump(statement, to: &dumped)
        for text in [
            "\(statement)", String(reflecting: statement), "\(statement.binds)", String(reflecting: statement.binds),
            dumped,
        ] {
            #expect(!text.contains("canary"))
        }
        #expect("\(statement.binds)" == "[text, text[], jsonb]")
    }
}
