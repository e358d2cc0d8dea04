package import Domain

/// A piece of HTML that is safe to put into a page.
///
/// In a string literal of this type, the literal parts are markup, and interpolated texts are escaped. So no text that
/// a user or an operator has chosen, such as the name of an application, can become markup.
package struct HTML: Sendable, ExpressibleByStringInterpolation {
    package let text: String

    package init(stringLiteral text: String) { self.text = text }

    package init(stringInterpolation interpolation: StringInterpolation) { text = interpolation.text }

    /// Creates HTML from markup that needs no escaping, such as a picture of the service.
    package init(markup text: String) { self.text = text }

    /// Creates a JSON text for an element that browsers do not execute, such as `<script type="application/json">`.
    ///
    /// `<`, `>` and `&` occur in JSON only within strings, and are escaped there. So the JSON cannot end the element.
    package init(json: [UInt8]) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(json.count)
        for byte in json {
            switch byte {
            case UInt8(ascii: "<"): bytes.append(contentsOf: #"\u003C"#.utf8)
            case UInt8(ascii: ">"): bytes.append(contentsOf: #"\u003E"#.utf8)
            case UInt8(ascii: "&"): bytes.append(contentsOf: #"\u0026"#.utf8)
            default: bytes.append(byte)
            }
        }
        text = String(decoding: bytes, as: UTF8.self)
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text: String

        package init(literalCapacity: Int, interpolationCount: Int) {
            text = ""
            text.reserveCapacity(literalCapacity + 32 * interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) { text += literal }

        package mutating func appendInterpolation(_ html: HTML) { text += html.text }

        /// Appends a piece of HTML; appends nothing for nil.
        package mutating func appendInterpolation(_ html: HTML?) { text += html?.text ?? "" }

        package mutating func appendInterpolation(_ parts: [HTML]) { for part in parts { text += part.text } }

        package mutating func appendInterpolation(_ html: HTML, if condition: Bool) {
            if condition { text += html.text }
        }

        package mutating func appendInterpolation(_ text: String) { self.text += HTML.escaped(text) }

        package mutating func appendInterpolation(_ number: some BinaryInteger) { text += String(number) }

        /// Appends the raw value of an enumeration's case.
        package mutating func appendInterpolation(_ word: some RawRepresentable<String>) {
            text += HTML.escaped(word.rawValue)
        }

        package mutating func appendInterpolation(_ id: ObjectID) { text += HTML.escaped(id.description) }
    }

    /// Returns a text, escaped for an element or a quoted attribute.
    private static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): bytes.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): bytes.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "&"): bytes.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "\""): bytes.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): bytes.append(contentsOf: "&#39;".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Sequence where Element == HTML {
    package func joined() -> HTML { HTML(markup: map(\.text).joined()) }

    package func joined(by separator: HTML) -> HTML { HTML(markup: map(\.text).joined(separator: separator.text)) }
}
