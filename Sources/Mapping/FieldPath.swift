import Encodings

/// The path of a value in a profile: the names of object members, outermost first, joined by dots.
///
/// A name has ASCII letters, digits and `_:-`, and begins with a letter or `_`. The first name may also be a URL, such
/// as the claim `https://example.com/roles`: dots after its last slash separate names. So a path cannot contain the
/// parentheses, braces and commas that have a meaning in Graph's parameter `fields`.
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
        let path = String(text)
        var rest = path.utf8[...]
        var isAtEnd = false
        if let url = Self.leadingURL(of: rest) {
            names.append(String(decoding: url, as: UTF8.self))
            rest = rest[url.endIndex...]
            isAtEnd = rest.popFirst() == nil
        }
        while !isAtEnd {
            let name = rest.prefix { $0 != UInt8(ascii: ".") }
            guard Self.isPlainName(name), names.count < MappingLimits.pathSegments else { return nil }
            names.append(String(decoding: name, as: UTF8.self))
            rest = rest[name.endIndex...]
            isAtEnd = rest.popFirst() == nil
        }
        field = names.removeFirst()
        inner = names
        self.text = path
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

    /// Returns whether the bytes can be the first name in a path.
    static func isName(_ bytes: some Collection<UInt8>) -> Bool { isPlainName(bytes) || isURL(bytes) }

    private static func isPlainName(_ bytes: some Collection<UInt8>) -> Bool {
        guard let first = bytes.first, first.isASCIILetter || first == UInt8(ascii: "_") else { return false }
        return bytes.allSatisfy { $0.isASCIIAlphanumeric || $0.isOne(of: "_:-") }
    }

    private static func isURL(_ bytes: some Collection<UInt8>) -> Bool {
        (bytes.starts(with: "https://".utf8) || bytes.starts(with: "http://".utf8))
            && (10...MappingLimits.pathBytes).contains(bytes.count)
            && bytes.allSatisfy { $0.isASCIIAlphanumeric || $0.isOne(of: "._~:/-") }
    }

    /// Returns the URL with which a path begins: up to the first dot after the last slash; nil for a path without one.
    private static func leadingURL(of path: Substring.UTF8View) -> Substring.UTF8View? {
        guard isURL(path), let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let segment = path[slash...].prefix { $0 != UInt8(ascii: ".") }
        return path[..<segment.endIndex]
    }
}
