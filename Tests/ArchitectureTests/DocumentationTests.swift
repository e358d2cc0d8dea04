import FoundationEssentials
import Testing

@Suite("The documents say what the code says")
struct DocumentationTests {
    private static let pages: [Document] = {
        let docs =
            (try? FileManager.default.subpathsOfDirectory(atPath: Repository.root.appending(path: "docs").path)) ?? []
        let paths = ["README.md", "CHANGELOG.md"] + docs.filter { $0.hasSuffix(".md") }.sorted().map { "docs/" + $0 }
        return paths.compactMap { try? Document(path: $0) }
    }()

    private func source(_ path: String) throws -> SwiftText {
        try #require(Repository.sources.first { $0.path == path }, "\(path) is gone").swift
    }

    @Test("The newest version in CHANGELOG.md is the program's, with a date")
    func version() throws {
        let literals = try source("Sources/Server/FederationCommand.swift").tokens.filter { $0.kind == .literal }
        let page = try Document(path: "CHANGELOG.md")
        let newest = try #require(page.text.split(separator: "\n").first { $0.hasPrefix("## [") })
        let version = newest.dropFirst(4).prefix { $0 != "]" }
        #expect(literals.contains { $0.text == version }, "\(newest)")
        #expect(newest.wholeMatch(of: /## \[[0-9.]+\] - [0-9]{4}-[0-9]{2}-[0-9]{2}/) != nil)
    }

