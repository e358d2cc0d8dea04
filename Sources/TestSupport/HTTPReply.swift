/// A reply as it came over the wire.
package struct HTTPReply: Sendable {
    /// Status code.
    package let status: Int
    /// Header fields in their order, repeated ones repeated.
    package let headers: [(name: String, value: String)]
    /// The body without transfer coding; a content coding is left in place.
    package let body: [UInt8]

    /// The body as text; bytes that are not UTF-8 are replaced.
    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The values of all header fields of that name, in any case.
    package func values(of name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The value of the first header field of that name.
    package func header(_ name: String) -> String? { values(of: name).first }
}

/// An exchange over TCP that failed below HTTP.
package enum HTTPFailure: Error, Equatable {
    /// Nothing listens on the port.
    case refused
    /// The peer reset the connection.
    case reset
    /// The peer closed the connection before a whole reply; a reset may show as this too.
    case closed
    /// What came is not HTTP.
    case malformed
}
