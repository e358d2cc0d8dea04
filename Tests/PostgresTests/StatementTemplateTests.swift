import Testing

@testable import Postgres

@Suite("Templates of statements")
struct StatementTemplateTests {
    private struct Input: Sendable {
        var name = "x"
        var age: Int64 = 1
    }

    private typealias Value = Parameter<Input>

    private let name = Value("name") { .text($0.name) }
    private let age = Value("age", as: "bigint") { .int64($0.age) }

    @Test("parameters are numbered where they stand first, each once, in whatever part they are")
    func numbers() {
        let condition: SQL<Input> = "age > \(age) and name <> \(name)"
        let template = StatementTemplate<Input>(
            "select \(name) from people where \(condition) or \(condition) or \(Value("name") { _ in .text("") }) = ''"
        )
        #expect(
            template.sql == """
                select $1 from people where age > $2::bigint and name <> $1 or age > $2::bigint and name <> $1 or $1 = ''
                """
        )
        #expect(template.parameters == ["name", "age"])
        #expect(template.filled(with: Input()).binds == [.text("x"), .int64(1)])
        #expect(template.filled(with: Input(name: "y", age: 2)).binds == [.text("y"), .int64(2)])
        #expect(template.filled(with: Input()).sql == template.sql)
    }

    @Test("a part shows its parameters by their names, and no values")
    func description() {
        let part: SQL<Input> = "name = \(name) and age = \(age)"
        #expect("\(part)" == "name = :name and age = :age::bigint")
    }

    @Test("names and literals are quoted")
    func quoting() {
        let part: SQL<Input> = "\(identifier: "a\"b").\(literal: "it's $1")"
        #expect(StatementTemplate(part).sql == "\"a\"\"b\".'it''s $1'")
    }

    @Test("the lines of a part begin where the part stands, but those of names and literals stay")
    func indentation() {
        let part: SQL<Input> = "a,\n(\n    \(identifier: "x\ny")\n)"
        let list = [part, "b"].joined(separator: ",\n")
        let whole: SQL<Input> = """
            select
                \(list)
            from t
            """
        #expect(
            StatementTemplate(whole).sql == "select\na,\n(\n\"x\ny\"\n),\nb\nfrom t",
            "what is sent has no indentation"
        )
        #expect("\(whole)" == "select\n    a,\n    (\n        \"x\ny\"\n    ),\n    b\nfrom t")
    }

    @Test("a part is bound for a statement that is made anew each time")
    func bound() {
        let part: SQL<Input> = "name = \(name) or \(name) = '' or age = \(age)"
        let statement: Statement = "select \(true) where \(part.bound(to: Input()))"
        #expect(statement.sql == "select $1 where name = $2 or $3 = '' or age = $4::bigint")
        #expect(statement.binds == [.bool(true), .text("x"), .text("x"), .int64(1)])
    }
}
