import Description
import Testing

@Suite("The nearest known name")
struct NearestNameTests {
    private static let names = [
        "migrate", "clientMapping", "location", "id", "name", "login-name", "loginWithFacebook",
    ]

    @Test(
        "a slip of the fingers finds the name that was meant",
        arguments: [
            ("migarte", "migrate"), ("migrat", "migrate"), ("mmigrate", "migrate"), ("MIGRATE", "migrate"),
            ("clientMaping", "clientMapping"), ("client_mapping", "clientMapping"), ("locaton", "location"),
            ("nmae", "name"), ("naem", "name"), ("loginwithfacebook", "loginWithFacebook"),
            ("login_name", "login-name"),
            ("locaction", "location"), ("di", "id"),
        ]
    )
    func near(text: String, name: String) {
        #expect(NearestName.of(text, among: Self.names) == name)
        #expect(NearestName.hint(for: text, among: Self.names) == " (did you mean \(name)?)")
    }

    @Test(
        "what is near none has none, and a long text is not compared",
        arguments: ["", "serve", "x", "emigration", "xyz", "\u{1F600}", String(repeating: "name", count: 17)]
    )
    func far(text: String) {
        #expect(NearestName.of(text, among: Self.names) == nil)
        #expect(NearestName.hint(for: text, among: Self.names) == "")
    }

    @Test("the nearest of several is taken, and of two the first")
    func several() {
        #expect(NearestName.of("nume", among: ["nine", "name", "lime"]) == "name")
        #expect(NearestName.of("bat", among: ["cat", "hat"]) == "cat")
        #expect(NearestName.of("bat", among: [String]()) == nil)
    }
}
