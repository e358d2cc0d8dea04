import Administration
import ArgumentParser
import Encodings

/// The option that sets the format of a command's result: tables, or the JSON of the administration API.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON, for programs.")
    var json = false

    /// Prints a part of a list, as a table or as JSON.
    func show(_ page: Page, _ columns: [Column]) throws {
        guard !json else { return try print(page.json) }
        try table(columns, page.items)
        if let next = page.next { Terminal.say("For more, repeat the command with --cursor=\(next)") }
    }

    /// Prints one resource: first its members, then its lists as tables.
    func show(_ resource: Resource, _ sections: [Section] = [], moments: [String] = []) throws {
        guard !json else { return try print(resource.body) }
        try details(resource.body, tag: resource.tag, sections, moments: moments)
    }

    /// Prints a JSON result that is not a resource of the administration API.
    func show(_ value: JSONValue, _ sections: [Section]) throws {
        guard !json else { return try print(value) }
        try details(value, tag: nil, sections, moments: [])
    }

    func print(_ value: JSONValue) throws {
        try Terminal.print(value.indented + "\n")
    }

    // MARK: Tables

    /// A member of a result that is a list of objects, and the columns of the table that shows the list.
    struct Section {
        let member: String
        let columns: [Column]
    }

    func table(_ columns: [Column], _ rows: [JSONValue]) throws {
        let lines = Table(columns, rows).lines(within: Terminal.columns)
        try Terminal.print(lines.joined(separator: "\n") + "\n")
    }

    private func details(_ value: JSONValue, tag: String?, _ sections: [Section], moments: [String]) throws {
        var rows = Details(value, without: sections.map(\.member) + [Self.warnings], moments: moments).rows
        if let tag { rows.append(("tag", TerminalText.escaped(tag))) }
        let width = rows.map { TerminalText.width(of: $0.name) }.max() ?? 0
        try Terminal.print(
            rows.map { row in
                row.name + String(repeating: " ", count: width - TerminalText.width(of: row.name)) + "  " + row.value
                    + "\n"
            }.joined()
        )
        for section in sections {
            guard let elements = value.object?[section.member]?.array, !elements.isEmpty else { continue }
            try Terminal.print((rows.isEmpty ? "" : "\n") + section.member + "\n")
            try table(section.columns, elements)
        }
        for warning in value.object?[Self.warnings]?.array ?? [] { Terminal.say("warning: \(warning.string ?? "")") }
    }

    /// The name of the member in which any result may contain warnings.
    private static let warnings = "warnings"
}
