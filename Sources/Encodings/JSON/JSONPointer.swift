/// A JSON Pointer (RFC 6901): the place of a value in a JSON document.
///
/// Each name follows a `/`. In a name, `~` is written as `~0` and `/` as `~1`. The empty pointer is the whole document.
package struct JSONPointer: Sendable, CustomStringConvertible {
    package let text: String

    /// Creates the pointer to the whole document.
    package init() {
        text = ""
    }

    private init(text: String) {
        self.text = text
    }

    /// Returns the pointer to a member of the value at the outer pointer.
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

    /// Returns the pointer to an element of the array at the outer pointer, counted from 0.
    package static func / (outer: JSONPointer, position: Int) -> JSONPointer {
        JSONPointer(text: outer.text + "/\(position)")
    }

    /// Joins two pointers: `inner` is relative to the value at `outer`.
    package static func / (outer: JSONPointer, inner: JSONPointer) -> JSONPointer {
        JSONPointer(text: outer.text + inner.text)
    }

    /// Returns this pointer relative to the value at `outer`; nil if this pointer leads outside that value.
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
