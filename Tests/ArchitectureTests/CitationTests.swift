import FoundationEssentials
import Testing

@Suite("What is cited is there")
struct CitationTests {
    @Test("Every page, section, decision and test that is cited is in the repository", arguments: CitingFile.all)
    func citations(file: CitingFile) {
        for place in file.citations.places {
            guard let problem = CitedPages.shared.problem(of: place.citation, in: file.path) else { continue }
            Issue.record("\(file.path):\(place.line): \(problem)")
        }
    }

    @Test("Every decision says where it stands, in files that there are")
    func decisions() throws {
        let page = try Document(path: "docs/decisions.md")
        let decisions = page.decisions
        #expect(decisions.count > 10)
        #expect(decisions.map(\.number) == decisions.map(\.number).sorted(), "one number twice, or out of order")
        let files = Set(CitingFile.all.map(\.name)).union(CitingFile.all.map(\.path))
        for decision in decisions {
            let places = decision.text.split(separator: "\n").filter { $0.hasPrefix("In the code: ") }
                .flatMap { $0.split(separator: "`", omittingEmptySubsequences: false).enumerated() }
                .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
            #expect(!places.isEmpty, "D\(decision.number) says nowhere where it stands")
            for place in places {
                let isFile = files.contains(place) || files.contains("Tests/\(place).swift")
                #expect(isFile, "D\(decision.number) names \(place), which is no file")
            }
        }
    }
}

@Suite("The fault matrix")
struct FaultMatrixTests {
    @Test("docs/reliability.md names each row of docs/security.md once: scripts/reliability-page writes them")
    func reliability() throws {
        let rows = try Document(path: "docs/security.md").text.split(separator: "\n").filter { $0.hasPrefix("| F-") }
            .flatMap { Self.names(in: $0.split(separator: "|")[0]) }
        #expect(rows.count > 30)
        #expect(try Self.names(in: Document(path: "docs/reliability.md").text[...]).sorted() == rows.sorted())
    }

    private static func names(in text: Substring) -> [String] {
        text.matches(of: /F-[0-9]+[a-z]?/).map { String($0.output) }
    }
}

/// A text of the repository that may cite other files.
struct CitingFile: Sendable, CustomTestStringConvertible {
    /// The path from the root of the repository.
    let path: String
    let text: String

    var testDescription: String { path }

    /// The file's name, without the extension of a Swift source.
    var name: String {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return name.hasSuffix(".swift") ? String(name.dropLast(6)) : name
    }

    /// The string literals of a Swift source.
    var literals: [String] { SwiftText(text).tokens.filter { $0.kind == .literal }.map(\.text) }

    /// The comment at the beginning of a script.
    var heading: String {
        text.split(separator: "\n").prefix { $0.hasPrefix("#") }.joined(separator: "\n")
    }

    var citations: Citations {
        if path.hasSuffix(".swift") { return Citations(of: SwiftText(text)) }
        let hasSections = path.hasSuffix(".md") && !Document(path: path, text: text).sections.isEmpty
        return Citations(of: text, ownSectionsOf: hasSections ? path : nil)
    }

    /// Every Swift source and page, the schema, and every text file in the folders of scripts.
    ///
    /// This file is excluded: its examples have broken citations on purpose.
    static let all: [CitingFile] = {
        var paths = ["Package.swift", "README.md", "CHANGELOG.md", "schema.sql"]
        for folder in ["Benchmarks", "Sources", "Tests", "docs", "mappings", "scripts", "docker", ".ci"] {
            let names =
                (try? FileManager.default.subpathsOfDirectory(
                    atPath: Repository.root.appending(path: folder).path
                )) ?? []
            let holdsScripts = ["scripts", "docker", ".ci"].contains(folder)
            paths += names.sorted().filter { name in
                !name.split(separator: "/").contains { $0 == ".build" || $0 == "node_modules" }
                    && (holdsScripts || name.hasSuffix(".swift") || name.hasSuffix(".md"))
            }.map { folder + "/" + $0 }
        }
        return paths.filter { $0 != "Tests/ArchitectureTests/CitationTests.swift" }.compactMap { path in
            // Folders and binary files have no text.
            let text = try? String(contentsOfFile: Repository.root.appending(path: path).path, encoding: .utf8)
            return text.map { CitingFile(path: path, text: $0) }
        }
    }()
}

/// The pages, decisions and tests that texts can cite.
struct CitedPages: Sendable {
    /// Pages by their paths from the root of the repository.
    private let pages: [String: Document]
    private let decisions: Set<String>
    /// Names of tests from the titles of tests and from the headings of test scripts.
    private let titles: Set<String>
    /// Names of tests that docs/security.md explains.
    private let explained: Set<String>

    static let shared = CitedPages(of: CitingFile.all)

    init(of files: [CitingFile]) {
        let pages = files.filter { $0.path.hasSuffix(".md") }.map { Document(path: $0.path, text: $0.text) }
        self.pages = Dictionary(pages.map { ($0.path, $0) }) { first, _ in first }
        decisions = Set(self.pages["docs/decisions.md"]?.decisions.map { "D\($0.number)" } ?? [])
        let programs = files.filter { file in
            file.path.hasPrefix("Tests/") && file.path.hasSuffix("Tests.swift")
                || file.path.hasPrefix("Benchmarks/")
        }
        let scripts = files.filter { $0.path.hasPrefix("scripts/") && $0.path.hasSuffix("-test") }
        titles = Self.tests(in: programs.flatMap(\.literals) + scripts.map(\.heading))
        explained = Self.tests(in: [self.pages["docs/security.md"]?.text ?? ""])
    }

