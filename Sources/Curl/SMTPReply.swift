/// A reply of an SMTP server: a code and a text.
package struct SMTPReply: Sendable, Equatable {
    /// The reply code, 200…599.
    ///
    /// Codes from 400 to 499 are temporary refusals, and codes from 500 on are permanent ones.
    package let code: Int
    /// The enhanced status code of RFC 3463, such as `5.1.1`; nil if the reply has none.
    package let enhancedCode: String?
    /// The text after the code, in printable ASCII; it may contain addresses.
    package let words: String

    private static let maxWordBytes = 1000

    /// Creates a reply from its code and the text of its lines, as received.
    init(code: Int, lines: [[UInt8]]) {
        self.code = code
        let text = lines.map { String(decoding: $0.map { (0x20...0x7E).contains($0) ? $0 : 0x20 }, as: UTF8.self) }
        let first = text.first?.split(separator: " ", maxSplits: 1).first.map(String.init)
        enhancedCode = first.flatMap { Self.isEnhancedCode($0, of: code) ? $0 : nil }
        words = String(text.joined(separator: " ").prefix(Self.maxWordBytes))
    }

    private static func isEnhancedCode(_ text: String, of code: Int) -> Bool {
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 3 && numbers[0] == String(code / 100)
            && numbers.allSatisfy {
                (1...3).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x30...0x39).contains($0) }
            }
    }
}

extension SMTPReply: CustomStringConvertible, CustomReflectable {
    /// The codes, without the text.
    package var description: String { enhancedCode.map { "\(code) \($0)" } ?? String(code) }

    package var customMirror: Mirror { Mirror(self, children: ["code": code]) }
}

/// The reason why a server did not accept a mail, or why it is unknown whether the server accepted the mail.
package enum SMTPFailure: Error, Equatable, Sendable {
    /// The server never got the whole mail: there was no connection, the server's certificate was refused, or the
    /// connection broke.
    case notSent(CurlError)
    /// The server refused the client before the mail: at the greeting, or at the login.
    case refused(SMTPReply)
    /// The server refused the mail: its sender, recipient or content.
    case mailRefused(SMTPReply)
    /// The whole mail was sent, but no reply came: the server may or may not have accepted it.
    case uncertain(CurlError)
}

extension SMTPFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notSent(let error): "\(error)"
        case .refused(let reply): "the mail server refused us: \(reply)"
        case .mailRefused(let reply): "the mail server refused the mail: \(reply)"
        case .uncertain(let error): "no answer to the mail: \(error)"
        }
    }
}
