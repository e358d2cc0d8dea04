import Testing

@Suite("What stands in the sources")
struct SourceRulesTests {
    @Test("No try!, no as!, no work left undone", arguments: Repository.sources)
    func unfinishedOrTrapping(source: Repository.Source) {
        for finding in SourceRules.unfinishedOrTrapping(path: source.path, source: source.swift) {
            Issue.record("\(finding)")
        }
    }

    /// The only files that read environment variables, each with its reason.
    private static let environmentReaders: Set<String> = [
        // The service's configuration.
        "Sources/Server/ConfigurationReader.swift",
        // Secrets that a document names.
        "Sources/Server/Commands/DocumentFile.swift",
        // The name of the operator who runs a command, for the audit log.
        "Sources/Server/AdministrationTask.swift",
        // The URLs of applications' own databases.
        "Sources/Server/OwnDatabases.swift",
        // The secrets of applications' password sources.
        "Sources/Server/PasswordSources.swift",
        // Refuses variables by which libpq would override the database URL.
        "Sources/Postgres/ConnectionURL.swift",
    ]

    @Test(
        "T-14: no source of the service has a test back door",
        arguments: Repository.sources.filter { !ModuleRules.aside.contains($0.module) }
    )
    func backDoors(source: Repository.Source) {
        let findings = SourceRules.backDoors(
            path: source.path,
            source: source.swift,
            mayReadEnvironment: Self.environmentReaders.contains(source.path)
        )
        for finding in findings { Issue.record("\(finding)") }
    }

    /// The file of a library's name has the library's opening comment.
    ///
    /// An executable's opening comment is in the file of its entry point. An executable connects all parts, so a text
    /// that says what it is suffices.
    @Test("No two sources have one name")
    func names() {
        let paths = Dictionary(grouping: Repository.sources.map(\.path).filter { $0.hasPrefix("Sources/") }) { path in
            String(path.split(separator: "/").last ?? "")
        }
        for (name, paths) in paths { #expect(paths.count == 1, "\(name): \(paths)") }
    }

    @Test("A module opens with a text that says what it owns and what it must not know", arguments: Repository.modules)
    func header(module: String) throws {
        let sources = Repository.sources.filter { $0.module == module }
        if let entry = sources.first(where: { $0.swift.hasEntryPoint }) {
            let header = try #require(entry.swift.comments.first, "\(entry.path) has no comment")
            #expect(header.lines.count > 1, "\(entry.path) says too little")
        } else {
            let named = try #require(sources.first { $0.name == module + ".swift" }, "there is no \(module).swift")
            let header = try #require(named.swift.comments.first, "\(named.path) has no comment")
            #expect(SourceRules.isModuleHeader(header), "\(named.path) does not say it")
        }
    }
}

extension SwiftText {
    fileprivate var hasEntryPoint: Bool {
        zip(tokens, tokens.dropFirst()).contains { $0.isSymbol("@") && $1.isWord("main") }
    }
}

@Suite("The source checks can fail")
struct SourceRulesSelfTests {
    @Test(
        "Traps and undone work are reported",
        arguments: ["let a = try! b()", "let a = b as! C", "// TODO: later", "/* FIXME */", "let a = \"\\(try! b())\""]
    )
    func trapping(text: String) {
        #expect(SourceRules.unfinishedOrTrapping(path: "Sample.swift", source: SwiftText(text)).count == 1)
    }

    @Test(
        "What only looks like one is none",
        arguments: ["let a = try !b()", "// try! it", "let a = \"as!\"", "let todo = a", "if a as? B != c {}"]
    )
    func harmless(text: String) {
        #expect(SourceRules.unfinishedOrTrapping(path: "Sample.swift", source: SwiftText(text)) == [])
    }

    @Test(
        "T-14: every kind of back door is reported",
        arguments: [
            "if ProcessInfo.processInfo.environment[key] != nil {}", "getenv(name)", "let a = environ",
            "let name = \"TESTING\"", "let name = \"FEDERATION_DEBUG\"", "#if DEBUG\nlet a = 1\n#endif",
            "#if MOCK_GRAPH\n#endif", "let simulator = Simulator()",
        ]
    )
    func backDoor(text: String) {
        #expect(
            !SourceRules.backDoors(path: "Sample.swift", source: SwiftText(text), mayReadEnvironment: false).isEmpty
        )
    }

    @Test(
        "T-14: ordinary words are no back door",
        arguments: ["let latest = \"latest\"", "let level = \"debug\"", "#if os(Linux)\n#endif", "// simulator, TEST"]
    )
    func noBackDoor(text: String) {
        #expect(SourceRules.backDoors(path: "Sample.swift", source: SwiftText(text), mayReadEnvironment: false) == [])
    }

    @Test("A file that may read variables still may not read those of tests")
    func environment() {
        let text = SwiftText("let a = ProcessInfo.processInfo.environment[\"TEST_TOKEN\"]")
        #expect(SourceRules.backDoors(path: "Sample.swift", source: text, mayReadEnvironment: true).count == 1)
    }

    @Test("A header that says only half is none")
    func header() throws {
        let whole = try #require(
            SwiftText("// A — it owns this.\n//\n// It must not know that.\nimport B").comments.first
        )
        let half = try #require(SwiftText("// A — it owns this.\nimport B\n// It must not know that.").comments.first)
        #expect(SourceRules.isModuleHeader(whole))
        #expect(!SourceRules.isModuleHeader(half))
    }
}
