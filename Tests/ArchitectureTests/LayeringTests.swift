import Testing

@Suite("Layering: who imports whom")
struct LayeringTests {
    @Test("Sources are found")
    func found() {
        #expect(Repository.modules.contains("Domain"))
        #expect(Repository.sources.count > 50)
    }

    @Test("A module imports its dependencies in Package.swift, and nothing else", arguments: Repository.modules)
    func imports(module: String) {
        for source in Repository.sources where source.module == module {
            for finding in ModuleRules.violations(of: module, path: source.path, source: source.swift) {
                Issue.record("\(finding)")
            }
        }
    }

    @Test("A module has no dependency in Package.swift that none of its sources imports", arguments: Repository.modules)
    func used(module: String) {
        let imported = Repository.sources.filter { $0.module == module }
            .flatMap { ImportStatement.all(in: $0.swift).map(\.module) }
        let declared = Manifest.dependencies[module, default: []].subtracting(["HummingbirdCore"])
        #expect(declared.subtracting(imported).isEmpty, "\(module)")
    }

    @Test("Every module of the service has its place in the order")
    func placed() {
        #expect(ModuleRules.service.union(["Server"]).union(ModuleRules.aside) == Set(Repository.modules))
        #expect(Set(ModuleRules.order).count == ModuleRules.order.count)
    }

    // A developer may edit the dependencies to pass a test, so the dependencies must keep to the rules, too.

    @Test("The dependencies in Package.swift keep to the rules", arguments: ModuleRules.order)
    func arrows(module: String) throws {
        for imported in try #require(Manifest.dependencies[module]) {
            if let objection = ModuleRules.objection(to: imported, by: module) {
                Issue.record("\(module) must not depend on \(imported), which \(objection)")
            }
        }
    }

    @Test(
        "Beside the service, the simulator knows the encodings and domain alone, and the test support nothing of ours"
    )
    func ignorant() {
        #expect(own("GraphSimulator") == ["Domain", "Encodings"])
        #expect(own("graph-simulator") == ["GraphSimulator"])
        #expect(own("TestSupport").isEmpty)
    }

    @Test(
        "The console names no kind of provider, but the one whose guide there is, once, beside its examples of calls",
        arguments: Repository.sources.filter { $0.module == "Console" }
    )
    func kindsInTheConsole(source: Repository.Source) {
        let isGuide = source.name == "SetupPage.swift"
        let text = source.text.lowercased()
        for kind in ModuleRules.providerKinds.map({ $0.lowercased() }) {
            let names =
                text.split(separator: isGuide ? "\"\(kind)\"" : kind, omittingEmptySubsequences: false).count - 1
            #expect(names == (isGuide && kind == "facebook" ? 1 : 0), "\(kind)")
        }
    }

    @Test(
        "Nothing that knows no provider speaks of Graph's fields",
        arguments: Repository.sources.filter { !ModuleRules.providerKinds.contains($0.module) }
    )
    func graphFields(source: Repository.Source) {
        #expect(!source.text.contains("graphFields"))
    }

    private func own(_ module: String) -> Set<String> {
        Manifest.dependencies[module, default: []].intersection(Repository.modules)
    }
}

@Suite("The layering check can fail")
struct LayeringSelfTests {
    private func violations(_ module: String, _ text: String) -> [String] {
        ModuleRules.violations(
            of: module,
            path: "Sample.swift",
            source: SwiftText(text),
            manifest: [
                "Pages": ["Domain", "Store", "HTTP"], "Store": ["Domain"], "Domain": ["Curl"], "Curl": ["Domain"],
            ]
        )
    }

    @Test(
        "A forbidden import is reported with its place and the reason",
        arguments: [
            ("Pages", "Store", "Pages must not import Store, which is reached by a use case"),
            ("Pages", "Limiting", "Limiting is no dependency of Pages in Package.swift"),
            ("Pages", "Backendless", "Pages must not import Backendless, which is a room, which Server alone knows"),
            ("Pages", "Console", "Pages must not import Console, which stands above"),
            ("Pages", "Foundation", "Pages must not import Foundation, which brings its locales into the process"),
            ("Pages", "TestSupport", "Pages must not import TestSupport, which stands beside the service"),
            ("Store", "Store", "Store must not import Store, which stands above"),
            ("Domain", "Curl", "Domain must not import Curl, which is no value"),
            ("Domain", "Glibc", "Domain must not import Glibc, which is no value"),
            ("Curl", "Domain", "Curl must not import Domain, which knows the service"),
        ]
    )
    func forbidden(module: String, imported: String, finding: String) {
        #expect(violations(module, "import Swift\nimport \(imported)\n") == ["Sample.swift:2: \(finding)"])
    }

    @Test(
        "Every form of a forbidden import is reported",
        arguments: [
            "import Store", "package import Store", "public import Store", "internal import Store",
            "private import Store",
            "import struct Store.LoginWrite", "public import class Store.Pool", "import Store.Submodule",
            "@preconcurrency import Store", "@_spi(Inner) import Store", "@_spi(Inner) public import Store",
            "import `Store`",
            "let a = 1; import Store", "import\n    Store", "#if canImport(Store)\nimport Store\n#endif",
            "/* a comment */ import Store", "import Domain; package import Store // both",
            "let text = \"\"\"\n    \\(\"a\")\n    \"\"\"\nimport Store",
        ]
    )
    func forms(text: String) {
        #expect(violations("Pages", text).count == 1)
        #expect(
            violations("Pages", text).first?.hasSuffix("Pages must not import Store, which is reached by a use case")
                == true
        )
    }

    @Test(
        "What only looks like an import is none",
        arguments: [
            "// import Store", "/* import Store */", "/* /* */ import Store */", "let text = \"import Store\"",
            "let text = #\"\" import Store\"#", "let text = \"\"\"\n    import Store\n    \"\"\"",
            "statement.import(Store)",
            "func read(import store: Store) {}", "let `import` = Store()", "let text = \"\\(\"import Store\")\"",
            "#if canImport(Store)\n#endif",
        ]
    )
    func lookalikes(text: String) {
        #expect(violations("Pages", text) == [])
    }

    @Test("Re-exporting and test access are reported even of a module that may be imported")
    func attributes() {
        #expect(
            violations("Pages", "@testable import Domain") == ["Sample.swift:1: @testable has no place in Sources"]
        )
        #expect(
            violations("Pages", "@_exported public import Domain") == [
                "Sample.swift:1: @_exported has no place in Sources"
            ]
        )
    }

    @Test("A module without a target is reported")
    func unknownModule() {
        #expect(violations("Utils", "").count == 1)
    }

    @Test("Lines are counted through comments and literals")
    func lines() {
        let text = "/*\n\n*/\nlet a = \"\"\"\n    \\(b(\n    c))\n    \"\"\"\nimport Store"
        #expect(
            violations("Pages", text) == ["Sample.swift:8: Pages must not import Store, which is reached by a use case"]
        )
    }
}
