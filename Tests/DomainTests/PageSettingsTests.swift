import Domain
import Testing

@Suite("How pages look")
struct PageSettingsTests {
    private static let texts: [(String, String?)] = [
        ("#1877f2", "#1877f2"), ("#FFDD00", "#ffdd00"), ("#000000", "#000000"),
        ("1877f2", nil), ("#fff", nil), ("#1877f2ff", nil), ("#1877g2", nil), ("red", nil), ("", nil), ("#", nil),
        ("#1877f2;}</style><script>", nil), ("#12345;", nil), (" #1877f2", nil), ("#1877f2\n", nil),
        ("rgb(0,0,0)", nil), ("\u{FF03}1877f2", nil), ("#１８７７f2", nil), ("#-1-1-1", nil),
    ]

    @Test("a color is six hexadecimal digits, so that it is nothing else in a style sheet", arguments: texts)
    func colors(text: String, color: String?) { #expect(PageColor(text)?.text == color) }

    private static let good: [String] = [
        "data:image/png;base64,AAAA", "data:image/png;base64,AAAAAA==", "data:image/png;base64,AAAAAAA=",
        "data:image/png;base64,+/+/", "data:image/svg+xml;base64,PHN2Zz4=", "data:image/jpeg;base64,AAAA",
        "data:image/webp;base64,AAAA",
    ]

    private static let bad: [String] = [
        "https://example.com/logo.png", "http://example.com/logo.png", "//a.example/b", "javascript:alert(1)",
        "data:text/html;base64,AAAA", "data:image/png,AAAA", "data:image/gif;base64,AAAA",
        "data:image/png;charset=x;base64,AAAA", "DATA:image/png;base64,AAAA", "data:image/png;base64,",
        "data:image/png;base64,AAA", "data:image/png;base64,AA==", "data:image/png;base64,AAA=",
        "data:image/png;base64,====", "data:image/png;base64,AAAA====", "data:image/png;base64,AA=AAAAA",
        "data:image/png;base64,AAAA\" onerror=\"alert(1)", "data:image/png;base64,AA A",
        "data:image/png;base64,AA\nA", "data:image/png;base64,AA-_", " data:image/png;base64,AAAA", "",
    ]

    @Test("a logo is a picture in the address itself, in base64", arguments: good)
    func logo(address: String) { #expect(PageLogo(address)?.address == address) }

    @Test("nothing else gets into a page in place of a logo", arguments: bad)
    func noLogo(address: String) { #expect(PageLogo(address) == nil) }

    @Test("a logo has a bounded size")
    func size() {
        let start = "data:image/png;base64,"
        let max = (PageLogo.maxBytes - start.utf8.count) / 4 * 4
        #expect(PageLogo(start + String(repeating: "A", count: max)) != nil)
        #expect(PageLogo(start + String(repeating: "A", count: max + 4)) == nil)
    }
}
