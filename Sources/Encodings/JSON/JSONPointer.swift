/// A JSON Pointer, which names a place in a JSON document: RFC 6901.
///
/// Each name follows a `/`, with `~` written as `~0` and `/` as `~1`; the empty pointer is the whole document.
package struct JSONPointer: Sendable, CustomStringConvertible {
    package let text: String

    /// Creates the pointer to the whole document.
    package init() {
        text = ""
    }

    private init(text: String) {
        self.text = text
    }

    /// Returns the pointer to a member of the outer value.
    package static func / (outer: JSONPointer, key: String) -> JSONPointer {
        var text = outer.text + "/"
        for scalar in key.unicodeScalars {
            switch scalar {
            case "~": text += "~0"
            case "/": text += "~1"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return JSONPointer(text: text)
    }

    /// Returns the pointer to an element of the outer value, counted from 0.
    package static func / (outer: JSONPointer, position: Int) -> JSONPointer {
        JSONPointer(text: outer.text + "/\(position)")
    }

    /// Returns an inner pointer, relative to the outer one, as a pointer into the whole document.
    package static func / (outer: JSONPointer, inner: JSONPointer) -> JSONPointer {
        JSONPointer(text: outer.text + inner.text)
    }

    /// Returns this pointer relative to an outer one; nil if the place is not inside.
    package func seen(from outer: JSONPointer) -> JSONPointer? {
        guard text.utf8.starts(with: outer.text.utf8) else { return nil }
        let rest = text.utf8.dropFirst(outer.text.utf8.count)
        guard rest.isEmpty || rest.first == UInt8(ascii: "/") else { return nil }
        return JSONPointer(text: String(decoding: rest, as: UTF8.self))
    }

    package var description: String { text }
}

extension JSONPointer: Equatable {
    package static func == (left: JSONPointer, right: JSONPointer) -> Bool { left.text.hasSameBytes(as: right.text) }
}
