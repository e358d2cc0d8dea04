import OneTimeCodes
import Testing

@Suite("Base32")
struct Base32Tests {
    @Test(
        "the vectors of RFC 4648 §10, without padding, with it, and as people write",
        arguments: [
            ("", "", ""), ("f", "MY", "MY======"), ("fo", "MZXQ", "MZXQ===="), ("foo", "MZXW6", "MZXW6==="),
            ("foob", "MZXW6YQ", "MZXW6YQ="), ("fooba", "MZXW6YTB", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI", "MZXW6YTBOI======"),
        ]
    )
    func vectors(plain: String, text: String, padded: String) {
        #expect(Base32.encode(Array(plain.utf8)) == text)
        #expect(Base32.decode(text) == Array(plain.utf8))
        #expect(Base32.decode(padded) == Array(plain.utf8))
        #expect(Base32.decode(padded.lowercased()) == Array(plain.utf8))
        #expect(Base32.decode(" " + text.map(String.init).joined(separator: " ") + "  ") == Array(plain.utf8))
    }

    @Test(
        "what stands for no bytes is refused",
        arguments: [
            // A length that encodes no whole number of bytes.
            "M", "MZX", "MZXW6Y", "MZXW6YTBO",
            // Nonzero bits beyond the last byte.
            "MZ", "MZXR", "MZXW7", "MZXW6YR",
            // Padding that is too short, too long, in the middle or alone.
            "MY=", "MY=====", "MY=======", "MZXW6YTB========", "M=Y=====", "MY====== MY======", "========", "=",
            // Characters that resemble characters of the alphabet, and others.
            "M0", "M1", "M8", "M9", "MY\n", "MY\t", "M-Y", "ＭＹ", "MÝ", "MY\u{0}", "MY\u{a0}",
        ]
    )
    func refused(text: String) {
        #expect(Base32.decode(text) == nil, "\(text)")
    }

    @Test("all lengths and bytes come back")
    func thereAndBack() {
        for count in 0...64 {
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max) }
            #expect(Base32.decode(Base32.encode(bytes)) == bytes)
        }
    }
}
