import HTTP

/// HTML that is complete in itself.
///
/// What is written in a literal is ours; every text that is put into one is escaped, so that no value that people or
/// providers bring can become markup.
struct HTML: Sendable, ExpressibleByStringInterpolation {
    private(set) var text: String

    init(stringLiteral text: String) {
        self.text = text
    }

    init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
    }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 32 * interpolationCount)
        }

        mutating func appendLiteral(_ literal: String) { text += literal }

        mutating func appendInterpolation(_ value: String) { text += WebPage.escaped(value) }

        mutating func appendInterpolation(_ value: some BinaryInteger) { text += String(value) }

        mutating func appendInterpolation(_ value: HTML) { text += value.text }

        mutating func appendInterpolation(_ values: [HTML]) { for value in values { text += value.text } }

        /// What is there only if a condition holds.
        mutating func appendInterpolation(_ value: HTML, if condition: Bool) { if condition { text += value.text } }
    }

    static func + (left: HTML, right: HTML) -> HTML { "\(left)\(right)" }
    static func += (left: inout HTML, right: HTML) { left.text += right.text }
}
