/// A mail to one recipient.
///
/// Its addresses and its content were checked when it was created, so that they cannot inject SMTP commands.
package struct SMTPMail: Sendable {
    let sender: String
    let recipient: String
    /// The name that the client gives to the server in the EHLO command: the domain of the sender.
    let clientName: String
    let content: [UInt8]
    let timeout: Duration
    let connectTimeout: Duration

    /// Creates a mail.
    ///
    /// - Parameters:
    ///   - sender: The address for delivery failures, without brackets, in printable ASCII.
    ///   - recipient: The recipient's address, in the same form.
    ///   - content: Headers, an empty line and the body; every line ends with CRLF.
    ///   - timeout: Limit of the whole call. It should be generous: a server may examine a mail for a while, and a
    ///     client that stops waiting meanwhile never learns whether the mail was accepted.
    ///   - connectTimeout: Limit for resolving, connecting and the server's greeting.
    /// - Throws: `CurlError.invalidRequest`.
    package init(
        sender: String,
        recipient: String,
        content: [UInt8],
        timeout: Duration,
        connectTimeout: Duration
    ) throws(CurlError) {
        guard let domain = Self.domain(of: sender), Self.domain(of: recipient) != nil else {
            throw .invalidRequest(.mailAddress)
        }
        guard Self.hasWholeLines(content) else { throw .invalidRequest(.mailContent) }
        guard timeout > .zero, connectTimeout > .zero else { throw .invalidRequest(.limitNotPositive) }
        self.sender = sender
        self.recipient = recipient
        clientName = domain
        self.content = content
        self.timeout = timeout
        self.connectTimeout = connectTimeout
    }

    /// Returns the domain of an e-mail address: the part after the `@`.
    ///
    /// Nil if the address has a character, such as `>`, that could end the SMTP command in which it is sent.
    private static func domain(of address: String) -> String? {
        let bytes = address.utf8
        guard bytes.count <= 254, let at = bytes.firstIndex(of: UInt8(ascii: "@")), at != bytes.startIndex,
            bytes.allSatisfy({ (0x21...0x7E).contains($0) && !"<>\"\\(),:;[]".utf8.contains($0) })
        else { return nil }
        let domain = address[bytes.index(after: at)...]
        return domain.isEmpty || domain.utf8.contains(where: { "@/?#%".utf8.contains($0) }) ? nil : String(domain)
    }

    /// Whether every line ends with CRLF, and CR, LF and NUL occur nowhere else.
    ///
    /// A server that accepts a bare LF as the end of a line could be made to see two mails (SMTP smuggling).
    private static func hasWholeLines(_ content: [UInt8]) -> Bool {
        var previous: UInt8 = 0
        for byte in content {
            guard byte != 0, (byte == 0x0A) == (previous == 0x0D) else { return false }
            previous = byte
        }
        return previous == 0x0A
    }
}

extension SMTPMail: CustomStringConvertible, CustomReflectable {
    package var description: String { "a mail of \(content.count) bytes" }

    package var customMirror: Mirror { Mirror(self, children: ["bytes": content.count]) }
}
