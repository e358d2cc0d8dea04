import Domain
import Encodings
import Passwords
import Testing

@Suite("What a password may be")
struct PasswordPolicyTests {
    private func rule(_ password: String, fewest: Int64 = 15, names: [String] = []) -> String? {
        do throws(Failure) {
            try PasswordPolicy.check(Secret(password), fewest: fewest, names: names)
            return nil
        } catch {
            #expect(error.reason == .passwordNotAllowed)
            #expect(!error.message.contains(password) || password.isEmpty)
            return error.details["rule"]?.string
        }
    }

    @Test(
        "fifteen characters and 256 bytes are the bounds, and no kind of character is asked for",
        arguments: [
            ("", "tooShort"), ("correct horse!", "tooShort"), ("correct horse!!", nil), ("aaaaaaaaaaaaaaaab", nil),
            (String(repeating: "xylophon ", count: 7), nil), (String(repeating: "u v w x ", count: 32), nil),
            (String(repeating: "u v w x ", count: 32) + "y", "tooLong"),
            ("дом на зеленом холме", nil), ("東京東京東京東京東京東京東京東京", nil), ("a\u{0}bcdefghijklmnop", "character"),
            ("👍👍👍👍👍👍👍👍👍👍👍👍👍👍", "tooShort"),
        ]
    )
    func bounds(password: String, expected: String?) {
        #expect(rule(password) == expected, "\(password)")
    }

    @Test(
        "the application says how short one may be, and what is guessed first is refused at any length",
        arguments: [
            ("xylopho", 8, "tooShort"), ("xylophon", 8, nil), ("football", 8, "common"), ("iloveyou", 8, "common"),
            ("Passw0rd", 8, "common"), ("xylophon xylophon", 18, "tooShort"), ("xylophon xylophon!", 18, nil),
        ]
    )
    func fewest(password: String, fewest: Int64, expected: String?) {
        #expect(rule(password, fewest: fewest) == expected, "\(password)")
    }

    @Test("characters are counted in NFC, so decomposed ones gain nothing")
    func counting() {
        #expect(rule(String(repeating: "e\u{301}\u{323}", count: 14)) == nil, "é with a dot below is two even in NFC")
        #expect(rule(String(repeating: "e\u{301}", count: 14)) == "tooShort")
        #expect(rule(String(repeating: "e\u{301}", count: 15)) == nil)
    }

    @Test(
        "what is guessed first is refused: common passwords, one behind the other, in any case",
        arguments: [
            "passwordpassword", "PasswordPassword", "qwertyuiop12345", "q1w2e3r4t5y6u7i8", "123456789123456789",
            "letmeinletmein123456",
            "iloveyouiloveyou", "1234567890987654321",
        ]
    )
    func common(password: String) {
        #expect(rule(password) == "common")
    }

    @Test("names of the person and of the app are guessed, too, and longer phrases of words are not")
    func names() {
        let names = ["annabelle@example.org", "Annabelle", "example.org", "demo", "Al"]
        #expect(rule("annabelle@example.org", names: names) == "common")
        #expect(rule("Annabelleannabelle", names: names) == "common")
        #expect(rule("annabellepassword", names: names) == "common")
        #expect(rule("brunhildapassword", names: names) == nil)
        #expect(rule("dragon monkey shadow lake", names: names) == nil)
        #expect(rule("AlAlAlAlAlAlAlAl", names: names) == nil, "two letters are nobody's name here")
    }
}
