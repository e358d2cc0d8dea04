/// The text of a mail, encoded in lines that every mail server accepts.
///
/// Plain ASCII stays unencoded, so that simple tools can find the links in mails that a developer's instance writes to
/// files. Any other text becomes quoted-printable (RFC 2045 §6.7).
struct MailBody {
    let encoding: String
    let lines: [String]

    init(_ text: String) {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        }
        let isPlain = lines.allSatisfy { line in
            // RFC 5321 §4.5.3.1.6 allows 1000 bytes, including CRLF and a doubled dot.
            line.count <= 900 && line.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
        }
        encoding = isPlain ? "7bit" : "quoted-printable"
        self.lines =
            isPlain
            ? lines.map { String(decoding: $0, as: UTF8.self) } : lines.flatMap(Self.quotedPrintable)
    }

    /// The maximum length of a line, including the `=` of a soft line break.
    private static let width = 76

    private static func quotedPrintable(_ line: Substring.UTF8View) -> [String] {
        var lines: [String] = []
        var current = ""
        for (offset, byte) in line.enumerated() {
            let isLast = offset == line.count - 1
            let sign =
                switch byte {
                case UInt8(ascii: "="): "=3D"
                // A mail server may remove a space at the end of a line.
                case 0x20, 0x09: isLast ? hexadecimal(byte) : String(UnicodeScalar(byte))
                case 0x21...0x7E: String(UnicodeScalar(byte))
                default: hexadecimal(byte)
                }
            if current.utf8.count + sign.utf8.count > width - 1 {
                lines.append(current + "=")
                current = ""
            }
            current += sign
        }
        return lines + [current]
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16, uppercase: true)
        return "=" + (byte < 16 ? "0" : "") + digits
    }
}
