import Accounts
import Administration
import Applications
import Description
import Domain
import Facebook
import FoundationEssentials
import Providers
import Testing
import TestSupport

/// Tests that documents of the repository agree with the descriptions that generate them.
///
/// `scripts/generate` writes them.
@Suite("Generated documents")
struct GeneratedDocumentTests {
    /// Whether the tests write the documents instead of comparing them.
    private static let isWriting = ProcessInfo.processInfo.environment["FEDERATION_GENERATE"] != nil

    /// Compares a document with the text that the code generates, or writes it.
    private func expect(_ path: String, toBe made: (String) throws -> String) throws {
        let file = URL(filePath: PackageLayout.path(path))
        let text = try String(contentsOf: file, encoding: .utf8)
        let wanted = try made(text)
        if Self.isWriting { try Data(wanted.utf8).write(to: file) }
        #expect(Self.isWriting || text == wanted, "\(path) is not what the code says: run scripts/generate")
    }

    @Test("mappings/application.schema.json is what the descriptions say")
    func schema() throws {
        try expect("mappings/application.schema.json") { _ in ApplicationSchema.text(try .outOfReach()) }
    }

    @Test("the tables of docs/configuration.md are what the descriptions say")
    func tables() throws {
        let shapes = [
            "settings": ApplicationSettings.description.shape, "facebook": FacebookKind.settingShape,
            "property": Property.description.shape,
        ]
        try expect("docs/configuration.md") { text in
            try shapes.reduce(text) { text, entry in
                let (begin, end) = ("<!-- \(entry.key): made by scripts/generate -->\n", "<!-- end -->")
                let start = try #require(text.firstRange(of: begin)?.upperBound, "no table of \(entry.key)")
                let stop = try #require(text[start...].firstRange(of: end)?.lowerBound)
                return text[..<start] + entry.value.table + text[stop...]
            }
        }
    }
}
