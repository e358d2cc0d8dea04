import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Imports in the console",
    .serialized,
    .deployed(
        Document(application: "shop", mapping: #"[{"from": "email", "to": "email"}, {"from": "name", "to": "name"}]"#)
    )
)
struct ConsoleImportTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let form = "/console/applications/shop/import"
    private static let route = "applications/shop/imports"

    /// Returns a file with that many users and one malformed record.
    private func file(_ count: Int, _ word: String) -> String {
        "email,name,shoe size\n" + (0..<count).map { "\(word)\($0)@example.com,\(word) \($0),42\n" }.joined()
            + "no address,Nobody,42\n"
    }

    private func count(_ word: String) async throws -> String? {
        try await deployment.value("select count(*) from shop.users where name like '\(word) %'")
    }

    @Test("a file is looked at, imported once, and its refused records are listed with their lines")
    func file() async throws {
        let browser = try await deployment.browser()
        try await browser.open("/console/applications/shop/users")
        #expect(browser.page.contains("href=\"\(Self.form)\""), "\(browser.page)")
        try await browser.open(Self.form)
        let fields = ["source": "csv", "text": file(1200, "Imported")]
        try await browser.send(formTo: Self.form, fields.merging(["do": "look"]) { $1 })
        #expect(browser.status == 200 && browser.page.contains("Nothing was written."), "\(browser.page)")
        #expect(browser.page.contains("<dd>1201</dd>") && browser.page.contains("shoe size"), "\(browser.page)")
        #expect(try await count("Imported") == "0")
        #expect(try await deployment.value("select count(*) from federation.imports") == "0")

        let last = try await deployment.lastAudited()
        try await browser.send(formTo: Self.form, fields.merging(["do": "write"]) { $1 })
        #expect(browser.status == 200 && browser.page.contains("The import is finished."), "\(browser.page)")
        #expect(try await count("Imported") == "1200")
        let audited = try await deployment.audited(behind: last).filter { $0["action"]?.string == "user.import" }
        #expect(audited.count == 2 && audited.allSatisfy { $0["actor"]?.string == "owner" }, "\(audited)")
        let listed = try await deployment.admin(.viewer).all(Self.route)
        #expect(listed.count == 1 && listed[0]["imported"]?.integer == 1200, "\(listed)")
        #expect(listed[0]["refused"]?.integer == 1 && listed[0]["finished"]?.integer != nil, "\(listed)")
        let hash = try #require(listed[0]["file"]?.string)
        try await browser.open("\(Self.form)/\(hash)")
        #expect(browser.status == 200 && browser.page.contains(">1202</td>"), "\(browser.page)")
        #expect(!browser.page.contains("no address"), "a report holds no value of a record")

        // Importing the same file again creates no user twice.
        let again = try await deployment.admin().ask(
            "POST",
            Self.route,
            JSONValue.object(["source": .string("csv"), "file": .string(file(1200, "Imported"))]).text
        )
        #expect(again["existing"]?.integer == 1200 || again["imported"]?.integer == 1200, "\(again)")
        #expect(try await count("Imported") == "1200")
    }

    @Test("identities come from a field of the file, in the notation of the command line")
    func identities() async throws {
        let text = "email,name,fbId\nlinked@example.com,Linked 1,7001\nbare@example.com,Linked 2,\n"
        let browser = try await deployment.browser()
        try await browser.open(Self.form)
        let fields = ["source": "csv", "text": text, "do": "write"]
        for wrong in ["facebook", "facebook=fbId\nfacebook=other", "facebook=fbId,app=a b"] {
            try await browser.send(formTo: Self.form, fields.merging(["identities": wrong]) { $1 })
            #expect(browser.status == 400, "\(wrong): \(browser.page)")
        }
        let twice = ["identities": "facebook=fbId,app=1234567890", "apps": "facebook=1234567890"]
        try await browser.send(formTo: Self.form, fields.merging(twice) { $1 })
        #expect(browser.status == 400 && browser.page.contains("facebook once"), "\(browser.page)")
        #expect(try await count("Linked") == "0")
        let identities = ["identities": "facebook=fbId,app=1234567890\r\n", "apps": ""]
        try await browser.send(formTo: Self.form, fields.merging(identities) { $1 })
        #expect(browser.status == 200 && browser.page.contains("<h3>Identities</h3>"), "\(browser.page)")
        let owners = try await deployment.database.psql(
            "select u.email, i.provider_app from shop.identities i join shop.users u using (object_id) where subject = '7001'"
        )
        #expect(owners == [["linked@example.com", "1234567890"]])
    }

    @Test("an import that stopped is an error unless the form says what becomes of it")
    func former() async throws {
        let text = file(3, "Stopped")
        let json = JSONValue.object(["source": .string("csv"), "file": .string(text)]).text
        let owner = try await deployment.admin()
        try await owner.ask("POST", Self.route, json)
        try await deployment.database.psql("update federation.imports set finished = null where records = 4")
        try expectProblem(try await owner.send("POST", Self.route, json), "conflict")
        let browser = try await deployment.browser()
        try await browser.open(Self.form)
        #expect(browser.page.contains("not finished"), "\(browser.page)")
        let fields = ["source": "csv", "text": text, "do": "write"]
        try await browser.send(formTo: Self.form, fields)
        #expect(browser.status == 409, "\(browser.page)")
        try await browser.send(formTo: Self.form, fields.merging(["former": "resume"]) { $1 })
        #expect(browser.status == 200 && browser.page.contains("The import is finished."), "\(browser.page)")
        #expect(try await count("Stopped") == "3")
    }

    @Test("a viewer compares a file, and reads all findings and all refusals of a dry run page by page")
    func comparison() async throws {
        let json = JSONValue.object(["source": .string("csv"), "file": .string(file(250, "Compared"))]).text
        let viewer = try await deployment.admin(.viewer)
        let first = try await viewer.ask("POST", "applications/shop/importChecks", json)
        #expect(first["records"]?.integer == 251 && first["missing"]?.integer == 250, "\(first)")
        #expect(first["refused"]?.integer == 1 && first["droppedValues"]?.integer == 250, "\(first)")
        #expect(first["findings"]?.array?.count == 200 && first["next"]?.string == "200", "\(first)")
        let rest = try await viewer.ask("POST", "applications/shop/importChecks?cursor=200", json)
        #expect(rest["findings"]?.array?.count == 51 && rest["next"]?.isNull == true, "\(rest)")
        #expect(rest["findings"]?.array?.last?.object?["reason"]?.string == "emailInvalid", "\(rest)")
        let wrong = try await viewer.send("POST", "applications/shop/importChecks?cursor=x", json)
        #expect(wrong.status == 400, "\(wrong.text)")
        #expect(try await count("Compared") == "0")

        let bad = "email\n" + String(repeating: "no address\n", count: 201)
        let dry = JSONValue.object(["source": .string("csv"), "file": .string(bad)]).text
        let owner = try await deployment.admin()
        let page = try await owner.ask("POST", Self.route + "?dryRun=true", dry)
        #expect(page["refusals"]?.array?.count == 200 && page["next"]?.string == "200", "\(page)")
        let end = try await owner.ask("POST", Self.route + "?dryRun=true&cursor=200", dry)
        #expect(end["refusals"]?.array?.first?.object?["record"]?.integer == 201, "\(end)")
        #expect(end["next"]?.isNull == true, "\(end)")
    }

    @Test("what cannot be read is refused by name, and nothing is written")
    func misfits() async throws {
        let owner = try await deployment.admin()
        for (json, word) in [
            (#"{"source": "other", "file": ""}"#, "/source"), (#"{"source": "csv"}"#, "/file"),
            (#"{"source": "firebase", "file": "{}"}"#, "/hashConfig"),
            (#"{"source": "csv", "file": "email\n", "hashConfig": "x"}"#, "/hashConfig"),
            (#"{"source": "csv", "file": "email\n", "hashConfig": {}}"#, "/hashConfig"),
            (#"{"source": "firebase", "file": "{}", "hashConfig": "rounds: 8"}"#, "base64_signer_key"),
            (#"{"source": "csv", "file": "email\n", "former": "later"}"#, "/former"),
            (#"{"source": "csv", "file": "email\n", "apps": {"facebook": 1}}"#, "/apps/facebook"),
            (#"{"source": "csv", "file": "email\n", "columns": {"nothing": "x"}}"#, "/columns/nothing"),
            (#"{"source": "csv", "file": "email\n", "batch": 1}"#, "/batch"),
        ] {
            let reply = try await owner.send("POST", Self.route, json)
            #expect(reply.status == 400 && reply.text.contains("document_invalid"), "\(json): \(reply.text)")
            #expect(reply.text.contains(word), "\(json): \(reply.text)")
        }
        let large = JSONValue.object([
            "source": .string("csv"), "file": .string(String(repeating: "x", count: 4_200_000)),
        ]).text
        #expect(try await owner.send("POST", Self.route, large).status == 413)
    }

    @Test("owners alone import, from a page of ours")
    func rights() async throws {
        let json = #"{"source": "csv", "file": "email,name\nright@example.com,Right 1\n"}"#
        for role in [Role.viewer, .editor] {
            let reply = try await deployment.admin(role).send("POST", Self.route, json)
            #expect(reply.status == 403, "\(role): \(reply.text)")
            let browser = try await deployment.browser(role)
            try await browser.open(Self.form)
            #expect(browser.status == 200 && PageForms.form(to: Self.form, in: browser.page) == nil, "\(browser.page)")
        }
        let browser = try await deployment.browser()
        try await browser.open(Self.form)
        let fields = [
            "source": "csv", "text": "email,name\nright@example.com,Right 1\n", "do": "write",
            "form": browser.formToken ?? "",
        ]
        for headers in [[("Origin", "https://evil.example")], [("Sec-Fetch-Site", "cross-site")]] {
            #expect(try await browser.post(Self.form, fields, headers: headers).status == 400)
        }
        #expect(try await browser.post(Self.form, fields.merging(["form": "x"]) { $1 }).status == 400)
        #expect(try await count("Right") == "0")
        #expect(try await browser.post(Self.form, fields).status == 200)
        #expect(try await count("Right") == "1")
    }
}
