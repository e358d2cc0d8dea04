/// The encoding Base32 (RFC 4648 §6).
///
/// Authenticator apps take a secret in this form, from a QR code or typed by the user.
package enum Base32 {
    /// Encodes bytes in upper case; leaves out padding, as the Key URI format requires.
    package static func encode(_ bytes: [UInt8]) -> String { encode(bytes, in: alphabet) }

    /// Decodes a text; nil when it is not valid.
    ///
    /// Users and programs write either case, spaces anywhere, and padding at the end. The function accepts all three,
    /// and no other character. It also refuses a number of characters that no number of bytes has, padding that does
    /// not fill up the text to a multiple of eight characters, and surplus bits in the last character that are not
    /// zero.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let characters = text.utf8.filter { $0 != UInt8(ascii: " ") }
        let digits = characters.prefix { $0 != padding }
        let end = characters.dropFirst(digits.count)
        guard end.isEmpty || (characters.count.isMultiple(of: 8) && end.count < 8), end.allSatisfy({ $0 == padding })
        else { return nil }
        return decode(digits)
    }

    /// Encodes each group of five bits as one of the 32 characters of `alphabet`; the last group is padded with zeros.
    static func encode(_ bytes: [UInt8], in alphabet: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 8 + 4) / 5)
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 5 {
                bits -= 5
                text.append(alphabet[Int(buffer >> bits & 0x1F)])
            }
        }
        if bits > 0 { text.append(alphabet[Int(buffer << (5 - bits) & 0x1F)]) }
        return String(decoding: text, as: UTF8.self)
    }

    private static func decode(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count * 5 / 8)
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            buffer = buffer << 5 | value
            bits += 5
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
        }
        // Five or more remaining bits are a character that completes no byte. Fewer remaining bits must be zero.
        guard bits < 5, buffer & (1 << bits - 1) == 0 else { return nil }
        return bytes
    }

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a"))
        case UInt8(ascii: "2")...UInt8(ascii: "7"): UInt32(digit - UInt8(ascii: "2")) + 26
        default: nil
        }
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
    private static let padding = UInt8(ascii: "=")
}
