/// A text of a template, with a subset of Mustache: variables and sections.
///
/// `{{link}}` shows a value. `{{#name}}…{{/name}}` appears only if there is a value, `{{^name}}…{{/name}}` only if
/// there is none. The parser checks all names, so no mail lacks a value. The service has this parser of its own because
/// a Mustache library has further features, which the service would have to refuse. A library would also add all of
/// Foundation, 40 MB, to the program.
struct TemplateText: Sendable {
    private let parts: [Part]

    private enum Part: Sendable {
        case text(String)
        case value(String)
        indirect case section(Tag, [Part])
    }

    struct Problem: Error {
        let line: Int
        let text: String
    }

    /// Parses a template.
    ///
    /// - Throws: The error in the template, for its author.
    init(_ text: String, variables: Set<String>) throws(Problem) {
        var reader = Reader(variables: variables)
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for line in lines {
            reader.line += 1
            try reader.read(line, ending: reader.line < lines.count ? "\n" : "")
        }
        parts = try reader.end()
    }

    /// Returns the text with values in place of its variables.
    ///
    /// `escape` escapes each value for the format of the text, such as HTML.
    func filled(with values: [String: String], escape: (String) -> String) -> String {
        func fill(_ parts: [Part], into filled: inout String) {
            for part in parts {
                switch part {
                case .text(let text): filled += text
                case .value(let name): filled += values[name].map(escape) ?? ""
                case .section(let tag, let parts):
                    if (values[tag.name] == nil) == (tag.kind == .without) { fill(parts, into: &filled) }
                }
            }
        }
        var filled = ""
        fill(parts, into: &filled)
        return filled
    }
}

extension TemplateText {
    /// The content between `{{` and `}}`.
    private struct Tag {
        enum Kind { case value, with, without, end }

        let kind: Kind
        let name: String

        init(_ content: Substring.UTF8View) {
            var name = content.trimmed
            kind =
                switch name.first {
                case UInt8(ascii: "#"): .with
                case UInt8(ascii: "^"): .without
                case UInt8(ascii: "/"): .end
                default: .value
                }
            if kind != .value { name = name.dropFirst().trimmed }
            self.name = String(Substring(name))
        }
    }

    private struct Reader {
        let variables: Set<String>
        /// The line number, from 1.
        var line = 0
        /// The parts since the beginning of the innermost open section.
        private var parts: [Part] = []
        /// The sections that are not closed yet, the outermost first.
        ///
        /// `before` are the parts that the enclosing section already had when this section was opened.
        private var open: [(tag: Tag, before: [Part])] = []

        /// The maximum depth of nested sections.
        private static let maximumDepth = 16

        init(variables: Set<String>) { self.variables = variables }

        mutating func read(_ content: Substring.UTF8View, ending: String) throws(Problem) {
            let pieces = content.split(separator: "{{".utf8, omittingEmptySubsequences: false)
            var tags: [(tag: Tag, text: Substring.UTF8View)] = []
            for piece in pieces.dropFirst() {
                guard let end = piece.firstRange(of: "}}".utf8) else { throw problem("a {{ has no }} on its line") }
                tags.append((Tag(piece[..<end.lowerBound]), piece[end.upperBound...]))
            }
            // A line that has only the tag of a section adds no line to the text.
            if tags.count == 1, let (tag, text) = tags.first, tag.kind != .value, text.trimmed.isEmpty,
                pieces[0].trimmed.isEmpty
            {
                return try read(tag)
            }
            add(pieces[0])
            for (tag, text) in tags {
                try read(tag)
                add(text)
            }
            add(ending.utf8[...])
        }

        private mutating func read(_ tag: Tag) throws(Problem) {
            guard variables.contains(where: { $0.utf8.elementsEqual(tag.name.utf8) }) else {
                throw problem("there is no {{\(tag.name.prefix(40))}} here; there is \(known)")
            }
            switch tag.kind {
            case .value: parts.append(.value(tag.name))
            case .with, .without:
                guard open.count < Self.maximumDepth else { throw problem("too many sections are open") }
                open.append((tag, parts))
                parts = []
            case .end:
                guard let (opened, before) = open.popLast(), opened.name == tag.name else {
                    throw problem("this {{/…}} ends no section, or not the one that was opened last")
                }
                parts = before + [.section(opened, parts)]
            }
        }

        private mutating func add(_ text: Substring.UTF8View) {
            if !text.isEmpty { parts.append(.text(String(Substring(text)))) }
        }

        func end() throws(Problem) -> [Part] {
            guard open.isEmpty else { throw problem("a section is still open at the end") }
            return parts
        }

        private var known: String { variables.sorted().map { "{{\($0)}}" }.joined(separator: ", ") }

        private func problem(_ text: String) -> Problem { Problem(line: line, text: text) }
    }
}

extension Substring.UTF8View {
    /// The bytes without spaces, tabs and carriage returns at both ends.
    fileprivate var trimmed: Self {
        func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D].contains(byte) }
        let rest = drop(while: isBlank)
        return rest[..<(rest.lastIndex { !isBlank($0) }.map(rest.index(after:)) ?? rest.startIndex)]
    }
}

/// Escapes the values of variables for the text that contains them.
enum Escaping {
    /// Escapes a value for plain text: each line break and other control character becomes a space.
    static func plain(_ value: String) -> String {
        String(String.UnicodeScalarView(value.unicodeScalars.map { $0.isControlOrFormat ? " " : $0 }))
    }

    /// Escapes a value for HTML, between tags and in quoted attributes.
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
