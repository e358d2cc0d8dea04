/// A place in a JSON document: RFC 6901.
///
/// Every name stands behind a `/`, with `~` written as `~0` and `/` as `~1`; the empty pointer is the whole document.
package struct JSONPointer: Sendable, CustomStringConvertible {
    package let text: String

    /// The whole document.
    package init() {
        text = ""
    }

    private init(text: String) {
        self.text = text
    }

    /// The member of that name inside.
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

    /// The element at that position inside, counted from 0.
    package static func / (outer: JSONPointer, position: Int) -> JSONPointer {
        JSONPointer(text: outer.text + "/\(position)")
    }

    /// A place that is given from this one, seen from the whole document.
    package static func / (outer: JSONPointer, inner: JSONPointer) -> JSONPointer {
        JSONPointer(text: outer.text + inner.text)
    }

    /// The same place seen from an outer one; nil when it does not lie there.
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
