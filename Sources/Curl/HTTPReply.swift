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
        for line in head.split(separator: UInt8(ascii: "\n")).dropFirst() {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), HeaderSyntax.equal(line[..<colon], name.utf8)
            else {
                continue
            }
            let value = line[line.index(after: colon)...].drop(while: Self.isSpace)
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
