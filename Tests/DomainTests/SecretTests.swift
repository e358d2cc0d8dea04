import Domain
import Encodings
import Testing

@Suite("Secrets")
struct SecretTests {
    private static let canary = "EAACANARY"

    @Test("T-110: a secret shows nothing of itself, however it is printed")
    func printsNothing() {
        let secret = Secret(Self.canary)
        let app = ProviderAppID("123").map { ProviderApp(id: $0, secret: secret) }
        var dumped = ""
        dump((secret, [secret], ["key": secret], app), to: &dumped)
        let printed = [
            "\(secret)", String(describing: secret), String(reflecting: secret), "\([secret])", "\(["key": secret])",
            String(reflecting: app), "\(String(describing: Optional(secret)))", dumped,
        ]
        for text in printed {
            #expect(!text.contains("CANARY"))
            #expect(text.contains("•••") || text == dumped)
        }
        #expect(secret.reveal() == Self.canary)
        #expect(secret.byteCount == 9)
    }

    @Test("an error of the parser holds nothing of the text")
    func parserErrors() {
        do throws(JSONError) {
            _ = try JSONParser.parse("{\"accessToken\":\"\(Self.canary)", limits: .request)
            Issue.record("the text is not JSON")
        } catch {
            var dumped = ""
            dump(error, to: &dumped)
            #expect(!"\(error)\(String(reflecting: error))\(dumped)".contains("CANARY"))
        }
    }
}
