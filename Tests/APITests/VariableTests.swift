import FoundationEssentials
import Providers
@testable import Server
import Testing
import TestSupport

/// Tests that the tables of variables in the documentation agree with the declarations.
///
/// `scripts/generate` writes the tables.
@Suite("Generated tables of variables")
struct GeneratedVariableTests {
    @Test("docs/configuration.md has the tables of the declarations")
    func configuration() throws {
        let tables = VariableTable.all.filter { $0.name != VariableTable.rates.name }
        try expect("docs/configuration.md", toHave: tables, columns: ["name", "default", "unit", "meaning"]) {
            [$0, $1, $2.unit, $2.meaning]
        }
    }

    @Test("docs/limits.md has the table of the rates")
    func rates() throws {
        try expect("docs/limits.md", toHave: [.rates], columns: ["variable", "default", "counts"]) {
            [$0, $1, $2.meaning]
        }
    }

    /// Compares the tables of a page, or writes them, and checks that the page has no other row of a variable.
    private func expect(
        _ path: String,
        toHave tables: [VariableTable],
        columns: [String],
        row: (_ name: String, _ standard: String, _ variable: any DeclaredVariable) -> [String]
    ) throws {
        let page = try GeneratedFile(path)
        let made = tables.map { table in
            (
                table.name,
                GeneratedFile.table(columns, table.variables.map { row("`\($0.name)`", Self.standard(of: $0), $0) })
            )
        }
        let wanted = try page.text(withBlocks: Dictionary(uniqueKeysWithValues: made))
        #expect(try page.has(wanted), "\(path) is not what the code says: run scripts/generate")
        let listed = wanted.split(separator: "\n").count { $0.hasPrefix("| `FEDERATION_") }
        #expect(listed == tables.reduce(0) { $0 + $1.variables.count }, "\(path) has rows outside of the tables")
    }

    private static func standard(of variable: any DeclaredVariable) -> String {
        guard let text = variable.standardText else { return "none" }
        return text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? text : "`\(text)`"
    }
}

@Suite("Variables of the environment")
struct VariableTests {
    private static let declared = VariableTable.all.flatMap(\.variables)

    @Test("no two are of one name, and what one says of others names those that there are")
    func names() {
        let names = Set(Self.declared.map(\.name))
        #expect(names.count > 90 && names.count == Self.declared.count)
        for variable in Self.declared {
            for match in variable.meaning.matches(of: /FEDERATION_[A-Z0-9_]+/) {
                #expect(names.contains(String(match.output)), "\(variable.name) speaks of \(match.output)")
            }
        }
    }

    @Test(
        "a name that no variable has is a problem, and the nearest one is said, where one is near",
        arguments: [
            ("FEDERATION_LISTN", "FEDERATION_LISTEN"), ("FEDERATION_Listen", "FEDERATION_LISTEN"),
            ("FEDERATION_GRAPH_URI", "FEDERATION_GRAPH_URL"), ("FEDERATION_SMPT_URL", "FEDERATION_SMTP_URL"),
            ("FEDERATION_TWITER_CALL_MILLISECONDS", "FEDERATION_TWITTER_CALL_MILLISECONDS"),
            ("FEDERATION_LIMIT_LOGIN_SOURCES", "FEDERATION_LIMIT_LOGIN_SOURCE"),
            ("FEDERATION_PASSWORD-QUEUE", "FEDERATION_PASSWORD_QUEUE"),
            ("FEDERATION_", nil), ("FEDERATION_X", nil), ("FEDERATION_SHOP_APP_SECRET", nil),
            ("FEDERATION_" + String(repeating: "LONG_", count: 100), nil),
        ]
    )
    func misspelt(name: String, nearest: String?) {
        let other = "; variables for documents must not begin with FEDERATION_"
        let hint = nearest.map { " (did you mean \($0)?)" } ?? other
        let problem = "\(name) is not a variable of the service\(hint)"
        #expect(UnknownVariables.problems(environment: ["PATH", name, "FEDERATION_MODE"]) == [problem])
    }

    @Test("a former name is told the present one, of the environment and of the file")
    func former() {
        let name = "FEDERATION_UPKEEP_CHECKS_PER_SECOND"
        let problem = "\(name) is now called FEDERATION_MAINTENANCE_CHECKS_PER_SECOND"
        #expect(UnknownVariables.problems(environment: [name]) == [problem])
        let place = "federation.upkeep.lease.milliseconds"
        #expect(
            UnknownVariables.problems(file: [place])
                == ["\(place) is now called federation.maintenance.lease.milliseconds"]
        )
    }

    @Test("what is a variable, or has another beginning, is no problem; problems are in the order of their names")
    func order() {
        let others = ["PATH", "LISTEN", "federation_listn", "SHOP_FEDERATION_LISTN", "FEDERATIONS_LISTN", "FEDERATION"]
        #expect(UnknownVariables.problems(environment: Self.declared.map(\.name) + others) == [])
        let said = UnknownVariables.problems(environment: ["FEDERATION_ZZZ", "FEDERATION_AAA"])
        #expect(said.map { $0.prefix(14) } == ["FEDERATION_AAA", "FEDERATION_ZZZ"])
    }

    @Test("what Kubernetes sets for a service of the cluster is no problem, and alone it is")
    func cluster() {
        let names = [
            "FEDERATION_PORT", "FEDERATION_SERVICE_PORT", "FEDERATION_SERVICE_PORT_HTTP", "FEDERATION_PORT_8080_TCP",
            "FEDERATION_PORT_8080_TCP_PROTO", "FEDERATION_PORT_8080_TCP_PORT", "FEDERATION_PORT_8080_TCP_ADDR",
        ]
        let management = ["FEDERATION_MANAGEMENT_SERVICE_HOST", "FEDERATION_MANAGEMENT_PORT"]
        #expect(UnknownVariables.problems(environment: names + ["FEDERATION_SERVICE_HOST"] + management) == [])
        #expect(UnknownVariables.problems(environment: names + management).count == names.count)
    }

    @Test(
        "a place of the file that no variable has is a problem, also one beside federation",
        arguments: [
            ("federation.listn", "federation.listen"), ("listen", "federation.listen"),
            ("federation.Listen", "federation.listen"),
            ("federation.password.queue.length", "federation.password.queue"),
            ("federation", nil), ("", nil), ("comment", nil),
        ]
    )
    func misspelt(place: String, nearest: String?) {
        let hint = nearest.map { " (did you mean \($0)?)" } ?? ""
        let problem = "\(place) is not a variable of the service\(hint)"
        #expect(UnknownVariables.problems(file: Self.declared.map { "federation." + $0.key } + [place]) == [problem])
    }
}