    /// The lists make the tables of docs/configuration.md, and decide which variable names are not misspelt.
    @Test("Every variable that is declared is listed, and read in its module")
    func variables() throws {
        let declaring = Repository.sources.filter { source in
            source.path.hasPrefix("Sources/Server/Variables/")
                || ModuleRules.providerKinds.contains(source.module) && source.path.hasSuffix("Configuration.swift")
        }
        var count = 0
        for source in declaring {
            let readers = Repository.sources
                .filter { $0.module == source.module && !$0.path.hasPrefix("Sources/Server/Variables/") }.map(\.swift)
            for variable in CodeFacts.variables(in: source.swift) {
                count += 1
                #expect(variable.isListed, "\(variable.owner).all lacks \(variable.name)")
                #expect(
                    readers.contains { CodeFacts.names(variable.owner, variable.name, in: $0) },
                    "nobody reads \(variable.owner).\(variable.name)"
                )
            }
        }
        #expect(count > 70)
    }

    @Test("Every list of variables is in a table of the documentation")
    func variableLists() throws {
        let path = "Sources/Server/Variables/VariableTable.swift"
        let tables = try source(path)
        let lists = Repository.sources.filter { $0.path.hasPrefix("Sources/Server/Variables/") && $0.path != path }
            .flatMap { CodeFacts.lists(in: $0.swift) }
        #expect(lists.count > 8)
        for list in lists { #expect(CodeFacts.names(list, "all", in: tables), "VariableTable.all lacks \(list).all") }
    }

    @Test("the alert of a wrong clock, its document and the doctor's have the tolerance of the code")
    func clockTolerance() throws {
        let clock = try #require(Repository.sources.first { $0.path == "Sources/Domain/WallClock.swift" })
        let tolerance = try #require(clock.text.firstMatch(of: /tolerance: Int64 = ([0-9]+)_000/)?.output.1)
        let alerts = try String(
            contentsOf: Repository.root.appending(path: "docker/prometheus/alerts.yml"),
            encoding: .utf8
        )
        #expect(alerts.contains("abs(federation_clock_offset_seconds) > \(tolerance)\n"))
        let metrics = try Document(path: "docs/metrics.md").text
        #expect(metrics.contains("Beyond \(tolerance) s either way"))
        let incident = try Document(path: "docs/operations/incident.md").text
        #expect(incident.contains("which may differ by \(tolerance) s"))
    }

    private static let statuses = [
        "badRequest": "400", "unauthorized": "401", "forbidden": "403", "notFound": "404", "methodNotAllowed": "405",
        "uriTooLong": "414",
        "conflict": "409", "preconditionFailed": "412", "contentTooLarge": "413", "unsupportedMediaType": "415",
        "unprocessableContent": "422", "preconditionRequired": "428", "tooManyRequests": "429",
        "internalServerError": "500", "serviceUnavailable": "503", "gatewayTimeout": "504",
    ]

    @Test("docs/api/errors.md and docs/administration.md list every reason with its code and status")
    func errors() throws {
        let names = CodeFacts.rawValues(in: try source("Sources/Domain/Failure.swift"))
        var listed: Set<String> = []
        let tables = [
            "docs/api/errors.md": "Backendless/Problem",
            "docs/administration.md": "AdministrationAPI/OperatorProblem",
        ]
        for (page, file) in tables {
            let table = CodeFacts.rows(in: try source("Sources/\(file).swift"))
            #expect(names.count == table.count, "\(file)")
            let rows = try Document(path: page).codeRows.filter { $0.count == 4 && names.values.contains($0[0]) }
            #expect(rows.count > 10)
            #expect(rows.count == Set(rows.map { $0[0] }).count, "\(page) lists a reason twice")
            for row in rows {
                let name = try #require(names.first { $0.value == row[0] }?.key)
                let expected = try #require(table[name], "\(name) has no row")
                #expect(row[1] == expected.code, "code of \(row[0]) in \(page)")
                #expect(row[2] == Self.statuses[expected.status], "status of \(row[0]) in \(page)")
                listed.insert(row[0])
            }
        }
        #expect(listed == Set(names.values))
    }

    @Test("docs/protocols/webauthn.md lists every reason why a passkey does not count")
    func passkeys() throws {
        let names = CodeFacts.rawValues(in: try source("Sources/WebAuthn/CeremonyError.swift"))
        let rows = try Document(path: "docs/protocols/webauthn.md").codeRows.map { $0[0] }
        #expect(names.count > 15)
        #expect(rows.filter(names.values.contains).sorted() == names.values.sorted())
    }

    @Test("The OpenAPI documents have the version of the command", arguments: ["public", "management"])
    func version(name: String) throws {
        let tokens = try source("Sources/Server/FederationCommand.swift").tokens
        let place = try #require(tokens.firstIndex { $0.isWord("version") })
        let version = try #require(tokens[place...].first { $0.kind == .literal }).text
        #expect(try Document(path: "docs/openapi/\(name).json").text.contains("\n    \"version\": \"\(version)\",\n"))
    }

    @Test("Every file and type that the pictures of docs/architecture.md name is there")
    func pictures() throws {
        let pictures = Pictures(of: try Document(path: "docs/architecture.md"))
        #expect(pictures.files.count > 100 && pictures.others.count > 10)
        func isFile(_ name: String) -> Bool {
            // The file may be in any folder of the module.
            let parts = name.split(separator: "/").map(String.init)
            if parts.count == 2,
                Repository.sources.contains(where: { $0.module == parts[0] && $0.name == parts[1] + ".swift" })
            {
                return true
            }
            return Repository.sources.contains { $0.path.hasSuffix("/\(name).swift") || $0.path.contains("/\(name)/") }
        }
        func isType(_ name: String) -> Bool {
            let declarations = ["struct", "enum", "class", "protocol", "actor"].map { "\($0) \(name)" }
            return Repository.sources.contains { source in
                source.text.contains(name)
                    && declarations.contains { declaration in
                        source.text.split(separator: declaration).dropFirst().contains { " :<".contains($0.prefix(1)) }
                    }
            }
        }
        for name in pictures.files.sorted() { #expect(isFile(name), "Sources have no file \(name).swift") }
        for name in pictures.others.sorted() {
            #expect(isFile(name) || isType(name), "Sources have neither a file nor a type \(name)")
        }
    }

    @Test("Every link leads to a file and a heading that are there", arguments: pages)
    func links(page: Document) throws {
        for link in page.links {
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let url = Repository.root.appending(path: parts[0].isEmpty ? page.path : page.folder + parts[0])
                .standardized
            #expect(FileManager.default.fileExists(atPath: url.path), "\(page.path) links to \(link)")
            guard parts.count == 2, let text = try? String(contentsOfFile: url.path, encoding: .utf8) else { continue }
            #expect(Document(path: parts[0], text: text).anchors.contains(parts[1]), "\(page.path) links to \(link)")
        }
    }
}

@Suite("The documentation checks can fail")
struct DocumentationSelfTests {
    @Test("Declared variables are found, with whether they are listed and read")
    func variables() {
        let source = SwiftText(
            """
            enum First {
                static let one = Variable.flag("one", standard: true, "…")
                static let two = Variable<Int?>("two", "…") { $0 }
                static let other = "two"
                static let all: [any DeclaredVariable] = [one]
            }
            enum Second { static let three = Variable.url("three") }
            """
        )
        let variables = CodeFacts.variables(in: source)
        #expect(
            variables == [
                .init(owner: "First", name: "one", isListed: true), .init(owner: "First", name: "two", isListed: false),
                .init(owner: "Second", name: "three", isListed: false),
            ]
        )
        let reader = SwiftText("let a = value(First.one), b = First.twofold, c = Other.two // First.two")
        #expect(variables.map { CodeFacts.names($0.owner, $0.name, in: reader) } == [true, false, false])
        #expect(CodeFacts.lists(in: source) == ["First"])
    }

    @Test("Rows of code and status are found for one case and for several")
    func rows() {
        let rows = CodeFacts.rows(
            in: SwiftText("switch a { case .b: (1, .c)\n case .d, .e: (2, .f)\n case .g: print(1) }")
        )
        #expect(rows.mapValues { "\($0.code) \($0.status)" } == ["b": "1 c", "d": "2 f", "e": "2 f"])
    }

    @Test("Names are found in pictures: paths, lists that fill a column, and others in what is said of them")
    func pictures() {
        let page = Document(
            path: "page.md",
            text: """
                No/Picture and NoPicture
                ```
                POST …/users/social/{provider}/login
                 ├ Room/Deeper/First    the first, for FirstRequest (Room/Second)
                 │  └ ThirdFile, Room/File+More   in PostgreSQL
                 └ …/Fourth → Fifth
                ```
                """
        )
        let pictures = Pictures(of: page)
        #expect(pictures.files == ["Room/Deeper/First", "Room/Second", "ThirdFile", "Room/File+More", "Fourth"])
        #expect(pictures.others == ["FirstRequest"])
    }

    @Test("Rows, links and headings of a page are read, and examples are not")
    func page() {
        let page = Document(
            path: "pages/page.md",
            text: """
                # One `two`, three
                ## Same
                ## Same
                | `NAME` | `a b` | with `code` |
                [file](other.md#x) and [web](https://example.com)
                ```
                # no heading
                [no link](nowhere.md)
                ```
                """
        )
        #expect(page.codeRows == [["NAME", "a b", "with `code`"]])
        #expect(page.links == ["other.md#x"])
        #expect(page.anchors == ["one-two-three", "same", "same-1"])
        #expect(page.folder == "pages/")
    }
}
