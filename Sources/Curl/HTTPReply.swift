/// What a server answered.
package struct HTTPReply: Sendable {
    /// The status code, as the server wrote it: 100 to 999.
    package let status: Int
    /// The body, decoded.
    package let body: [UInt8]
    /// Status line and header lines as they came, each with its line end.
    private let head: [UInt8]

    init(status: Int, head: [UInt8], body: [UInt8]) {
        self.status = status
        self.head = head
        self.body = body
    }

    /// The value of the first header of that name, in either case, without the white space around it.
    ///
    /// Bytes that are not UTF-8 come as U+FFFD.
    package func header(_ name: String) -> String? {
        // A reply has a dozen headers and is asked for one or two: one pass over the bytes, without a list of lines.
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
    /// The status and the size of the body; nothing of what the server wrote.
    package var description: String { "\(status), \(body.count) bytes" }

    package var customMirror: Mirror { Mirror(self, children: ["status": status, "bytes": body.count]) }
}
