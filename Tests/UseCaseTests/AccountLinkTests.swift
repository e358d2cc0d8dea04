import Domain
import Encodings
import Facebook
@testable import Logins
@testable import Secrets
import Testing

@Suite("Links to the account page")
struct AccountLinkTests {
    @Test("a link opens for its application, in its five minutes and unchanged, and is no ticket of a dialog")
    func encrypted() throws {
        let keys = try Sample.masterKeys()
        let (demo, other) = (try #require(ApplicationID("demo")), try #require(ApplicationID("other")))
        let link = AccountLink(session: [1, 2, 3], endsAt: 1000)
        let encrypted = link.encrypted(under: keys, for: demo)
        func opened(_ encrypted: [UInt8], for application: ApplicationID, at now: Int64 = 999) -> AccountLink? {
            AccountLink(encrypted: encrypted, under: keys, for: application, now: now)
        }
        let read = try #require(opened(encrypted, for: demo))
        #expect(read.session == [1, 2, 3] && read.endsAt == 1000)
        #expect(opened(encrypted, for: demo, at: 1000) == nil, "its time is over")
        #expect(opened(encrypted, for: other) == nil, "another application's")
        #expect(DialogTicket(encrypted: encrypted, under: keys, for: demo, now: 999) == nil)
        for index in encrypted.indices {
            var changed = encrypted
            changed[index] ^= 1
            #expect(opened(changed, for: demo) == nil)
        }
        #expect(AccountLink(["session": .string("AQID")]) == nil)
        #expect(AccountLink.seconds == 300)
    }

    @Test("a dialog of the account page is known as one when it comes back", arguments: [true, false])
    func dialog(isForAccountPage: Bool) throws {
        let plan = DialogPlan(
            provider: .facebook,
            appID: "1",
            redirectURI: "https://a.example/authorize",
            mapping: nil,
            end: .redirect(to: "https://a.example/", codeChallenge: nil),
            isForLinking: true,
            isForAccountPage: isForAccountPage
        )
        let read = try #require(DialogPlan(JSONObject(plan.members)))
        #expect(read.isForAccountPage == isForAccountPage && read.isForLinking)
    }
}
