package import Vocabulary

/// A piece of a page: what stands in its literal is ours, and a text that is put into it is escaped.
///
/// So nothing that somebody has chosen, such as the name of an application, becomes markup, whoever writes the page.
package struct HTML: Sendable, ExpressibleByStringInterpolation {
    package let text: String

    package init(stringLiteral text: String) { self.text = text }

    package init(stringInterpolation interpolation: StringInterpolation) { text = interpolation.text }

    /// What is markup already, such as a picture of ours.
    package init(markup text: String) { self.text = text }

    /// JSON in an element that no browser runs: `<`, `>` and `&` occur within its texts only, where they may be
    /// escaped, and so it cannot end the element.
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

        package mutating func appendInterpolation(_ text: String) { self.text += HTML.escaped(text) }

        package mutating func appendInterpolation(_ number: some BinaryInteger) { text += String(number) }

        /// A word of a list.
        package mutating func appendInterpolation(_ word: some RawRepresentable<String>) {
            text += HTML.escaped(word.rawValue)
        }

        package mutating func appendInterpolation(_ id: ObjectID) { text += HTML.escaped(id.description) }
    }

    /// A text as it stands in an element or in an attribute between quotation marks.
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

    /// A field of a form that nobody sees.
    package static func hidden(_ name: String, _ value: String) -> HTML {
        "<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">"
    }

    package static func + (one: HTML, other: HTML) -> HTML { HTML(markup: one.text + other.text) }
}

extension Sequence where Element == HTML {
    package func joined() -> HTML { HTML(markup: map(\.text).joined()) }

    /// The same with something between each and the next.
    package func joined(by separator: HTML) -> HTML { HTML(markup: map(\.text).joined(separator: separator.text)) }
}
