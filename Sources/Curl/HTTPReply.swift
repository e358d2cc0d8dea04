/// The response of an HTTP server.
package struct HTTPReply: Sendable {
    /// The status code from the server: 100 to 999.
    package let status: Int
    /// The bytes of the body, without its content encoding (such as gzip).
    package let body: [UInt8]
    /// Status line and header lines as received, each with its line end.
    private let head: [UInt8]

    init(status: Int, head: [UInt8], body: [UInt8]) {
        self.status = status
        self.head = head
        self.body = body
    }

    /// Returns the value of the first header with this name, without surrounding white space.
    ///
    /// The case of letters in the name does not matter. Bytes of the value that are not UTF-8 become U+FFFD.
    package func header(_ name: String) -> String? {
        // A response has a dozen headers, of which one or two are read: one pass over the bytes, without a list of
        // lines.
        var rest = head[...]
        while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
            rest = rest[(newline + 1)...]
            guard HeaderSyntax.equal(rest.prefix(name.utf8.count), name.utf8),
                rest.dropFirst(name.utf8.count).first == UInt8(ascii: ":")
            else { continue }
            let line = rest.dropFirst(name.utf8.count + 1).prefix { $0 != UInt8(ascii: "\n") }
            let value = line.drop(while: Self.isSpace)
            let end = value.lastIndex { !Self.isSpace($0) }.map { value.index(after: $0) } ?? value.startIndex
            return String(decoding: value[..<end], as: UTF8.self)
        }
        return nil
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
    }
}

extension HTTPReply: CustomStringConvertible, CustomReflectable {
    /// The status and the size of the body, and no text of the server.
    package var description: String { "\(status), \(body.count) bytes" }

    package var customMirror: Mirror { Mirror(self, children: ["status": status, "bytes": body.count]) }
}
