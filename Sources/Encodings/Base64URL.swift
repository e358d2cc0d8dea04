/// base64url without padding (RFC 4648 §5).
package enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        // Tokens of more than a kilobyte are encoded with each login, so the text is written in place.
        String(unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { text in
            var count = 0
            var buffer: UInt32 = 0
            var bits: UInt32 = 0
            func write(_ value: UInt32) {
                text[count] = alphabet[Int(value & 0x3F)]
                count += 1
            }
            for byte in bytes {
                buffer = buffer << 8 | UInt32(byte)
                bits += 8
                while bits >= 6 {
                    bits -= 6
                    write(buffer >> bits)
                }
            }
            if bits > 0 { write(buffer << (6 - bits)) }
            return count
        }
    }

    package static func isCharacter(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    /// Returns the decoded bytes; nil if the text is not their canonical encoding.
    ///
    /// An encoding is not canonical if it has other characters, padding, an impossible length, or nonzero unused bits
    /// in the last character.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        // This generic function is not specialized for callers in other modules. So it does no work for each byte.
        text.withContiguousStorageIfAvailable(decode(bytes:)) ?? Array(text).withUnsafeBufferPointer(decode(bytes:))
    }

    private static func decode(bytes text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        let values = values
        var result: [UInt8] = []
        result.reserveCapacity(text.count * 3 / 4)
        var buffer: UInt32 = 0
        var bits = 0
        for character in text {
            let value = values[Int(character)]
            guard value < 64 else { return nil }
            buffer = buffer << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                result.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
            }
        }
        // If six bits are left, the last character ends no byte. If two or four are left, they are unused and must be
        // zero.
        guard bits < 6, buffer & (1 << UInt32(bits) - 1) == 0 else { return nil }
        return result
    }

    /// The value of each byte in the alphabet; 64 for every other byte.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 64, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()
}
