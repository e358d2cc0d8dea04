import Domain
import Testing

@Suite("E-mail addresses")
struct EmailAddressTests {
    @Test(
        "T-81: every spelling of one address is one login, and mail goes to the one that was written",
        arguments: [
            ("bob@example.com", "bob@example.com"), ("Bob@Example.COM", "bob@example.com"),
            ("BOB.o'neil+tag@mail.Example.com", "bob.o'neil+tag@mail.example.com"), ("b@x.co", "b@x.co"),
            ("bob@xn--bcher-kva.example", "bob@xn--bcher-kva.example"),
        ]
    )
    func logins(written: String, login: String) throws {
        let address = try #require(EmailAddress(written))
        #expect(address.login == login)
        #expect(address.text == written)
        #expect("\(address)" == "•••")
    }

    @Test(
        "T-38: letters beyond ASCII are refused, whatever they fold to",
        arguments: [
            "mıke@example.org", "mike@example.org\u{200B}", "\u{212A}elvin@example.org", "bob@exampl\u{0435}.org",
            "jose\u{301}@example.org", "jos\u{e9}@example.org", "bob@b\u{fc}cher.example", "ſam@example.org",
            "bob＠example.org",
        ]
    )
    func beyondASCII(text: String) {
        #expect(EmailAddress(text) == nil)
    }

    @Test(
        "T-39: what two parsers could read in two ways is no address",
        arguments: [
            "", "@", "a@", "@x.org", "bob", "bob@localhost", "a@x.com,b@y.com", "a@x.com;b@y.com", "a@x.com b@y.com",
            #""<b>"@x.org"#, #""bob"@x.org"#, "<bob@x.org>", "Bob <bob@x.org>", "bob@x.org\r\nBcc: eve@y.org",
            "bob@x.org ",
            " bob@x.org", "bob@x.org\u{0}", "bob@@x.org", "bob@x@y.org", "bob@x.org.", "bob@.x.org", "bob@x..org",
            ".bob@x.org", "bob.@x.org", "b..b@x.org", "bob@-x.org", "bob@x-.org", "bob@x_y.org", "bob@[127.0.0.1]",
            "bob@127.0.0.1", "bob(comment)@x.org", "bob@x.org\t", "bob\\@x.org",
        ]
    )
    func ambiguous(text: String) {
        #expect(EmailAddress(text) == nil)
    }

    @Test(
        "T-81: mails count for the mailbox: notes behind a + are none, nor are Gmail's dots; who logs in stays as written",
        arguments: [
            ("victim+1@x.org", "victim@x.org"), ("Victim+a+b@X.org", "victim@x.org"),
            ("vic.tim@x.org", "vic.tim@x.org"),
            ("vic.tim+1@gmail.com", "victim@gmail.com"), ("v.i.c.tim@GoogleMail.com", "victim@gmail.com"),
            ("+1@x.org", "+1@x.org"), ("a+@x.org", "a@x.org"), ("a@gmail.com.org", "a@gmail.com.org"),
            ("a.b@mail.gmail.com", "a.b@mail.gmail.com"),
        ]
    )
    func mailbox(text: String, mailbox: String) {
        let email = EmailAddress(text)
        #expect(email?.mailbox == mailbox)
        #expect(email?.login == text.lowercased())
    }

    @Test("T-39: an address has at most 254 bytes, 64 in front of the @ and 63 in a label")
    func lengths() {
        let label = String(repeating: "a", count: 63)
        let local = String(repeating: "b", count: 64)
        let longest = "\(local)@\(label).\(label).\(String(repeating: "c", count: 57)).org"
        #expect(longest.utf8.count == 254)
        #expect(EmailAddress(longest) != nil)
        #expect(EmailAddress(longest.replacing(".org", with: "c.org")) == nil)
        #expect(EmailAddress("b\(local)@x.org") == nil)
        #expect(EmailAddress("b@a\(label).org") == nil)
        #expect(EmailAddress(String(repeating: "a\u{301}", count: 100_000) + "@x.org") == nil)
    }
}
