package import Encodings

/// A change that a mapping entry makes to a profile's value before the conversion.
///
/// A mapping document can only choose among these kinds of changes.
package enum Transform: Sendable, Equatable {
    /// Removes white space at both ends of a text.
    case trim
    case lowercase
    case uppercase
    /// Takes the first element of a list that is not null; other values stay unchanged.
    case first
    /// Joins a list to a text with this separator.
    case join(String)
    case lookup(Lookup)
    /// Reads a day by this pattern and writes it as `YYYY-MM-DD`.
    case date(DatePattern)

    /// A table that replaces texts by values.
    package struct Lookup: Sendable, Equatable {
        /// The replacement values; the keys are the texts to replace, compared as bytes.
        ///
        /// The values are texts, numbers, truth values or null.
        package let rows: JSONObject
        /// The replacement for a text that is not in the table; if nil, such a text counts as a missing value.
        package let otherwise: JSONValue?
    }
}

extension Transform {
    /// The transform as a mapping document contains it.
    var json: JSONValue {
        switch self {
        case .trim: return .string("trim")
        case .lowercase: return .string("lowercase")
        case .uppercase: return .string("uppercase")
        case .first: return .string("first")
        case .join(let separator): return .object(["join": .string(separator)])
        case .date(let pattern): return .object(["date": .string(pattern.text)])
        case .lookup(let lookup):
            var object: JSONObject = ["lookup": .object(lookup.rows)]
            if let otherwise = lookup.otherwise { object.append("else", otherwise) }
            return .object(object)
        }
    }

    /// Applies the transform to a profile's value.
    ///
    /// Texts are processed by Unicode scalars and not by characters, so that the work is linear in the size of any
    /// profile.
    func apply(to value: JSONValue) -> Outcome<JSONValue> {
        switch self {
        case .trim: .value(value.mappingTexts { $0.trimmed })
        case .lowercase: .value(value.mappingTexts { $0.lowercased() })
        case .uppercase: .value(value.mappingTexts { $0.uppercased() })
        case .first: Self.first(of: value)
        case .join(let separator): Self.join(value, separator)
        case .lookup(let lookup): lookup.find(value)
        case .date(let pattern): pattern.read(value)
        }
    }

    private static func first(of value: JSONValue) -> Outcome<JSONValue> {
        guard let elements = value.array else { return .value(value) }
        guard let first = elements.first(where: { !$0.isNull }) else { return .lacking }
        return .value(first)
    }

    private static func join(_ value: JSONValue, _ separator: String) -> Outcome<JSONValue> {
        guard let elements = value.array else { return .value(value) }
        var result = ""
        var isFirst = true
        for element in elements where !element.isNull {
            guard let text = element.scalarText else { return .refused("a list with \(element.kind) in it") }
            if !isFirst { result += separator }
            result += text
            isFirst = false
        }
        return .value(.string(result))
    }
}

extension Transform.Lookup {
    fileprivate func find(_ value: JSONValue) -> Outcome<JSONValue> {
        guard let text = value.scalarText else { return .refused(value.kind) }
        guard let found = rows[text] ?? otherwise, !found.isNull else { return .lacking }
        return .value(found)
    }
}

extension JSONValue {
    /// This value as a text, if it is a text, a number or a truth value; otherwise nil.
    ///
    /// A number keeps its notation.
    var scalarText: String? {
        switch self {
        case .string(let text): text
        case .number(let number): number.literal
        case .bool(let value): value ? "true" : "false"
        case .null, .array, .object: nil
        }
    }

    /// Applies a change to this text, or to each text in this list, and returns the result.
    fileprivate func mappingTexts(_ change: (String) -> String) -> JSONValue {
        switch self {
        case .string(let text): .string(change(text))
        case .array(let elements):
            .array(
                elements.map { element in
                    guard case .string(let text) = element else { return element }
                    return .string(change(text))
                }
            )
        case .null, .bool, .number, .object: self
        }
    }
}

extension String {
    /// The text without Unicode white space at its ends.
    var trimmed: String {
        let scalars = unicodeScalars
        guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
            let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
        else { return "" }
        return String(scalars[first...last])
    }
}