    private static func tests(in texts: [String]) -> Set<String> {
        Set(
            texts.flatMap { Citations(of: $0).places }.compactMap { place in
                if case .test(let name) = place.citation { name } else { nil }
            }
        )
    }

    /// Returns why a citation is broken; nil when its target exists.
    func problem(of citation: Citations.Citation, in file: String) -> String? {
        switch citation {
        case .page(let path, let heading):
            guard let page = page(path, from: file) else { return "there is no \(path)" }
            guard let heading, !page.anchors.contains(heading) else { return nil }
            return "\(path) has no heading #\(heading)"
        case .section(let number, nil):
            return "\(number) belongs to nothing that is named before it"
        case .section(let number, let path?):
            // A missing page is reported already.
            guard let page = page(path, from: file), !page.sections.contains(number) else { return nil }
            return "\(path) has no \(number)"
        case .decision(let number):
            return decisions.contains(number) ? nil : "docs/decisions.md has no \(number)"
        case .test(let name):
            guard Self.has(titles, name) else { return "no test has \(name) in its title" }
            return file.hasPrefix("Tests/") || Self.has(explained, name) ? nil : "docs/security.md has no \(name)"
        case .foreign(let name):
            return "\(name) is in no file of the repository"
        }
    }

    /// Returns whether there is a test of that name, or of one case of it, such as `T-33b`.
    private static func has(_ names: Set<String>, _ name: String) -> Bool {
        names.contains(name) || names.contains { $0.count == name.count + 1 && $0.hasPrefix(name) }
    }

    /// Returns the page at a path from the root, or at a path relative to the citing page.
    private func page(_ path: String, from file: String) -> Document? {
        if let page = pages[path] { return page }
        guard file.hasSuffix(".md") else { return nil }
        var folders = file.split(separator: "/").dropLast()
        for part in path.split(separator: "/") {
            switch part {
            case ".": break
            case "..": folders = folders.dropLast()
            default: folders.append(part)
            }
        }
        return pages[folders.joined(separator: "/")] ?? pages["docs/" + path]
    }
}

@Suite("The citation checks can fail")
struct CitationSelfTests {
    private static let files = [
        CitingFile(
            path: "docs/decisions.md",
            text: "# Decisions\n## D4: Four\nIn the code: `A`.\n## D13: More\nIn the code: `B`.\n"
        ),
        CitingFile(path: "docs/wire.md", text: "# Wire\n## §1 One\n### §1.2 Two\nsee §1 and RFC 1 §9, then §1.2\n"),
        CitingFile(path: "docs/security.md", text: "| T-41, T-33b |"),
        CitingFile(path: "Tests/ATests/ATests.swift", text: #"@Test("T-41, F-02: a"), @Test("T-33b: b")"#),
    ]

    private func problems(_ text: String, in path: String = "Sources/A/A.swift") -> [String] {
        let file = CitingFile(path: path, text: text)
        let pages = CitedPages(of: Self.files)
        return file.citations.places.compactMap { pages.problem(of: $0.citation, in: path) }
    }

    @Test(
        "What leads nowhere is reported",
        arguments: [
            "// see design.md", "/// (facts/)", "// docs/gone.md says it", "// wire.md §1", "// docs/wire.md#three",
            "// docs/wire.md §1, §1.3", "// docs/wire.md\n// §3", "// docs/wire.md §1–§2", "// §1", "// decision D5",
            "// D4 and D14", "// V-41", "// T-42", "// F-02 is no word of docs/security.md", "@Test(\"D5: more\")",
            "let a = \"docs/gone.md\"", "@Test(\"docs/wire.md §7: more\")",
        ]
    )
    func dangling(text: String) {
        #expect(problems(text).count == 1)
    }

    @Test(
        "What leads somewhere, or only looks like a citation, is not",
        arguments: [
            "// docs/wire.md §1.2.", "// (docs/wire.md §1, §1.2 and §1)", "// docs/wire.md#11-one", "// T-33, T-33b",
            "// RFC 9110 §8.8.3\n\nlet a = 1 // §13", "// decision D4", "let D5 = \"0F3C-D5-4C8A\" // %D9%A1 +D5+/",
            "let a = [\"other.md\", \"UTF-16\"]", "// https://example.com/other.md",
        ]
    )
    func sound(text: String) {
        #expect(problems(text.replacing("#11-one", with: "#1-one")) == [])
    }

    @Test("A page cites its own sections, and its neighbours by their names")
    func pages() {
        #expect(problems(Self.files[1].text, in: "docs/wire.md") == [])
        #expect(problems("## §1 One\n[§3](#3-x), [wire](wire.md#2)", in: "docs/wire.md").count == 2)
        #expect(problems("[wire](../wire.md) §1, ../gone.md", in: "docs/more/more.md") == ["there is no ../gone.md"])
        // With `./` a page names a neighbour that has the name of a page at the root.
        #expect(problems("./wire.md, ./gone.md", in: "docs/more.md") == ["there is no ./gone.md"])
    }

    @Test("A name that only a test has is enough for another test")
    func names() {
        #expect(problems("// F-02", in: "Tests/ATests/Help.swift") == [])
        #expect(problems("// F-03", in: "Tests/ATests/Help.swift").count == 1)
    }

    @Test("Decisions and sections of a page are read")
    func headings() throws {
        let decisions = Document(path: Self.files[0].path, text: Self.files[0].text).decisions
        #expect(decisions.map(\.number) == [4, 13])
        #expect(decisions.first?.text == "In the code: `A`.")
        #expect(Document(path: Self.files[1].path, text: Self.files[1].text).sections == ["§1", "§1.2"])
    }
}
