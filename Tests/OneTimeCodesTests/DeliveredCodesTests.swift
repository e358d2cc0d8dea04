import Crypto
import Domain
import OneTimeCodes
import Testing

@Suite("Codes that are delivered")
struct DeliveredCodesTests {
    private let codes = DeliveredCodes(key: SymmetricKey(data: Array(repeating: 1, count: 32)))

    @Test(
        "a code is the number of the first 64 bits of HMAC-SHA-256, modulo a million",
        arguments: [("", "225719"), ("pending", "056460"), ("p104", "003879")]
    )
    func vectors(purpose: String, code: String) {
        #expect(codes.code(for: Array(purpose.utf8)).reveal() == code)
    }

    @Test("a code is good for its own purpose, under its own key, and with spaces")
    func checking() {
        let purpose = Array("pending".utf8)
        let code = codes.code(for: purpose).reveal()
        #expect(codes.isCode(code, for: purpose))
        #expect(codes.isCode(" \(code.prefix(3)) \(code.suffix(3))", for: purpose))
        #expect(!codes.isCode(code, for: purpose + [0]))
        #expect(!DeliveredCodes(key: SymmetricKey(data: Array(repeating: 2, count: 32))).isCode(code, for: purpose))
        for place in 0..<6 {
            var other = Array(code.utf8)
            other[place] = other[place] == UInt8(ascii: "9") ? UInt8(ascii: "0") : other[place] + 1
            #expect(!codes.isCode(String(decoding: other, as: UTF8.self), for: purpose), "digit \(place)")
        }
        for text in ["", String(code.dropLast()), code + "0", "0" + code, "１２３４５６"] {
            #expect(!codes.isCode(text, for: purpose), "\(text)")
        }
    }

    @Test("codes are spread evenly over all six digits")
    func spread() {
        var counts = [[Int]](repeating: [Int](repeating: 0, count: 10), count: 6)
        for number in 0..<5000 {
            let code = codes.code(for: Array("\(number)".utf8)).reveal()
            for (place, digit) in code.utf8.enumerated() { counts[place][Int(digit - UInt8(ascii: "0"))] += 1 }
        }
        // Each digit comes 500 times, give or take five standard deviations; the purposes are fixed, so the result is,
        // too.
        for count in counts.joined() { #expect((394...606).contains(count)) }
    }
}
