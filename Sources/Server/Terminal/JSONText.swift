import Vocabulary

extension JSONValue {
    /// The value as JSON text on one line.
    var line: String { TerminalText.escapedJSON(text) }

    /// The value as JSON text for people and version control: what is short stays on a line, all else has a line for
    /// each part.
    var indented: String { indented(at: 0) }

    private func indented(at depth: Int) -> String {
        switch self {
        case .object(let object):
            let parts = object.members.map { member in
                JSONValue.string(member.key).line + ": " + member.value.indented(at: depth + 1)
            }
            return Self.bracketed("{", parts, "}", at: depth)
        case .array(let elements):
            return Self.bracketed("[", elements.map { $0.indented(at: depth + 1) }, "]", at: depth)
        default: return line
        }
    }

    private static func bracketed(_ open: String, _ parts: [String], _ close: String, at depth: Int) -> String {
        let single = open + parts.joined(separator: ", ") + close
        if parts.isEmpty || depth > 0 && single.utf8.count <= 100 && !single.utf8.contains(UInt8(ascii: "\n")) {
            return single
        }
        let margin = "\n" + String(repeating: "  ", count: depth)
        return open + margin + "  " + parts.joined(separator: "," + margin + "  ") + margin + close
    }
}
