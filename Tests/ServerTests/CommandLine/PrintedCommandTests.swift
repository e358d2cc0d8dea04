import ArgumentParser
import FoundationEssentials
import TestSupport
import Testing

@testable import Server

/// Whatever somebody is told to type is held to the real parser: in the texts of the program, and in what it ships
/// with.
@Suite("Commands that code and documents print")
struct PrintedCommandTests {
    @Test("are commands, with arguments that they take", arguments: [PrintedCommands.sources, PrintedCommands.pages])
    func printed(files: [String]) throws {
        #expect(files.count > 40)
        var count = 0
        for file in files {
            var text = try String(contentsOfFile: PackageLayout.path(file), encoding: .utf8)
            // A text without marks of code.
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
            (#"advice: "federation key create \(id)""#, true), (#"advice: "federation key create \(id) ios""#, false),
            (#"command: "federation mapping show \(a) \(b)","#, true),
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
            ("```sh\nTOKEN=$(federation operator create ann --role boss)\n```", true),
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

    /// Sources without comments, whose literals people read; or a page, with its spans and blocks of code.
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
        // A backslash of the shell is two of a literal's; one joins the lines of a literal.
        let joined = lines.joined(separator: "\n").replacing(#/ *\\\\\n */#, with: " ").replacing(/\\\n */, with: "")
        commands = Self.commands(in: joined, isShell: false)
    }

    /// The spans and the blocks of code of a page, but for blocks in another language than the shell's.
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

    /// What is no command although it looks like one: names of locks, of roles and of a database.
    private static let others = [
        "federation host names", "federation application \" + id", "federation indexes", "federation service",
        "federation console\", at", "federation login password", "federation to federation", "federation set ",
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

    /// Of all modules that make texts for people.
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

/// One command, from behind `federation` to where it ends.
private struct PrintedCommand {
    let text: String
    private var words: [String] = []
    /// Which words stand for something that only whoever types knows.
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
            // Columns of a text stand apart by more than one space.
            case " " where next().first == " ": break scan
            case " ": close()
            case "\\" where !isShell && next().first == "(":
                // An interpolation, to its bracket.
                var depth = 0
                while position < rest.endIndex {
                    if rest[position] == "(" { depth += 1 }
                    if rest[position] == ")" { depth -= 1 }
                    if rest[position] == ")", depth == 0 { break }
                    position = rest.index(after: position)
                }
                if position == rest.endIndex { break scan }
                (isInWord, isOpen) = (true, true)
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
            // The end of a clause, where no argument has such a sign.
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

    /// What is wrong with it; nil when the parser takes it, or when it is the name of a command alone.
    var problem: String? {
        if words.first == "help" || isName { return nil }
        var last = "is no command"
        for values in Self.choices(open.count) {
            var words = words
            for (index, value) in zip(open, values) { words[index] = value ?? words[index] }
            do {
                let command = try FederationCommand.parseAsRoot(words)
                if command is any AsyncParsableCommand { return nil }
            } catch {
                last = FederationCommand.message(for: error)
            }
        }
        return last
    }

    /// Whether all words lead from a command to one below it.
    private var isName: Bool {
        var command: any ParsableCommand.Type = FederationCommand.self
        for word in words {
            let below = command.configuration.subcommands
            guard let next = below.first(where: { $0._commandName == word }) else { return false }
            command = next
        }
        return true
    }

    /// What open words may stand for: themselves, a number, an id.
    private static func choices(_ count: Int) -> [[String?]] {
        let values: [String?] = [nil, "demo", "1", "0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60"]
        return (0..<min(count, 5)).reduce([[]]) { choices, _ in
            choices.flatMap { choice in values.map { choice + [$0] } }
        }
    }
}
