/// An HTTP response as the test received it.
package struct HTTPReply: Sendable {
    package let status: Int
    /// The headers in their order, with duplicates.
    package let headers: [(name: String, value: String)]
    /// The body without its transfer coding, such as `chunked`.
    ///
    /// A content coding, such as gzip, is not decoded.
    package let body: [UInt8]

    /// The body as text, with invalid UTF-8 replaced.
    package var text: String { String(decoding: body, as: UTF8.self) }

    /// Returns the values of all headers with that name, in any case.
    package func values(of name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// Returns the value of the first header with that name.
    package func header(_ name: String) -> String? { values(of: name).first }
}

/// A failure of an exchange below the level of HTTP.
package enum HTTPFailure: Error, Equatable {
    /// Nothing listens on the port.
    case refused
    /// The peer reset the connection.
    case reset
    /// The peer closed the connection before the end of the response.
    ///
    /// A reset may also appear as this case.
    case closed
    /// The response is not HTTP.
    case malformed
}
