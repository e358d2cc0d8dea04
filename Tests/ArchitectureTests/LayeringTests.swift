import Testing

@Suite("Layering: who imports whom")
struct LayeringTests {
    @Test("Sources are found")
    func found() {
        #expect(Repository.modules.contains("Vocabulary"))
        #expect(Repository.sources.count > 50)
    }

    @Test("A module imports what its line in the table allows, and nothing else", arguments: Repository.modules)
    func imports(module: String) {
        for source in Repository.sources where source.module == module {
            for finding in ModuleRules.violations(of: module, path: source.path, source: source.swift) {
                Issue.record("\(finding)")
            }
        }
    }

    // The table is what people edit when a test is in their way; so the table itself is held to the promises.

    @Test("The table lets drivers, the vocabulary and the simulator know nothing of ours")
    func ignorant() {
        for module in ModuleRules.drivers.union(["Vocabulary", "GraphSimulator", "TestSupport"]) {
            #expect(own(module).isEmpty, "\(module)")
        }
        #expect(own("graph-simulator") == ["GraphSimulator"])
    }

    @Test("The table lets pure modules import values and functions of values only: no system, no network, no log")
    func pure() {
        let harmless: Set<String> = [
            "CQREncode", "Crypto", "CryptoExtras", "FoundationEssentials", "Mapping", "Swift", "Vocabulary",
        ]
        for module in ModuleRules.pure {
            #expect(ModuleRules.allowed[module]?.subtracting(harmless).isEmpty == true, "\(module)")
        }
    }

    @Test("The table keeps the arrows of docs/architecture.md pointing down")
    func arrows() {
        #expect(own("Mapping") == ["Vocabulary"])
        #expect(own("Import") == ["Mapping", "Vocabulary"])
        #expect(own("SignedTokens") == ["Vocabulary"])
        #expect(own("WebAuthn") == ["Vocabulary"])
        #expect(own("Providers") == ["Mapping", "Vocabulary"])
        #expect(own("Upstream") == ["Curl", "Providers", "Vocabulary"])
        #expect(
            own("Facebook") == ["Curl", "Mapping", "Providers", "SignedTokens", "Upstream", "Vocabulary"]
        )
        #expect(own("Twitter") == ["Curl", "Mapping", "Providers", "Upstream", "Vocabulary"])
        #expect(own("OneTimeCodes") == ["Vocabulary"])
        #expect(own("Mailing") == ["Curl", "Vocabulary"])
        #expect(own("Texting") == ["Curl", "Vocabulary"])
        #expect(own("Store") == ["EmbeddedFiles", "Postgres", "Vocabulary"])
        let below: Set = ["Applications", "Secrets", "Store", "Vocabulary"]
        #expect(own("Secrets") == ["Store", "Vocabulary"])
        #expect(own("Applications") == ["Limiting", "Mapping", "Providers", "Secrets", "Store", "Vocabulary"])
        #expect(own("KeptTokens") == below.union(["Mapping", "Providers"]))
        #expect(own("Notifications") == below.union(["Limiting", "Mailing"]))
        #expect(
            own("Factors") == below.union(["Mailing", "Notifications", "OneTimeCodes", "Texting", "WebAuthn"])
        )
        #expect(
            own("Logins")
                == below.union([
                    "Factors", "KeptTokens", "Limiting", "Mailing", "Mapping", "Notifications", "Providers",
                    "SignedTokens",
                ])
        )
        #expect(
            own("Accounts")
                == below.union([
                    "Deletions", "Factors", "KeptTokens", "Limiting", "Logins", "Mailing", "Mapping", "Notifications",
                    "Passwords",
                ])
        )
        #expect(own("Deletions") == below.union(["KeptTokens", "Providers"]))
        #expect(own("Callbacks") == below.union(["Deletions", "KeptTokens", "Providers"]))
        #expect(own("Maintenance") == below.union(["Deletions", "KeptTokens", "Providers"]))
        #expect(
            own("Administration")
                == below.union([
                    "Accounts", "Deletions", "Factors", "Import", "KeptTokens", "Mailing", "Mapping", "Notifications",
                    "Observability", "Passwords", "Providers", "Texting",
                ])
        )
        #expect(own("Limiting") == ["Vocabulary"])
        #expect(own("HTTP") == ["Limiting", "Vocabulary"])
        #expect(
            own("Backendless") == [
                "Accounts", "Applications", "Callbacks", "EmbeddedFiles", "Factors", "Federation", "HTTP", "KeptTokens",
                "Limiting", "Logins", "Notifications", "Providers", "Vocabulary",
            ]
        )
        #expect(
            own("API") == [
                "Accounts", "Administration", "Applications", "EmbeddedFiles", "Factors", "Federation", "HTTP",
                "Limiting", "Logins", "Notifications", "Providers", "Secrets", "Vocabulary",
            ]
        )
        #expect(own("Observability") == ["Curl", "Vocabulary"])
    }

    @Test("The table lets nothing but the wiring know a protocol of clients or a kind of provider")
    func rooms() {
        for module in ModuleRules.service {
            #expect(own(module).isDisjoint(with: ModuleRules.clientProtocols), "\(module)")
            #expect(own(module).isDisjoint(with: ModuleRules.providerKinds), "\(module)")
        }
    }

    @Test(
        "The console names no kind of provider, but in the guide that sets one up",
        arguments: Repository.sources.filter { $0.module == "Console" && $0.name != "SetupPage.swift" }
    )
    func kindsInTheConsole(source: Repository.Source) {
        for kind in ModuleRules.providerKinds {
            #expect(!source.text.lowercased().contains("\"\(kind.lowercased())\""), "\(kind)")
        }
    }

    @Test("The table lets nothing of the service know the simulator or the test support")
    func aside() {
        for module in ModuleRules.service.union(["Server"]) {
            #expect(own(module).isDisjoint(with: ModuleRules.aside), "\(module)")
        }
    }

    @Test("The table lets nothing of the service bring full Foundation, with its locales, into the process")
    func foundation() {
        for module in ModuleRules.service.union(["Server"]) {
            #expect(ModuleRules.allowed[module]?.contains("Foundation") == false, "\(module)")
        }
    }

    private func own(_ module: String) -> Set<String> {
        ModuleRules.allowed[module]?.intersection(ModuleRules.ours) ?? []
    }
}

