@testable import Accounts
@testable import Administration
import Description
import Domain
import Encodings
import Facebook
@testable import Mapping
import Providers
import Testing

@Suite("The files under mappings")
struct DocumentFileTests {
    @Test("each example of mappings/README.md is right")
    func examples() throws {
        let examples = try DocumentFiles.examples()
        #expect(examples.count >= 11)
        #expect(try DocumentFiles.blocks().filter { $0.kind.hasPrefix("json") }.count == examples.count + 1)
        for example in examples {
            #expect(ApplicationDocument.problems(example)?.description == nil, "\(example)")
        }
        // Each part matters: its value differs from the value at its place in the whole document.
        #expect(Set(examples).count == examples.count)
    }

    @Test("the broken example of mappings/README.md is answered as the page says")
    func broken() throws {
        let blocks = try DocumentFiles.blocks()
        let broken = try #require(blocks.first { $0.kind == "json broken" })
        let answer = try #require(blocks.first { $0.kind == "text" })
        #expect(ApplicationDocument.problems(broken.text)?.description == answer.text)
    }

    @Test(
        "each document that ships is right, names the schema beside it and is named on the page",
        arguments: DocumentFiles.ready
    )
    func ready(name: String) throws {
        let text = try DocumentFiles.text(name)
        #expect(ApplicationDocument.problems(text)?.description == nil)
        #expect(try json(text).object?["$schema"]?.string == "application.schema.json")
        #expect(try DocumentFiles.text("README.md").contains("[\(name)](\(name))"))
    }

    @Test("mappings/demo.json has the values that the doctor takes for the demo's")
    func demoValues() throws {
        let text = try DocumentFiles.text("demo.json")
        let document = try json(text).object
        for (place, value) in DemoValues.settings {
            #expect(place.reduce(document?["settings"]) { $0?.object?[$1] } == value, "\(place)")
        }
        for value in DemoValues.apps + [DemoValues.returnURL] { #expect(text.contains("\"\(value)\""), "\(value)") }
    }

    @Test("the full Graph user has every field of the catalogue")
    func fullUser() throws {
        let document = try ApplicationDocument(
            text: Array(try DocumentFiles.text("full-graph-user.json").utf8),
            kinds: try .outOfReach()
        )
        let mapped = Set(try Mapping(document.mapping).entries.flatMap { $0.from.paths.map(\.field) })
        #expect(mapped == ProfileFields.facebook.names)
    }

    @Test("the migration from Backendless is its plain dictionary, which a client may send, too")
    func migration() throws {
        let document = try ApplicationDocument(
            text: Array(try DocumentFiles.text("backendless-migration.json").utf8),
            kinds: try .outOfReach()
        )
        #expect(document.settings.dynamicProperties && document.settings.clientMapping)
        #expect(document.mapping.object != nil)
        let client = try Mapping(document.mapping, origin: .client)
        _ = try CompiledMapping(
            stored: nil,
            client: client,
            fields: .facebook,
            properties: document.properties,
            settings: document.settings
        )
    }

    @Test("profile basics need no permission that Facebook grants only after a review")
    func basics() throws {
        let document = try ApplicationDocument(
            text: Array(try DocumentFiles.text("profile-basics.json").utf8),
            kinds: try .outOfReach()
        )
        let fields = try Mapping(document.mapping).entries.flatMap { $0.from.paths.map(\.field) }
        #expect(fields.allSatisfy { ["public_profile", "email"].contains(ProfileFields.facebook.permission(of: $0)) })
    }
}
