import Encodings

/// A text with placeholders for fields of a profile, such as `{first_name} {last_name}`.
///
/// Braces contain paths, `{{` and `}}` stand for the braces themselves, everything else is literal. There are no
/// expressions.
package struct Template: Sendable, Equatable {
    private enum Part: Sendable, Equatable {
        case literal(String)
        case field(FieldPath)
    }

    package let text: String
    private let parts: [Part]

    /// Reads a template.
    ///
    /// - Throws: A sentence about the problem, which repeats nothing of the text.
    init(_ text: String) throws(DocumentError) {
        guard text.utf8.count <= MappingLimits.textBytes else {
            throw DocumentError("a template has at most \(MappingLimits.textBytes) bytes")
        }
        guard !text.unicodeScalars.contains(where: \.isControl) else {
            throw DocumentError("a template holds no control characters")
        }
        var parts: [Part] = []
        var literal: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "{") where rest.first == byte, UInt8(ascii: "}") where rest.first == byte:
                literal.append(byte)
                rest.removeFirst()
            case UInt8(ascii: "{"):
                if !literal.isEmpty { parts.append(.literal(String(decoding: literal, as: UTF8.self))) }
                literal = []
                guard let end = rest.firstIndex(of: UInt8(ascii: "}")),
                    let path = FieldPath(String(decoding: rest[..<end], as: UTF8.self))
                else { throw DocumentError("braces in a template hold a path such as {first_name}") }
                parts.append(.field(path))
                rest = rest[rest.index(after: end)...]
            case UInt8(ascii: "}"):
                throw DocumentError(
                    "a template has a closing brace without an opening one; write }} for the brace itself"
                )
            default:
                literal.append(byte)
            }
        }
        if !literal.isEmpty { parts.append(.literal(String(decoding: literal, as: UTF8.self))) }
        self.text = text
        self.parts = parts
        let count = paths.count
        guard count > 0 else {
            throw DocumentError("a template names at least one field, as {first_name}; {{ and }} stand for braces")
        }
        guard count <= MappingLimits.templatePaths else {
            throw DocumentError("a template names at most \(MappingLimits.templatePaths) fields")
        }
    }

    package var paths: [FieldPath] {
        parts.compactMap { part in
            guard case .field(let path) = part else { return nil }
            return path
        }
    }

    /// Returns the text with the profile's values in place of the paths.
    ///
    /// The result is `lacking` if all fields are missing or empty, and `refused` if a field is a list or an object. A
    /// missing field leaves no double space: if there is a space before the field, the spaces after it are dropped. At
    /// the beginning and at the end of the text, the spaces next to a missing field are dropped, too.
    func render(_ profile: JSONObject) -> Outcome<JSONValue> {
        var result = ""
        var foundAny = false
        var afterGap = false
        for part in parts {
            switch part {
            case .literal(let literal):
                let closesUp = afterGap && (result.isEmpty || result.utf8.last == UInt8(ascii: " "))
                result += closesUp ? String(literal.unicodeScalars.drop { $0 == " " }) : literal
                afterGap = false
            case .field(let path):
                guard let value = path.value(in: profile) else {
                    afterGap = true
                    continue
                }
                guard let text = value.scalarText else { return .refused(value.kind) }
                guard !text.isEmpty else {
                    afterGap = true
                    continue
                }
                foundAny = true
                afterGap = false
                result += text
            }
        }
        guard foundAny else { return .lacking }
        if afterGap {
            while result.utf8.last == UInt8(ascii: " ") { result.unicodeScalars.removeLast() }
        }
        return .value(.string(result))
    }
}
