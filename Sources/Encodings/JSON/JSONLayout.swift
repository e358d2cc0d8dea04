extension JSONValue {
    /// Returns the value as JSON text with line breaks and indentation, for humans and for version control.
    ///
    /// A nested object or array stays on one line if it has at most 100 bytes.
    ///
    /// - Parameter line: A function that returns a value as text on one line.
    /// - Returns: The text, without a line break at its end.
    package func indented(_ line: (JSONValue) -> String) -> String { indented(at: 0, line) }

    private func indented(at depth: Int, _ line: (JSONValue) -> String) -> String {
        switch self {
        case .object(let object):
            let parts = object.members.map { member in
                line(.string(member.key)) + ": " + member.value.indented(at: depth + 1, line)
            }
            return Self.bracketed("{", parts, "}", at: depth)
        case .array(let elements):
            return Self.bracketed("[", elements.map { $0.indented(at: depth + 1, line) }, "]", at: depth)
        default: return line(self)
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
