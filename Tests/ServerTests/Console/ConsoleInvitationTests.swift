@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Invitations in the console",
    .serialized,
    .deployed(
        Document(
            settings: #"{"newUsers": "invited", "roles": ["editors"]}"#,
            properties: #"{"city": {"type": "STRING"}}"#
        ),
        environment: mails.environment
    )
)
struct ConsoleInvitationTests {
    private static let page = "/console/applications/demo/invitations"
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("an owner invites with roles and properties; a link that is not sent is shown once")
    func shown() async throws {
        let browser = try await deployment.browser()
        try await browser.open(Self.page)
        try await browser.send(
            formTo: Self.page,
            [
                "contact": "bob@example.com", "shown": "yes", "role": "editors", "properties": #"{"city": "Bern"}"#,
                "days": "3",
            ]
        )
        let start = "https://users.example.com/demo/invitation?token="
        #expect(browser.page.contains(start) && browser.page.contains("bob@example.com"))
        let stored = try await deployment.database.psql(
            """
            select roles::text, properties::text, expires - created = interval '3 days' from demo.invitations
            where email = 'bob@example.com'
            """
        )
        #expect(stored == [["{editors}", #"{"city": "Bern"}"#, "t"]])
        try await browser.open(Self.page)
        #expect(browser.page.contains("bob@example.com") && !browser.page.contains(start))
    }

    @Test("an editor invites, sends again and takes back; what is wrong is said beside what was typed; a viewer looks")
    func editor() async throws {
        let browser = try await deployment.browser(.editor)
        try await browser.open(Self.page)
        #expect(!browser.page.contains("name=\"role\""))
        try await browser.send(formTo: Self.page, ["contact": "no address@", "days": "many"])
        #expect(browser.page.contains("must be an e-mail address") && browser.page.contains("must be whole seconds"))
        #expect(browser.page.contains("no address@"))
        try await browser.send(formTo: Self.page, ["contact": "cleo@example.com", "days": ""])
        let first = try await mails.token(to: "cleo@example.com", page: "invitation")
        let id = try #require(
            try await deployment.value("select id from demo.invitations where email = 'cleo@example.com'")
        ).uppercased()
        try await browser.send(formTo: Self.page, ["send": id])
        let second = try await mails.token(to: "cleo@example.com", page: "invitation")
        #expect(first != second)
        try await browser.send(formTo: Self.page, ["revoke": id])
        #expect(try await deployment.value("select count(*) from demo.invitations where id = '\(id)'") == "0")

        let viewer = try await deployment.browser(.viewer)
        try await viewer.open(Self.page)
        #expect(viewer.page.contains("Invitations") && !viewer.page.contains("Invite a user"))
    }
}