@Suite("The layering check can fail")
struct LayeringSelfTests {
    private func violations(_ module: String, _ text: String) -> [String] {
        ModuleRules.violations(of: module, path: "Sample.swift", source: SwiftText(text))
    }

    @Test("A forbidden import is reported with its place")
    func forbidden() {
        let source = """
            import Vocabulary
            import Store

            struct Sample {}
            """
        #expect(violations("API", source) == ["Sample.swift:2: API must not import Store"])
        #expect(violations("Store", source) == ["Sample.swift:2: Store must not import Store"])
    }

    @Test(
        "Every form of a forbidden import is reported",
        arguments: [
            "import Store", "package import Store", "public import Store", "internal import Store",
            "private import Store",
            "import struct Store.SignInWrite", "public import class Store.Pool", "import Store.Submodule",
            "@preconcurrency import Store", "@_spi(Inner) import Store", "@_spi(Inner) public import Store",
            "import `Store`",
            "let a = 1; import Store", "import\n    Store", "#if canImport(Store)\nimport Store\n#endif",
            "/* a comment */ import Store", "import Vocabulary; package import Store // both",
            "let text = \"\"\"\n    \\(\"a\")\n    \"\"\"\nimport Store",
        ]
    )
    func forms(text: String) {
        #expect(violations("API", text).count == 1)
        #expect(violations("API", text).first?.hasSuffix("API must not import Store") == true)
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
        #expect(violations("API", text) == [])
    }

    @Test("Re-exporting and test access are reported even of a module that may be imported")
    func attributes() {
        #expect(
            violations("API", "@testable import Vocabulary") == ["Sample.swift:1: @testable has no place in Sources"]
        )
        #expect(
            violations("API", "@_exported public import Vocabulary") == [
                "Sample.swift:1: @_exported has no place in Sources"
            ]
        )
    }

    @Test("A module without a line in the table is reported")
    func unknownModule() {
        #expect(violations("Utils", "").count == 1)
    }

    @Test("Lines are counted through comments and literals")
    func lines() {
        let text = "/*\n\n*/\nlet a = \"\"\"\n    \\(b(\n    c))\n    \"\"\"\nimport Store"
        #expect(violations("API", text) == ["Sample.swift:8: API must not import Store"])
    }
}
