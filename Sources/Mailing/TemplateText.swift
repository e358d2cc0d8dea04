import Mustache

/// One text of a template: Mustache's variables and sections, and nothing else of it.
///
/// `{{link}}` shows a value, `{{#name}}…{{/name}}` stands only with the value, `{{^name}}…{{/name}}` only without it.
/// What a template names is checked when it is read, so that no mail goes out with a hole.
struct TemplateText: Sendable {
    private let template: MustacheTemplate

    struct Problem: Error {
        let line: Int
        let text: String
    }

    /// A line of its own that turns off the library's escaping.
    ///
    /// That goes by `Character`, and `<` with a combining mark behind it is another one, though it begins a tag. Values
    /// are escaped before they are rendered instead, and no tag can show them otherwise.
    private static let prologue = "{{% CONTENT_TYPE: TEXT}}\n"

    /// Most sections within each other; the library goes as deep as a text does, until its stack is used up.
    private static let maximumDepth = 16

    /// Reads a template.
    ///
    /// - Throws: What is wrong with it, for the person who wrote it.
    init(_ text: String, variables: Set<String>) throws(Problem) {
        try Self.checkTags(of: text, variables: variables)
        do {
            template = try MustacheTemplate(string: Self.prologue + text)
        } catch {
            throw Problem(error)
        }
    }

    /// Refuses whatever is neither a variable nor a section of one: the library shows nothing for an unknown name, and
    /// it knows partials, transforms, other delimiters and other types of content.
    private static func checkTags(of text: String, variables: Set<String>) throws(Problem) {
        var depth = 0
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (number, line) in zip(1..., lines) {
            for piece in line.split(separator: "{{".utf8, omittingEmptySubsequences: false).dropFirst() {
                guard let end = piece.firstRange(of: "}}".utf8) else {
                    throw Problem(line: number, text: "a {{ has no }} on its line")
                }
                var name = piece[..<end.lowerBound].filter { $0 != UInt8(ascii: " ") }
                switch name.first {
                case UInt8(ascii: "#"), UInt8(ascii: "^"):
                    name.removeFirst()
                    depth += 1
                case UInt8(ascii: "/"):
                    name.removeFirst()
                    depth -= 1
                default: break
                }
                guard variables.contains(where: { $0.utf8.elementsEqual(name) }) else {
                    let shown = String(decoding: name.prefix(40), as: UTF8.self)
                    let known = variables.sorted().map { "{{\($0)}}" }.joined(separator: ", ")
                    throw Problem(line: number, text: "there is no {{\(shown)}} here; there is \(known)")
                }
                guard depth <= maximumDepth else { throw Problem(line: number, text: "too many sections are open") }
            }
        }
    }

    /// The text with values in their places, each as `escape` writes it.
    func filled(with values: [String: String], escape: (String) -> String) -> String {
        template.render(values.mapValues(escape))
    }
}

extension TemplateText.Problem {
    /// What the library says of a text whose tags are all known.
    fileprivate init(_ error: any Error) {
        guard let error = error as? MustacheTemplate.ParserError else {
            self.init(line: 1, text: "\(error)")
            return
        }
        let text =
            switch error.error as? MustacheTemplate.Error {
            case .sectionCloseNameIncorrect?: "this {{/…}} ends no section, or not the one that was opened last"
            case .expectedSectionEnd?: "a section is still open at the end"
            case .unfinishedName?: "a space stands within a name, or before its #, ^ or /"
            default: "this is no Mustache: \(error.error)"
            }
        // The prologue is a line of its own.
        self.init(line: error.context.lineNumber - 1, text: text)
    }
}

/// How a value is written where it stands.
enum Escaping {
    /// For text: a value is a part of a line and begins no other.
    static func plain(_ value: String) -> String {
        String(String.UnicodeScalarView(value.unicodeScalars.map { $0.isControlOrFormat ? " " : $0 }))
    }

    /// For HTML, between tags and within quoted attributes.
    static func html(_ value: String) -> String {
        var escaped = ""
        for scalar in plain(value).unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
