/// Checks whether texts are valid names and values of header fields (RFC 9110 §5).
enum HeaderSyntax {
    /// The names of headers that only the client itself sets, in lower case.
    ///
    /// These headers frame the message or manage the connection. If a caller set them, the server could read another
    /// message than the one that the client checked.
    private static let ofTheClient: [StaticString] = [
        "host", "content-length", "transfer-encoding", "connection", "keep-alive", "proxy-connection", "te", "trailer",
        "upgrade", "expect", "accept-encoding", "http2-settings",
    ]

    static func isOfTheClient(_ name: String) -> Bool {
        ofTheClient.contains { reserved in
            reserved.withUTF8Buffer { equal(name.utf8, $0) }
        }
    }

    /// Whether `name` is a `token`, the grammar of field names.
    static func isToken(_ name: String) -> Bool {
        !name.utf8.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
                    UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
                    UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
                    true
                default: false
                }
            }
    }

    /// Whether all characters of `value` are printable ASCII, spaces or tabs.
    ///
    /// CR, LF and NUL are excluded, since they would end the line or the text.
    static func isValue(_ value: String) -> Bool {
        value.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
    }

    /// Whether two names are equal, ignoring the case of ASCII letters.
    static func equal(_ one: some Sequence<UInt8>, _ other: some Sequence<UInt8>) -> Bool {
        one.elementsEqual(other) { lowercase($0) == lowercase($1) }
    }

    private static func lowercase(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
