import ArgumentParser
import FoundationEssentials
import Testing
import TestSupport

@testable import Server

/// Checks with the real parser every command that the program's texts and the shipped documents tell users to type.
@Suite("Commands that code and documents print")
struct PrintedCommandTests {
    @Test("are commands, with arguments that they take", arguments: [PrintedCommands.sources, PrintedCommands.pages])
    func printed(files: [String]) throws {
        #expect(files.count > 40)
        var count = 0
        for file in files {
            var text = try String(contentsOfFile: PackageLayout.path(file), encoding: .utf8)
            // A text without Markdown code marks.
            if file.hasSuffix(".Debian") { text = "```sh\n\(text)\n```" }
            for command in PrintedCommands(text, isSwift: file.hasSuffix(".swift")).commands {
                count += 1
                if let problem = command.problem { Issue.record("\(file): federation \(command.text): \(problem)") }
            }
        }
        #expect(count > 100)
    }

    @Test(
        "what would end with 64 is found, wherever it stands",
        arguments: [
            (#"advice: "federation provider check \(application) \(provider)""#, true),
            (#"advice: "federation provider check \(application) --provider \(provider)""#, false),
            (#"advice: "federation set applications/\(id)/key/ios""#, true),
            (#"advice: "federation set applications/\(id)/keys/ios""#, false),
            (#"command: "federation get applications/\(a)/mapping/\(b)","#, true),
            (#"command: "federation mapping diff \(a) \(b) \(c)","#, false),
            (#""federation doctor; federation logins""#, false), (#""federation doctor; federation login""#, true),
            (#""run federation migrate now""#, true), (#""run `federation migrate` now""#, false),
            (#""run federation migarte""#, true),
        ]
    )
    func swiftText(text: String, isWrong: Bool) {
        let commands = PrintedCommands(text, isSwift: true).commands
        #expect(!commands.isEmpty)
        #expect(commands.contains { $0.problem != nil } == isWrong)
    }

    @Test(
        "and on a page",
        arguments: [
            ("By `federation user erase demo ID` it goes.", false), ("By `federation user erase demo` it goes.", true),
            ("`federation user import` reads files.", false), ("`federation user imports` reads files.", true),
            ("```sh\nA=b federation apply - --dry-run <x # federation nothing\n```", false),
            ("```sh\nfederation export demo | federation check --lively -\n```", true),
            ("```sh\nfederation user import demo FILE --from csv \\\n    --feld a=b\n```", true),
            ("```sh\nTOKEN=$(federation set operators/ann role=boss)\n```", true),
            ("```sql\ncreate role federation login;\n```", false), ("The federation service.", false),
        ]
    )
    func page(text: String, isWrong: Bool) {
        #expect(PrintedCommands(text, isSwift: false).commands.contains { $0.problem != nil } == isWrong)
    }
}

/// The commands of `federation` in a text.
private struct PrintedCommands {
    let commands: [PrintedCommand]

    /// Finds commands in the string literals of a source file, or in the code spans and blocks of a page.
    init(_ text: String, isSwift: Bool) {
        guard isSwift else {
            commands = Self.code(of: text).flatMap {
                Self.commands(in: $0.replacing(#/ *\\\n */#, with: " "), isShell: true)
            }
            return
        }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
            !line.drop { $0 == " " }.hasPrefix("//")
        }
        // A backslash of the shell is two in a literal; a single one joins the lines of a literal.
        let joined = lines.joined(separator: "\n").replacing(#/ *\\\\\n */#, with: " ").replacing(/\\\n */, with: "")
        commands = Self.commands(in: joined, isShell: false)
    }

    /// Returns the code spans and blocks of a page, except blocks in another language than the shell's.
    private static func code(of page: String) -> [String] {
        page.split(separator: "```", omittingEmptySubsequences: false).enumerated().flatMap { index, part -> [String] in
            guard index.isMultiple(of: 2) else {
                let language = part.prefix { $0 != "\n" }
                return ["", "sh", "text"].contains(language) ? [String(part.dropFirst(language.count))] : []
            }
            return part.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
        }
    }

    /// Texts that only look like commands: names of locks, of roles and of a database.
    private static let others = [
        "federation host names", "federation application \" + id", "federation indexes", "federation service",
        "federation console\", at", "federation login password", "federation to federation",
        "federation set enable_seqscan", "federation operator \" +",
    ]

    private static func commands(in text: String, isShell: Bool) -> [PrintedCommand] {
        text.matches(of: /federation(?:ctl)? +(?=[a-z])/).compactMap { match in
            let before = text[..<match.range.lowerBound]
            // A part of another word, of a path or of an option.
            if let last = before.last, last.isLetter || last.isNumber || "_/.=-".contains(last) { return nil }
            let line = before.split(separator: "\n", omittingEmptySubsequences: false).last ?? ""
            if isShell, line.contains("# ") { return nil }
            let found = text[match.range.lowerBound...]
            guard !others.contains(where: { found.hasPrefix($0) }) else { return nil }
            return PrintedCommand(text[match.range.upperBound...], isShell: isShell)
        }
    }

    /// The sources of all modules with texts for users and operators.
    static let sources = files(below: "Sources") { $0.hasSuffix(".swift") }
        .filter { !$0.hasPrefix("Sources/TestSupport/") }

    static let pages =
        files(below: "docs") { $0.hasSuffix(".md") || $0.hasSuffix("management.json") }
        + ["README.md", "mappings/README.md", "debian/federation.README.Debian"]

    private static func files(below folder: String, _ isMeant: (String) -> Bool) -> [String] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: PackageLayout.path(folder))) ?? []
        return names.filter(isMeant).sorted().map { "\(folder)/\($0)" }
    }
}

/// A command, from after `federation` to its end.
private struct PrintedCommand {
    let text: String
    private var words: [String] = []
    /// The indices of words that contain a placeholder.
    private var open: [Int] = []

    init(_ rest: Substring, isShell: Bool) {
        var word = ""
        var (isInWord, isOpen) = (false, false)
        var position = rest.startIndex
        var words: [String] = []
        var open: [Int] = []
        func next(_ count: Int = 1) -> Substring { rest[position...].dropFirst(count) }
        func close() {
            if isOpen || word.contains("…") || (word.count > 1 && word.allSatisfy { $0.isUppercase || $0 == "_" }) {
                open.append(words.count)
            }
            if isInWord { words.append(word) }
            (word, isInWord, isOpen) = ("", false, false)
        }
        scan: while position < rest.endIndex {
            let character = rest[position]
            switch character {
            // Several spaces separate the columns of a text.
            case " " where next().first == " ": break scan
            case " ": close()
            case "\\" where !isShell && next().first == "(":
                // An interpolation, up to its closing parenthesis.
                var depth = 0
                while position < rest.endIndex {
                    if rest[position] == "(" { depth += 1 }
                    if rest[position] == ")" { depth -= 1 }
                    if rest[position] == ")", depth == 0 { break }
                    position = rest.index(after: position)
                }
                if position == rest.endIndex { break scan }
                (isInWord, isOpen) = (true, true)
                word.append(Self.placeholder)
            case "'" where isShell, "\"" where isShell:
                isInWord = true
                let quoted = next().prefix { $0 != character }
                word += quoted
                if quoted.contains("$") { isOpen = true }
                position = quoted.endIndex
                if position == rest.endIndex { break scan }
            case "$" where isShell && next().first != "(":
                (isInWord, isOpen) = (true, true)
                word.append(character)
            case "\n", "`", "\"", "|", ";", "&", "<", ">", "(", ")", "#": break scan
            // The end of a clause; arguments do not end with these characters.
            case ",", ".", ":":
                guard let after = next().first, !" \n\"`".contains(after) else { break scan }
                word.append(character)
            default:
                isInWord = true
                word.append(character)
            }
            position = rest.index(after: position)
        }
        close()
        text = String(rest[..<min(position, rest.endIndex)])
        self.words = words
        self.open = open
    }

    /// The mark for the part of a word that the reader fills in.
    private static let placeholder: Character = "\u{FFFC}"

    /// The parser's complaint; `nil` for a valid command or the mere name of a command.
    var problem: String? {
        if words.first?.prefix(while: { $0 != Self.placeholder }) == "help" || Self.isName(words) { return nil }
        if words.last == "--help" {
            let isPath = (try? ResourceVerb.help(for: words)) != nil
            return isPath || Self.isName(words.dropLast()) ? nil : "has no help"
        }
        var last = "is no command"
        for values in Self.choices(open.count) {
            var words = words
            for (index, value) in zip(open, values) {
                let isPart = words[index].contains(Self.placeholder)
                words[index] =
                    isPart
                    ? words[index].replacing(String(Self.placeholder), with: value ?? "") : value ?? words[index]
            }
            do {
                let command = try FederationCommand.parseAsRoot(words)
                if command is any AsyncParsableCommand { return nil }
            } catch {
                last = FederationCommand.message(for: error)
            }
        }
        return last
    }

    /// Whether all words are a path of subcommands.
    private static func isName(_ words: some Sequence<String>) -> Bool {
        var command: any ParsableCommand.Type = FederationCommand.self
        for word in words {
            let below = command.configuration.subcommands
            guard let next = below.first(where: { $0._commandName == word }) else { return false }
            command = next
        }
        return true
    }

    /// Returns the possible values of placeholders: themselves, a number, an id.
    private static func choices(_ count: Int) -> [[String?]] {
        let values: [String?] = [nil, "demo", "1", "0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60"]
        return (0..<min(count, 5)).reduce([[]]) { choices, _ in
            choices.flatMap { choice in values.map { choice + [$0] } }
        }
    }
}
