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

    @Test(
        "only placeholders are numbered on",
        arguments: [
            ("$1 $2 $10", "$3 $4 $12"),
            ("$1+$1", "$3+$3"),
            ("'$1' $1", "'$1' $3"),
            ("'it''s $1' $1", "'it''s $1' $3"),
            (#"'back\' || $1 || '$1'"#, #"'back\' || $3 || '$1'"#),
            (#"E'quote\' $1' $1"#, #"E'quote\' $1' $3"#),
            (#"e'a''$1\\' $1"#, #"e'a''$1\\' $3"#),
            (#"date'$1' $1"#, #"date'$1' $3"#),
            (#""col$1" $1"#, #""col$1" $3"#),
            (#""q""$1" $1"#, #""q""$1" $3"#),
            ("foo$1 + $1", "foo$1 + $3"),
            ("ünal$1 + $1", "ünal$1 + $3"),
            ("$$ $1 $$ $1", "$$ $1 $$ $3"),
            ("$tag$ $1 $$ $other$ $tag$ $1", "$tag$ $1 $$ $other$ $tag$ $3"),
            ("$a1$ $1 $a1$ $1", "$a1$ $1 $a1$ $3"),
            ("-- $1\n$1", "-- $1\n$3"),
            ("/* $1 /* $1 */ $1 */ $1", "/* $1 /* $1 */ $1 */ $3"),
            ("a - $1 / $2", "a - $3 / $4"),
            ("($1)::text", "($3)::text"),
            ("'unclosed $1", "'unclosed $1"),
            ("$$unclosed $1", "$$unclosed $1"),
            ("$99999999999999999999", "$99999999999999999999"),
            ("$", "$"),
        ]
    )
    func shifting(text: String, expected: String) {
        #expect(PlaceholderShift.shift(text, by: 2) == expected)
        #expect(PlaceholderShift.shift(text, by: 0) == text)
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
