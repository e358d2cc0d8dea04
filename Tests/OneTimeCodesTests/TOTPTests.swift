import Crypto
import Domain
@testable import OneTimeCodes
import Testing

@Suite("Codes by counter and by time")
struct TOTPTests {
    /// The secret of the examples in both RFCs.
    private static let secret = Array("12345678901234567890".utf8)
    private let totp = TOTP(secret: Self.secret)

    @Test("the vectors of RFC 4226, appendix D: numbers and codes")
    func counters() {
        let numbers: [UInt32] = [
            1_284_755_224, 1_094_287_082, 137_359_152, 1_726_969_429, 1_640_338_314, 868_254_676, 1_918_287_922,
            82_162_583, 673_399_871, 645_520_489,
        ]
        let codes = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489",
        ]
        for (counter, (number, code)) in zip(numbers, codes).enumerated() {
            #expect(HOTP.number(key: SymmetricKey(data: Self.secret), counter: UInt64(counter)) == number)
            #expect(totp.code(step: Int64(counter)) == code)
        }
    }

    @Test(
        "the vectors of RFC 6238, appendix B, for SHA-1: steps, and the eight digits that they have there",
        arguments: [
            (59, 0x1, 94_287_082, "287082"), (1_111_111_109, 0x23523EC, 7_081_804, "081804"),
            (1_111_111_111, 0x23523ED, 14_050_471, "050471"), (1_234_567_890, 0x273EF07, 89_005_924, "005924"),
            (2_000_000_000, 0x3F940AA, 69_279_037, "279037"), (20_000_000_000, 0x27BC86AA, 65_353_130, "353130"),
        ] as [(Int64, Int64, UInt32, String)]
    )
    func times(seconds: Int64, step: Int64, eight: UInt32, six: String) {
        #expect(TOTP.step(at: seconds) == step)
        #expect(HOTP.number(key: SymmetricKey(data: Self.secret), counter: UInt64(step)) % 100_000_000 == eight)
        #expect(totp.code(step: step) == six)
        #expect(totp.matchingStep(of: six, at: seconds, after: nil) == step)
    }

    @Test(
        "a code is good in its own step and in those beside it, and in no other",
        arguments: [
            // The seconds from the beginning of the code's step until the user enters the code.
            (0, true), (29, true), (30, true), (31, true), (59, true), (60, false), (61, false), (90, false),
            (-1, true), (-29, true), (-30, true), (-31, false), (-59, false), (-60, false), (-61, false),
        ] as [(Int64, Bool)]
    )
    func skew(seconds: Int64, isGood: Bool) {
        // The beginnings of steps lie before and after 1970.
        for begin: Int64 in [1_800_000_000, -1_800_000_000, 0, -30, 30] {
            let step = TOTP.step(at: begin)
            #expect(begin == step * 30)
            let matching = totp.matchingStep(of: totp.code(step: step), at: begin + seconds, after: nil)
            #expect(matching == (isGood ? step : nil), "\(begin) \(seconds)")
        }
    }

    @Test("a step is taken once, and none that is before the last one")
    func replay() {
        let now: Int64 = 1_800_000_000
        let step = TOTP.step(at: now)
        let codes = (-1...1).map { totp.code(step: step + $0) }
        #expect(codes.map { totp.matchingStep(of: $0, at: now, after: step - 2) } == [step - 1, step, step + 1])
        #expect(codes.map { totp.matchingStep(of: $0, at: now, after: step - 1) } == [nil, step, step + 1])
        #expect(codes.map { totp.matchingStep(of: $0, at: now, after: step) } == [nil, nil, step + 1])
        #expect(codes.map { totp.matchingStep(of: $0, at: now, after: step + 1) } == [nil, nil, nil])
        #expect(codes.map { totp.matchingStep(of: $0, at: now, after: .max) } == [nil, nil, nil])
        #expect(codes.map { totp.matchingStep(of: $0, at: now, after: .min) } == [step - 1, step, step + 1])
    }

    @Test("a code that two steps beside each other have is good once")
    func sameCodeTwice() {
        // Two adjacent steps with the same code, found by trial.
        let (first, second, code): (Int64, Int64, String) = (910_737, 910_738, "911617")
        #expect(totp.code(step: first) == code && totp.code(step: second) == code)
        #expect(totp.matchingStep(of: code, at: first * 30, after: nil) == second)
        #expect(totp.matchingStep(of: code, at: second * 30, after: second) == nil)
        // While the later step is out of reach, the code is the first one's.
        #expect(totp.matchingStep(of: code, at: first * 30 - 1, after: nil) == first)
    }

    @Test("no moment and no step ends the process")
    func extremes() {
        for moment: Int64 in [.min, .min + 1, -1, 0, 1, .max - 1, .max] {
            let step = TOTP.step(at: moment)
            for other in [step - 1, step, step + 1] {
                #expect(totp.matchingStep(of: totp.code(step: other), at: moment, after: other - 1) == other)
            }
        }
        for step: Int64 in [.min, -1, 0, .max] { #expect(totp.code(step: step).utf8.count == 6) }
        #expect([-61, -60, -31, -30, -1, 0, 29, 30].map(TOTP.step) == [-3, -2, -2, -1, -1, 0, 0, 1])
    }

    @Test(
        "people may type spaces",
        arguments: ["287 082", " 287082 ", "2 8 7 0 8 2", "287082", "28 70 82"]
    )
    func spaces(text: String) {
        #expect(totp.matchingStep(of: text, at: 59, after: nil) == 1, "\(text)")
    }

    @Test(
        "what is not six ASCII digits is no code",
        arguments: [
            "", "28708", "2870822", "0287082", "287-082", "287082\n", "28708２", "٢٨٧٠٨٢", "287082\u{0}", "+87082",
            "-87082",
            "0x7082", "287.82", "28708a", "287082" + String(repeating: " ", count: 8), "94287082",
        ]
    )
    func noCode(text: String) {
        #expect(SixDigits(typed: text) == nil, "\(text)")
        #expect(totp.matchingStep(of: text, at: 59, after: nil) == nil, "\(text)")
    }

    @Test("the secret comes back from its text, and a new one has 160 bits")
    func secrets() throws {
        #expect(totp.base32.reveal() == "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
        let read = try #require(TOTP(base32: totp.base32))
        #expect(read.code(step: 1) == "287082")
        #expect(TOTP(base32: Secret("no secret!")) == nil)
        #expect(TOTP(base32: Secret("")) == nil)
        let random = TOTP(RandomSource { count in Array(Self.secret.prefix(count)) })
        #expect(random.base32.reveal() == totp.base32.reveal())
    }

    @Test(
        "the address that apps open",
        arguments: [
            ("Demo", "a@example.org", "Demo:a%40example.org", "&issuer=Demo"),
            ("Acme: Bikes & Co", "x:y", "Acme%20Bikes%20%26%20Co:x%20y", "&issuer=Acme%20Bikes%20%26%20Co"),
            ("Zürich", "é\n?#", "Z%C3%BCrich:%C3%A9%20%3F%23", "&issuer=Z%C3%BCrich"),
            (" : ", "a", "a", ""),
            (
                String(repeating: "ü", count: 30), String(repeating: "a", count: 97),
                String(repeating: "%C3%BC", count: 24) + ":" + String(repeating: "a", count: 96),
                "&issuer=" + String(repeating: "%C3%BC", count: 24)
            ),
            // Three more bytes would exceed the capacity of a QR code by one byte.
            (
                String(repeating: "a", count: 46) + "€", "a", String(repeating: "a", count: 46) + ":a",
                "&issuer=" + String(repeating: "a", count: 46)
            ),
        ]
    )
    func address(issuer: String, account: String, label: String, parameter: String) {
        let expected =
            "otpauth://totp/\(label)?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\(parameter)&algorithm=SHA1&digits=6&period=30"
        #expect(totp.address(issuer: issuer, account: account).reveal() == expected)
        #expect(QRCode(expected) != nil)
    }
}
