import Crypto
import Domain
import OneTimeCodes
import Testing

@Suite("Recovery codes")
struct RecoveryCodeTests {
    private static let user = ObjectID(random: Array(repeating: 7, count: 16))
    /// Bytes whose groups of five bits are the numbers from 0 to 15 in order.
    private static let counting: [UInt8] = [0x00, 0x44, 0x32, 0x14, 0xC7, 0x42, 0x54, 0xB6, 0x35, 0xCF]

    private let code = RecoveryCode.ten(RandomSource { _ in Self.counting })[0]

    @Test("ten at once, of 80 bits each")
    func ten() {
        let codes = RecoveryCode.ten(RandomSource { count in (0..<count).map { _ in .random(in: .min ... .max) } })
        #expect(codes.count == 10)
        #expect(Set(codes.map { $0.text.reveal() }).count == 10)
        #expect(code.text.reveal() == "0123-4567-89ab-cdef")
        let last = RecoveryCode.ten(RandomSource { Array(repeating: 0xFF, count: $0) })[0]
        #expect(last.text.reveal() == "zzzz-zzzz-zzzz-zzzz")
        #expect("\(code)" == "•••" && !String(reflecting: code).contains("0123"))
    }

    @Test(
        "what people type is read as what they must have read",
        arguments: [
            "0123-4567-89ab-cdef", "0123456789abcdef", " 0123 4567 89AB CDEF ", "o123-4567-89ab-cdef",
            "O123456789ABCDEF",
            "0i23-4567-89ab-cdef", "0I23-4567-89ab-cdef", "0l23-4567-89ab-cdef", "0L23 4567-89ab-cdef",
            "0-1-2-3-4-5-6-7-8-9-a-b-c-d-e-f",
        ]
    )
    func typed(text: String) throws {
        let read = try #require(RecoveryCode(typed: text), "\(text)")
        #expect(read.text.reveal() == code.text.reveal())
        #expect(read.hash(of: Self.user) == code.hash(of: Self.user))
    }

    @Test(
        "what cannot be a code of ours is refused",
        arguments: [
            "", "0123-4567-89ab-cde", "0123-4567-89ab-cdef0", "0123-4567-89ab-cdeu", "0123-4567-89ab-cdeU",
            "0123_4567_89ab_cdef", "0123-4567-89ab-cde\u{0}", "0123-4567-89ab-cdé", "0123-4567-89ab-cdeｆ",
            "0123-4567-89ab-cdef" + String(repeating: "-", count: 15), "0123\n4567-89ab-cdef",
        ]
    )
    func refused(text: String) {
        #expect(RecoveryCode(typed: text) == nil, "\(text)")
    }

    @Test("what is stored is SHA-256 of what it is, whose it is and the code, in one spelling")
    func hash() {
        let text = "federation: recovery code\n07070707-0707-4707-8707-070707070707\n0123456789abcdef"
        #expect(code.hash(of: Self.user) == Array(SHA256.hash(data: Array(text.utf8))))
        #expect(code.hash(of: ObjectID(random: Array(repeating: 8, count: 16))) != code.hash(of: Self.user))
    }
}
