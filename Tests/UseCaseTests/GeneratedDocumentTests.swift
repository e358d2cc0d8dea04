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
    @Test("mappings/application.schema.json is what the descriptions say")
    func schema() throws {
        let isSame = try GeneratedFile("mappings/application.schema.json").has(ApplicationSchema.text(.outOfReach()))
        #expect(isSame, "the schema is not what the code says: run scripts/generate")
    }

    @Test("the tables of docs/configuration.md are what the descriptions say")
    func tables() throws {
        let page = try GeneratedFile("docs/configuration.md")
        let isSame = try page.has(
            page.text(withBlocks: [
                "settings": ApplicationSettings.description.shape.table, "facebook": FacebookKind.settingShape.table,
                "property": Property.description.shape.table,
            ])
        )
        #expect(isSame, "the tables are not what the code says: run scripts/generate")
    }
}
