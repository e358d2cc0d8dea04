import Domain
import Secrets
import Testing

@Suite("Pseudonyms of the log")
struct PseudonymTests {
    @Test("a text has one pseudonym in an application, another in every other one, and under another master key")
    func apart() throws {
        let (demo, shop) = (try #require(ApplicationID("demo")), try #require(ApplicationID("shop")))
        let ours = Pseudonyms(try MasterKey(base64: Secret(Office.oldKey)))
        let others = Pseudonyms(try MasterKey(base64: Secret(Office.newKey)))
        let text = "ann@example.com"
        let found = [
            ours.pseudonym(of: text, in: demo), ours.pseudonym(of: text, in: shop), ours.pseudonym(of: text, in: nil),
            others.pseudonym(of: text, in: demo), ours.pseudonym(of: "bob@example.com", in: demo),
        ]
        #expect(Set(found).count == found.count)
        #expect(ours.pseudonym(ofLogin: "Ann@Example.com", in: demo) == found[0])
    }
}
