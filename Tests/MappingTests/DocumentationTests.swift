import Domain
import Encodings
import Facebook
import FoundationEssentials
import Mapping
import Testing

@Suite("docs/mapping.md")
struct DocumentationTests {
    private static let page = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "docs/mapping.md")

    /// The texts of the page's `json` blocks.
    private static func examples() throws -> [String] {
        let page = try String(contentsOf: page, encoding: .utf8)
        var examples: [String] = []
        var lines: [Substring]?
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            switch (line, lines) {
            case ("```json", nil): lines = []
            case ("```", let block?):
                examples.append(block.joined(separator: "\n"))
                lines = nil
            case (_, var block?):
                block.append(line)
                lines = block
            case (_, nil): continue
            }
        }
        return examples
    }

    @Test("has examples of every kind")
    func hasExamples() throws {
        let examples = try Self.examples()
        #expect(examples.count >= 13)
        for key in ["\"writes\"", "\"fails\"", "\"fields\"", "\"fieldsMapping\"", "\"scopes\"", "\"settings\""] {
            #expect(examples.contains { $0.contains(key) }, "\(key)")
        }
    }

    @Test("each example does what the page says", arguments: try examples())
    func example(text: String) throws {
        let example = try #require(try JSONParser.parse(text, limits: .document).object)
        let known = [
            "mapping", "fieldsMapping", "properties", "settings", "profile", "scopes", "writes", "clears", "fields",
            "fails",
        ]
        #expect(example.members.allSatisfy { known.contains($0.key) })
        let scenario = try Self.scenario(example)
        let profile = example["profile"]?.text ?? "{}"
        let scopes = example["scopes"]?.array?.compactMap(\.string)
        if let reason = example["fails"]?.string {
            let found = try scenario.problems().first?.reason ?? scenario.failure(profile, scopes: scopes)?.reason
            #expect(found?.rawValue == reason)
            return
        }
        let plan = try scenario.compiled()
        if let fields = example["fields"]?.string { #expect(plan.fields == fields) }
        let mapped = try scenario.apply(profile, scopes: scopes)
        #expect(mapped.cleared.map { .string($0.text) } == example["clears"]?.array ?? [])
        var written = JSONObject()
        for (target, value) in zip(plan.targets, mapped.values) {
            if let value { written.append(target.name.text, value.json) }
        }
        #expect(written == (try #require(example["writes"]?.object)))
    }

    @Test("stored mappings that the page shows working also pass the check before saving")
    func checked() throws {
        for text in try Self.examples() {
            let example = try #require(try JSONParser.parse(text, limits: .document).object)
            guard example["writes"] != nil, let mapping = example["mapping"] else { continue }
            let problems = MappingCheck.problems(
                of: mapping,
                fields: .facebook,
                properties: try Self.scenario(example).properties,
                columns: []
            )
            #expect(problems.isEmpty, "\(problems.map(\.message))")
        }
    }

    private static func scenario(_ example: JSONObject) throws -> Scenario {
        var scenario = Scenario(stored: example["mapping"]?.text, client: example["fieldsMapping"]?.text)
        for member in example["properties"]?.object?.members ?? [] {
            let words = try #require(member.value.string).split(separator: " ")
            let type = try #require(words.first.flatMap { PropertyType(rawValue: String($0)) })
            let isOpen = words.dropFirst().first == "client"
            scenario.properties.append(isOpen ? try .open(member.key, type) : try .closed(member.key, type))
        }
        scenario.settings.dynamicProperties = example["settings"]?.object?["dynamicProperties"]?.bool ?? false
        return scenario
    }

    @Test(
        "every bound that the page names is the one that holds",
        arguments: [
            "256, 64", "128 bytes, 8 names", "1024 bytes, 16 fields", "| 16 |", "| 512 |", "| 32 bytes |", "4096 bytes",
            "| 100 |",
        ]
    )
    func bounds(text: String) throws {
        // Other tests check that the code has these bounds; this test checks that the page has them.
        #expect(try String(contentsOf: Self.page, encoding: .utf8).contains(text))
    }

    @Test("the page's table of permissions is the catalogue's")
    func permissions() throws {
        let page = try String(contentsOf: Self.page, encoding: .utf8)
        for field in [
            "name", "email", "birthday", "age_range", "gender", "hometown", "location", "link", "friends", "picture",
        ] {
            let permission = try #require(ProfileFields.facebook.permission(of: field))
            let row = page.split(separator: "\n").first {
                $0.hasPrefix("|") && $0.contains("`\(field)`") && $0.contains("`\(permission)`")
            }
            #expect(row != nil, "\(field)")
        }
    }
}
