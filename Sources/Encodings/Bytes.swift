extension UInt8 {
    /// Whether the byte is `0`–`9`.
    package var isASCIIDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    /// Whether the byte is `A`–`Z` or `a`–`z`.
    package var isASCIILetter: Bool {
        let lowered = self | 0x20
        return lowered >= UInt8(ascii: "a") && lowered <= UInt8(ascii: "z")
    }

    /// Whether the byte is `a`–`z`.
    package var isASCIILowercase: Bool { self >= UInt8(ascii: "a") && self <= UInt8(ascii: "z") }

    /// The lowercase form of an ASCII letter; any other byte unchanged.
    package var asciiLowercased: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

    package var isASCIIAlphanumeric: Bool { isASCIIDigit || isASCIILetter }

    /// Whether the byte is one of the given ASCII characters.
    ///
    /// A search in a string's UTF-8 view would take several times as long.
    package func isOne(of characters: StaticString) -> Bool {
        characters.withUTF8Buffer { $0.contains(self) }
    }
}

extension String {
    /// Whether both texts have the same UTF-8 bytes.
    ///
    /// Unlike `==`, this takes linear time, and texts that are only canonically equivalent are different.
    package func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        // Almost all texts are in contiguous memory. Comparing the memory is several times as fast as comparing the
        // views.
        let isSame = utf8.withContiguousStorageIfAvailable { bytes in
            other.utf8.withContiguousStorageIfAvailable { bytes.elementsEqual($0) }
        }
        return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}

extension Collection<UInt8> {
    /// Whether the bytes are equal, in a time that depends only on the lengths.
    ///
    /// This is for secrets. The time of an ordinary comparison shows how many leading bytes of a guess are right.
    package func isEqualInConstantTime(to other: some Collection<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return zip(self, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
