import Encodings

/// The `name=value` pairs of a query or a form.
///
/// Values are percent-encoded byte by byte, so that no value can become part of the syntax.
package struct Parameters {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Adds a parameter.
    ///
    /// Its name is a constant, and its value may be any text.
    package mutating func add(_ name: StaticString, _ value: String) {
        if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "="))
        PercentEncoding.append(value, to: &bytes)
    }

    /// The pairs as a text of ASCII.
    package var text: String { String(decoding: bytes, as: UTF8.self) }
}
