/// What a mail server said: a code and words.
package struct SMTPReply: Sendable, Equatable {
    /// 200…599; from 400 on it is a no, which below 500 may be another one later.
    package let code: Int
    /// The code of RFC 3463, such as `5.1.1`; nil when the reply has none.
    package let enhancedCode: String?
    /// The words behind the code, in printable ASCII; they may hold addresses.
    package let words: String

    private static let maxWordBytes = 1000

    /// Makes a reply of its code and the words of its lines, as they were sent.
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
    /// The codes, without the words.
    package var description: String { enhancedCode.map { "\(code) \($0)" } ?? String(code) }

    package var customMirror: Mirror { Mirror(self, children: ["code": code]) }
}

/// Why a server has not taken a mail, or whether it has.
package enum SMTPFailure: Error, Equatable, Sendable {
    /// The server never had the whole mail: there was no connection, it could not be authenticated, the connection
    /// broke.
    case notSent(CurlError)
    /// The server refused us before it came to the mail: at its greeting, or at the login.
    case refused(SMTPReply)
    /// The server refused the mail: its sender, its recipient or its content.
    case mailRefused(SMTPReply)
    /// The whole mail was sent and no answer came: it may have been accepted and may not.
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
