import HTTP

extension HTML {
    static func + (left: HTML, right: HTML) -> HTML { "\(left)\(right)" }
}

extension HTML.StringInterpolation {
    /// One after the other.
    mutating func appendInterpolation(_ values: [HTML]) { for value in values { appendInterpolation(value) } }

    /// What is there only if a condition holds.
    mutating func appendInterpolation(_ value: HTML, if condition: Bool) { if condition { appendInterpolation(value) } }
}
