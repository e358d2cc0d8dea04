import Encodings

/// The path of a value in a profile: the names of object members, outermost first, joined by dots.
///
/// Every name is ASCII `[a-z][a-z0-9_]*`. So a path cannot contain the parentheses, braces and commas that have a
/// meaning in Graph's parameter `fields`.
package struct FieldPath: Sendable, Equatable {
    /// The outermost name, which is requested from the provider.
    package let field: String
    /// The names after `field`, outermost first; empty for a path of one name.
    package let inner: [String]
    package let text: String

    /// Reads a path; nil when the text breaks the grammar or exceeds 128 bytes or 8 names.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= MappingLimits.pathBytes else { return nil }
        var names: [String] = []
        var rest = text.utf8[...]
        var isAtEnd = false
        while !isAtEnd {
            let name = rest.prefix { $0 != UInt8(ascii: ".") }
            guard Self.isName(name), names.count < MappingLimits.pathSegments else { return nil }
            names.append(String(decoding: name, as: UTF8.self))
            rest = rest[name.endIndex...]
            isAtEnd = rest.popFirst() == nil
        }
        field = names.removeFirst()
        inner = names
        self.text = String(text)
    }

    /// Returns the value at this path; nil when the profile lacks it or has `null` there.
    ///
    /// In a list, the path continues in each element: `friends.data.name` is the list of names.
    func value(in profile: JSONObject) -> JSONValue? {
        var value = profile.present(field)
        for name in inner {
            guard let outer = value else { return nil }
            value = Self.step(into: outer, name)
        }
        return value
    }

    /// Returns whether the profile has the object that would contain the value at this path.
    ///
    /// The value itself may be absent.
    func isInsideObject(of profile: JSONObject) -> Bool {
        var value = profile.present(field)
        for name in inner.dropLast() { value = value.flatMap { Self.step(into: $0, name) } }
        return value?.object != nil
    }

    private static func step(into value: JSONValue, _ name: String) -> JSONValue? {
        switch value {
        case .object(let object): return object.present(name)
        case .array(let elements):
            let found = elements.compactMap { step(into: $0, name) }
            // A list whose elements all lack the member is a lacking value; an empty list stays an empty list.
            return found.isEmpty && !elements.isEmpty ? nil : .array(found)
        default: return nil
        }
    }

    /// Returns whether the bytes can be a name in a path.
    static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        guard let first = bytes.first, isLower(first) else { return false }
        return bytes.allSatisfy { isLower($0) || $0.isASCIIDigit || $0 == UInt8(ascii: "_") }
    }

    private static func isLower(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z")
    }
}
