import Messaging
import Testing

@Suite("Telephone numbers")
struct PhoneNumberTests {
    @Test(
        "what people type is one number",
        arguments: [
            ("+41791234567", "+41791234567"), ("+41 79 123 45 67", "+41791234567"),
            (" +41-79-123-45-67 ", "+41791234567"),
            ("+1 (555) 010-9999", "+15550109999"), ("(+49) 30 123456", "+4930123456"), ("+2901234", "+2901234"),
            ("+123456789012345", "+123456789012345"),
        ]
    )
    func read(text: String, number: String) throws {
        #expect(try PhoneNumber(text).text == number)
    }

    @Test(
        "what is no number of E.164 is refused, with the reason and without the text",
        arguments: [
            ("", .noCountryCode), ("0791234567", .noCountryCode), ("41791234567", .noCountryCode),
            ("+0791234567", .noCountryCode), ("＋41791234567", .noCountryCode), ("0041791234567", .internationalPrefix),
            ("00 41 79 123 45 67", .internationalPrefix), ("(00)41791234567", .internationalPrefix),
            ("+41 (0)79 123 45 67", .trunkPrefix), ("+41 ( 0 ) 79 123 45 67", .trunkPrefix),
            ("+4179123456a", .character), ("+41/79/1234567", .character), ("+41.79.1234567", .character),
            ("++41791234567", .character), ("+41791234567;ext=1", .character), ("+41791234567\n", .character),
            ("+٤١٧٩١٢٣٤٥٦٧", .character), ("+41\u{a0}791234567", .character), ("+41791234567\u{0}", .character),
            ("+", .tooShort), ("+290123", .tooShort), ("+1234567890123456", .tooLong),
            ("+41791234567" + String(repeating: " ", count: 29), .tooLong),
        ] as [(String, InvalidPhoneNumber)]
    )
    func refused(text: String, reason: InvalidPhoneNumber) {
        #expect(throws: reason, "\(text)") { try PhoneNumber(text) }
        #expect(text.count < 5 || !reason.description.contains(text))
    }

    @Test("of a number two digits in front and two at the end are shown, and nothing in a log")
    func masked() throws {
        let number = try PhoneNumber("+41791234567")
        #expect(number.masked == "+41 •••• 67")
        #expect(try PhoneNumber("+2901234").masked == "+29 •••• 34")
        #expect("\(number)" == "•••" && !String(reflecting: number).contains("79") && !"\([number])".contains("79"))
    }

    @Test(
        "a number is allowed by a prefix that it begins with, and by nothing else",
        arguments: [
            (["+41"], true), (["+4179"], true), (["+49", "+41"], true), (["+4"], true), (["+41791234567"], true),
            (["+49"], false), (["+4178"], false), (["+417912345678"], false), ([], false),
            // An invalid prefix allows no number.
            ([""], false), (["+"], false), (["41"], false), (["+41 "], false), ([" +41"], false), (["0041"], false),
            (["+4\u{0}"], false),
        ]
    )
    func allowed(prefixes: [String], isAllowed: Bool) throws {
        #expect(try PhoneNumber("+41791234567").isAllowed(by: prefixes) == isAllowed, "\(prefixes)")
    }

    @Test("a prefix is + and digits, not 0 in front")
    func prefixes() {
        for prefix in ["+1", "+41", "+4179", "+123456789012345"] { #expect(PhoneNumber.isPrefix(prefix), "\(prefix)") }
        for text in ["", "+", "1", "+0", "+041", "+1234567890123456", "+4a", "+41 ", "+٤", "++4", "＋41"] {
            #expect(!PhoneNumber.isPrefix(text), "\(text)")
        }
    }
}
