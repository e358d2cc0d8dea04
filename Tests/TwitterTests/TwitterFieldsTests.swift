import Encodings
import FoundationEssentials
@testable import Mapping
import Testing
import TestSupport
@testable import Twitter

@Suite("What a mapping can read of a person at Twitter")
struct TwitterFieldsTests {
    /// Returns the rows of the table below the heading: the fields, and their form in JSON.
    private static func table() throws -> [(fields: [String], form: Substring)] {
        let page = try String(contentsOfFile: PackageLayout.path("docs/mapping.md"), encoding: .utf8)
        let lines = page.split(separator: "\n")
        let heading = try #require(lines.firstIndex(of: "### Twitter's fields"))
        return lines[(heading + 1)...].prefix { !$0.hasPrefix("#") }.filter { $0.hasPrefix("| `") }.map { row in
            let cells = row.split(separator: "|")
            let fields = cells[0].split(separator: "`").map(String.init).filter { !$0.contains(" ") }
            return (fields, cells[1].drop { $0 == " " })
        }
    }

    @Test("the person who serves as an example has every field, and nothing that does not fit")
    func sample() {
        let fields = ProfileFields.twitter
        #expect(AdmittedProfile(fields.sample, by: fields).fields == fields.sample)
        #expect(Set(fields.sample.members.map(\.key)) == fields.names)
    }

    @Test("docs/mapping.md lists the fields that there are, each once, as what they are")
    func page() throws {
        let table = try Self.table()
        let listed = table.flatMap(\.fields)
        #expect(Set(listed) == ProfileFields.twitter.names)
        #expect(listed.count == Set(listed).count)
        for (fields, form) in table {
            for field in fields {
                let shape = ProfileFields.twitter.shape(of: try #require(FieldPath(field)))
                #expect(shape.flatMap(Self.words).map { form.hasPrefix($0) } == true, "\(field): \(form)")
                #expect((shape == .digits) == form.hasPrefix("text of digits"), "\(field): \(form)")
                #expect(ProfileFields.twitter.permission(of: field) == nil)
            }
        }
    }

    private static func words(for shape: FieldShape) -> String? {
        switch shape {
        case .text, .prose, .email, .url: "text"
        case .digits: "text of digits"
        case .integer: "integer"
        case .boolean: "`true` or `false`"
        default: nil
        }
    }
}
