/// One text of a template: Mustache's variables and sections, and nothing else of it.
///
/// `{{link}}` shows a value, `{{#name}}…{{/name}}` stands only with the value, `{{^name}}…{{/name}}` only without it. What a
/// template names is checked when it is read, so that no mail goes out with a hole. There is no unescaped form: HTML is escaped
/// code point by code point, because `<` with a combining mark behind it is one `Character` and yet begins a tag.
struct TemplateText: Sendable {
    private indirect enum Node: Sendable {
        case text(String)
        case value(String)
        case section(String, isShownWith: Bool, [Node])
    }

    private let nodes: [Node]

    struct Problem: Error {
        let text: String
    }

    /// Reads a template.
    ///
    /// - Throws: What is wrong with it, for the person who wrote it.
    init(_ text: String, variables: Set<String>) throws(Problem) {
        var rest = text[...]
        nodes = try Self.nodes(of: &rest, variables: variables, within: nil)
    }

    private static func nodes(
        of rest: inout Substring,
        variables: Set<String>,
        within section: String?
    ) throws(Problem) -> [Node] {
        var nodes: [Node] = []
        while let open = rest.utf8.firstRange(of: "{{".utf8) {
            nodes.append(.text(String(rest[..<open.lowerBound])))
            rest = rest[open.upperBound...]
            guard let close = rest.utf8.firstRange(of: "}}".utf8) else {
                throw Problem(text: "a {{ has no }}")
            }
            var name = String(rest[..<close.lowerBound].filter { $0 != " " })
            rest = rest[close.upperBound...]
            let kind = name.utf8.first.map { "#^/".utf8.contains($0) } == true ? name.removeFirst() : nil
            guard variables.contains(where: { $0.utf8.elementsEqual(name.utf8) }) else {
                throw Problem(text: "there is no {{\(shown(name))}} here; there is \(list(variables))")
            }
            switch kind {
            case nil: nodes.append(.value(name))
            case "/":
                guard section == name else { throw Problem(text: "{{/\(name)}} ends no section that is open") }
                return nodes
            default:
                let inner = try Self.nodes(of: &rest, variables: variables, within: name)
                nodes.append(.section(name, isShownWith: kind == "#", inner))
            }
        }
        if let section { throw Problem(text: "the section \(section) has no {{/\(section)}}") }
        nodes.append(.text(String(rest)))
        return nodes
    }

    private static func shown(_ name: String) -> String { String(name.prefix(40)) }

    private static func list(_ variables: Set<String>) -> String {
        variables.sorted().map { "{{\($0)}}" }.joined(separator: ", ")
    }

    /// The text with values in their places, each as `escape` writes it.
    func filled(with values: [String: String], escape: (String) -> String) -> String {
        var text = ""
        Self.fill(nodes, with: values, escape: escape, into: &text)
        return text
    }

    private static func fill(
        _ nodes: [Node],
        with values: [String: String],
        escape: (String) -> String,
        into text: inout String
    ) {
        for node in nodes {
            switch node {
            case .text(let fixed): text += fixed
            case .value(let name): text += values[name].map(escape) ?? ""
            case .section(let name, let isShownWith, let inner):
                guard (values[name] != nil) == isShownWith else { continue }
                fill(inner, with: values, escape: escape, into: &text)
            }
        }
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
