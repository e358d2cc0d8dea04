import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Lists of ids in the console",
    .serialized,
    .deployed(Document(application: "shop", mapping: #"{"name": "name"}"#))
)
struct ConsoleErasureListTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let form = "/console/applications/shop/erase-list"

    /// Creates users with an identity each, whose subjects are consecutive numbers.
    private func people(_ count: Int, from first: Int) async throws {
        try await deployment.database.psql(
            """
            with made as (
                insert into shop.users (object_id, name)
                select gen_random_uuid(), 'Listed ' || n from generate_series(\(first), \(first + count - 1)) n
                returning object_id, name
            )
            insert into shop.identities (provider, provider_app, subject, object_id, created)
            select 'facebook', '1234567890', substr(name, 8), object_id, now() - interval '1 day' from made
            """
        )
    }

    private func left() async throws -> String? {
        try await deployment.value("select count(*) from shop.users where name like 'Listed %'")
    }

    @Test("a list is looked at, erased only by its word, part by part, and told of once more when it is repeated")
    func list() async throws {
        try await people(250, from: 5000)
        let browser = try await deployment.browser()
        try await browser.open("/console/applications/shop/users")
        #expect(browser.page.contains("href=\"\(Self.form)\""))
        try await browser.open(Self.form)
        let ids = (5000..<5250).map { "\($0)\r\n" }.joined() + "99999\r\n"
        let fields = ["provider": "facebook", "reason": "list of Meta", "ids": ids]
        try await browser.send(formTo: Self.form, fields.merging(["do": "look"]) { $1 })
        #expect(browser.status == 200 && browser.page.contains("The list has 251 ids."), "\(browser.page)")
        #expect(browser.page.contains("User would be erased") && browser.page.contains("Continue"))
        #expect(try await left() == "250")
        for word in ["", "other"] {
            try await browser.send(
                formTo: Self.form,
                fields.merging(["do": "erase", "confirm": word, "after": "0"]) { $1 }
            )
            #expect(browser.status == 400, "\(browser.page)")
        }
        #expect(try await left() == "250")

        let last = try await deployment.lastAudited()
        try await browser.open(Self.form)
        try await browser.send(formTo: Self.form, fields.merging(["do": "erase", "confirm": "shop"]) { $1 })
        var parts = 1
        while browser.page.contains("Continue"), parts < 20 {
            #expect(browser.status == 200, "\(browser.page)")
            try await browser.send(formTo: Self.form)
            parts += 1
        }
        #expect(parts >= 2 && browser.page.contains("No user has this id"), "\(parts): \(browser.page)")
        #expect(try await left() == "0")
        let steps = try await deployment.audited(behind: last).filter { $0["action"]?.string == "user.eraseList" }
        let names = steps.compactMap { $0["details"]?.object?["to"]?.object?["step"]?.string }
        #expect(names.first == "begin" && names.last == "end" && names.count == parts + 1, "\(steps)")

        let again = try await deployment.admin().ask(
            "POST",
            "applications/shop/erasures?confirm=shop",
            JSONValue.object(["provider": .string("facebook"), "reason": .string("list of Meta"), "ids": .string(ids)])
                .text
        )
        let outcomes = (again["outcomes"]?.array ?? []).compactMap { $0.object?["outcome"]?.string }
        // A part also ends after five seconds, in which a busy machine erases fewer.
        #expect((1...200).contains(outcomes.count) && Set(outcomes) == ["done"], "\(again)")
        #expect(again["next"]?.integer == Int64(outcomes.count) && again["ids"]?.integer == 251)
    }

    @Test("what is no list is refused with its line, and nobody is erased")
    func misfits() async throws {
        try await people(1, from: 7000)
        let owner = try await deployment.admin()
        let path = "applications/shop/erasures?confirm=shop"
        for (json, word) in [
            (#"{"provider": "facebook", "ids": "7000\nno id\n", "reason": "r"}"#, "2"),
            (#"{"provider": "facebook", "ids": "7000", "reason": ""}"#, "/reason"),
            (#"{"provider": "facebook", "ids": "", "reason": "r"}"#, "empty"),
            (#"{"provider": "facebook", "ids": "7000", "reason": "r", "after": -1}"#, "/after"),
            (#"{"provider": "facebook", "ids": ["7000"], "reason": "r"}"#, "/ids"),
            (#"{"provider": "facebook", "ids": "7000", "reason": "r", "app": "1"}"#, "/app"),
        ] {
            let reply = try await owner.send("POST", path, json)
            #expect(reply.status == 400 && reply.text.contains("document_invalid"), "\(json): \(reply.text)")
            #expect(reply.text.contains(word), "\(json): \(reply.text)")
        }
        let unknown = #"{"provider": "google", "ids": "7000", "reason": "r"}"#
        #expect(try await owner.send("POST", path, unknown).status == 404)
        #expect(try await left() == "1")
        try await deployment.database.psql("delete from shop.users where name = 'Listed 7000'")
    }

    @Test("owners alone erase lists, from a page of ours")
    func rights() async throws {
        try await people(1, from: 8000)
        let json = #"{"provider": "facebook", "ids": "8000", "reason": "r"}"#
        for role in [Role.viewer, .editor] {
            let reply = try await deployment.admin(role).send("POST", "applications/shop/erasures?confirm=shop", json)
            #expect(reply.status == 403, "\(role): \(reply.text)")
            let browser = try await deployment.browser(role)
            try await browser.open("/console/applications/shop/users")
            #expect(!browser.page.contains(Self.form))
            #expect(try await browser.open(Self.form).status == 400)
        }
        let browser = try await deployment.browser()
        try await browser.open(Self.form)
        let fields = [
            "provider": "facebook", "ids": "8000", "reason": "r", "do": "erase", "confirm": "shop",
            "form": browser.formToken ?? "",
        ]
        for headers in [[("Origin", "https://evil.example")], [("Sec-Fetch-Site", "cross-site")]] {
            #expect(try await browser.post(Self.form, fields, headers: headers).status == 400)
        }
        #expect(try await browser.post(Self.form, fields.merging(["form": "x"]) { $1 }).status == 400)
        #expect(try await left() == "1")
        #expect(try await browser.post(Self.form, fields).status == 200)
        #expect(try await left() == "0")
    }
}
