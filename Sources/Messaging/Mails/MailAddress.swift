/// An e-mail address that is safe in a header and in an SMTP command without quoting.
///
/// The syntax is narrower than RFC 5321: printable ASCII, without quotes and brackets, and with one `@`. So no
/// character can end the address, begin another address or add a line.
package struct MailAddress: Sendable, Equatable {
    package let text: String
    /// The part after the `@`.
    let domain: String

    /// Parses an e-mail address; nil for a text that is not a safe address.
    package init?(_ text: String) {
        let bytes = Array(text.utf8.prefix(255))
        guard bytes.count <= 254, let at = bytes.firstIndex(of: UInt8(ascii: "@")) else { return nil }
        let (local, domain) = (bytes[..<at], bytes[(at + 1)...])
        guard (1...64).contains(local.count), local.allSatisfy(Self.isAtomOrDot), Self.hasSingleDots(local),
            !domain.isEmpty, domain.allSatisfy(Self.isHostByte), Self.hasSingleDots(domain)
        else { return nil }
        self.text = text
        self.domain = String(decoding: domain, as: UTF8.self)
    }

    private static func isAtomOrDot(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "!#$%&'*+-/=?^_`{|}~.".utf8.contains(byte)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    private static func hasSingleDots(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
    }
}

extension MailAddress: CustomStringConvertible, CustomReflectable {
    /// A mask: addresses must not be logged (decision D11).
    package var description: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
