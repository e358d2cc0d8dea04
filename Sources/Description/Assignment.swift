package import Encodings

/// Converts what operators type in a command or in a page's form to values of configurable fields.
extension Shape {
    /// Parses a text as a value of this shape; nil if the text does not have the form of one.
    ///
    /// An empty text becomes `null`, with which a merge patch restores a field's default. The text `null` also becomes
    /// `null`, unless the shape is a text. A list may be written as JSON.
    ///
    /// - Parameters:
    ///   - text: The text as it was typed.
    ///   - separator: The separator of a list's elements.
    /// - Returns: The value. Its bounds and rules are not checked.
    package func value(of text: String, separator: Character) -> JSONValue? {
        guard !text.isEmpty else { return .null }
        switch self {
        case .flag: return ["true", "false"].firstIndex { $0.hasSameBytes(as: text) }.map { .bool($0 == 0) }
        case .word(let words): return words.contains { $0.hasSameBytes(as: text) } ? .string(text) : nil
        case .integer: return Int64(text).map(JSONValue.integer)
        case .seconds: return DurationText.seconds(text).map(JSONValue.integer)
        case .text, .secret: return .string(text)
        case .list:
            if text.utf8.first == UInt8(ascii: "[") { return try? JSONParser.parse(text, limits: .document) }
            let elements = text.split(separator: separator).map(\.trimmed).filter { !$0.isEmpty }
            return .array(elements.map(JSONValue.string))
        case .object: return try? JSONParser.parse(text, limits: .document)
        case .orNull(.text): return .string(text)
        case .orNull(let shape): return text == "null" ? .null : shape.value(of: text, separator: separator)
        }
    }

    /// A description for humans of the texts that can be parsed: `true or false`, `3 to 100 failures`.
    package var form: String {
        switch self {
        case .flag: "true or false"
        case .word(let words): Self.choice(of: words)
        case .integer(let range, _) where range.upperBound == .max: "a whole number"
        case .integer(let range, let unit): "\(range.lowerBound) to \(range.upperBound) \(unit)".trimmed
        case .seconds(let range) where range.upperBound == .max: "a duration"
        case .seconds(let range):
            "\(DurationText.text(of: range.lowerBound)) to \(DurationText.text(of: range.upperBound))"
        case .text(let rule): rule.example.map { "a text like \($0)" } ?? "a text"
        case .list(.word(let words), _, _): "a list of " + words.joined(separator: ", ")
        case .list(_, .max, _): "a list"
        case .list(.text(let rule), let max, _):
            "a list of at most \(max)" + (rule.example.map { ", like \($0)" } ?? "")
        case .list(_, let max, _): "a list of at most \(max)"
        case .object: "an object"
        case .orNull(.text(let rule)): Shape.text(rule).form + ", or nothing"
        case .orNull(let shape): shape.form + ", or null"
        case .secret: "a secret"
        }
    }
}

extension Shape {
    /// Joins words for a sentence: `a or b`, `a, b or c`.
    private static func choice(of words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }
}

extension ObjectShape {
    /// All fields at any depth, except objects with described members.
    ///
    /// In place of such an object, the list has the fields inside it. A field's path consists of the names of the
    /// objects that contain the field, and its own name. Its title begins with the titles of these objects.
    package var leaves: [(path: [String], title: String, field: FieldDescription)] {
        fields.flatMap { field -> [(path: [String], title: String, field: FieldDescription)] in
            guard case .object(let object) = field.shape else { return [([field.name], field.title, field)] }
            return object.leaves.map { ([field.name] + $0.path, "\(field.title): \($0.title)", $0.field) }
        }
    }
}

extension JSONObject {
    /// Returns a copy of the object in which the member at a path has the given value.
    ///
    /// Objects on the path that do not exist are created.
    package func setting(_ path: some Collection<String>, to value: JSONValue) -> JSONObject {
        guard let name = path.first else { return self }
        let rest = path.dropFirst()
        let inner = rest.isEmpty ? value : .object((self[name]?.object ?? JSONObject()).setting(rest, to: value))
        return JSONObject(members.filter { !$0.key.hasSameBytes(as: name) } + [Member(name, inner)])
    }
}

extension StringProtocol {
    /// The text without white space at both ends.
    package var trimmed: String {
        var text = Substring(self)
        while text.first?.isWhitespace ?? false { text.removeFirst() }
        while text.last?.isWhitespace ?? false { text.removeLast() }
        return String(text)
    }
}
