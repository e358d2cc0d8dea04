import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "People in the console",
    .serialized,
    .deployed(
        Document(
            application: "shop",
            settings: #"{"roles": ["Editor", "Guide"], "registration": {"confirmEmail": true}}"#,
            properties: """
                {"city": {"type": "STRING", "indexed": true}, "notes": {"type": "TEXT"}, "age": {"type": "INT"},
                 "height": {"type": "DOUBLE"}, "vip": {"type": "BOOLEAN"}, "birthday": {"type": "DATE"},
                 "seen": {"type": "DATETIME"}, "extra": {"type": "JSON"}}
                """,
            mapping: #"[{"from": "email", "to": "email"}, {"from": "name", "to": "name"}]"#
        ),
        environment: mails.environment
    )
)
struct ConsolePeopleTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let people = "/console/applications/shop/users"

    private func person(_ name: String) async throws -> LoginResult {
        let email = "\(UUID().uuidString.lowercased())@example.com"
        return try await deployment.loggedIn(
            deployment.newcomer(#"{"email": "\#(email)", "name": \#(JSONValue.string(name).text)}"#)
        )
    }

    private func stored(_ column: String, of person: LoginResult) async throws -> String? {
        try await deployment.value("select \(column) from shop.users where object_id = '\(person.objectID)'")
    }

    // MARK: Merging

    @Test("an owner compares two users, chooses whose value stays, merges them, and undoes it")
    func merging() async throws {
        let (kept, other) = (try await person("Kept <b>"), try await person("Other"))
        try await deployment.database.psql(
            """
            update shop.users set city = case object_id when '\(kept.objectID)' then 'Bern' else 'Chur' end, age = case
                object_id when '\(other.objectID)' then 42 end
            where object_id in ('\(kept.objectID)', '\(other.objectID)')
            """
        )
        let path = "\(Self.people)/\(kept.objectID)/merge"
        let editor = try await deployment.browser(.editor)
        try await editor.open("\(Self.people)/\(kept.objectID)")
        #expect(!editor.page.contains(path))
        try await editor.open(path)
        #expect(editor.status == 400 && editor.page.contains("needs the role owner"), "\(editor.page)")

        let browser = try await deployment.browser()
        try await browser.open("\(Self.people)/\(kept.objectID)")
        #expect(browser.page.contains("href=\"\(path)\""), "\(browser.page)")
        for (nobody, status) in [("x", 400), (UUID().uuidString, 404), (kept.objectID, 400)] {
            try await browser.open("\(path)?other=\(nobody)")
            #expect(browser.status == status && !browser.page.contains("Which stays"), "\(nobody)")
        }
        try await browser.open("\(path)?other=%20\(other.objectID)")
        #expect(browser.page.contains("Kept &lt;b&gt;") && browser.page.contains("Which stays: age"))
        let token = try #require(browser.formToken)
        func merge(confirmedBy confirmation: String) async throws {
            let choices = [("name", "merged"), ("city", "survivor"), ("age", "merged"), ("email", "survivor")]
            try await browser.post(
                path,
                pairs: [
                    ("form", token), ("tag", browser.tag), ("other", other.objectID), ("reason", "one human"),
                    ("confirm", confirmation),
                ] + choices.flatMap { [("property", $0.0), ("rule-\($0.0)", $0.1)] }
            )
        }
        try await merge(confirmedBy: "yes")
        #expect(browser.status == 400 && browser.page.contains("to confirm"))
        #expect(browser.page.contains("value=\"one human\""), "what was typed stays")
        #expect(try await stored("name", of: other) == "Other")
        try await merge(confirmedBy: other.objectID)
        #expect(browser.page.contains("is a part of this one now"), "\(browser.page)")
        #expect(try await stored("name", of: kept) == "Other")
        #expect(try await stored("city", of: kept) == "Bern")
        #expect(try await stored("age", of: kept) == "42")
        #expect(try await stored("name", of: other) == nil)

        try await browser.open(path)
        #expect(browser.page.contains(other.objectID) && browser.page.contains("Undo the merge"))
        let undo = [("form", token), ("other", other.objectID), ("do", "undo")]
        try await browser.post(path, pairs: undo)
        #expect(browser.status == 400 && browser.page.contains("reason must say why"), "\(browser.page)")
        try await browser.post(path, pairs: undo + [("reason", "two humans")])
        #expect(browser.page.contains("This user exists again"), "\(browser.page)")
        #expect(try await stored("name", of: other) == "Other")
        #expect(try await stored("name", of: kept) == "Kept <b>")
    }

    // MARK: Duplicates

    @Test("a viewer lists users with equal values, group by group, and every user stands in the own group alone")
    func duplicates() async throws {
        let path = "/console/applications/shop/duplicates"
        var ids: [String] = []
        for (name, city) in [
            ("Twin <b>", "Bern"), ("twin <B>", "bern"), ("Twin <b>", "Basel"), ("Lone", "Bern"), ("Duo", "Chur"),
            ("duo", "Chur"),
        ] {
            let user = try await person(name)
            ids.append(user.objectID)
            try await deployment.database.psql(
                "update shop.users set city = '\(city)' where object_id = '\(user.objectID)'"
            )
        }
        let browser = try await deployment.browser(.viewer)
        try await browser.open(Self.people)
        #expect(browser.page.contains("href=\"\(path)\"") && !browser.page.contains("new-user"), "\(browser.page)")
        // Nothing is searched before the operator asks.
        let last = try await deployment.lastAudited()
        try await browser.open(path)
        #expect(browser.status == 200 && !browser.page.contains("<h2>"), "\(browser.page)")
        #expect(try await deployment.audited(behind: last).isEmpty)
        try await browser.open(path + "?property1=name&property2=&property3=city&property4=name")
        #expect(try await deployment.audited(behind: last).compactMap { $0["action"]?.string } == ["user.search"])
        #expect(browser.page.contains("name: <bdi>twin &lt;b&gt;</bdi>, city: <bdi>bern</bdi>"), "\(browser.page)")
        // The part of the page from each heading to the next one has the users of that group, and no others.
        let parts = browser.page.components(separatedBy: "<h2>").dropFirst()
        let groups = parts.map { part in ids.indices.filter { part.contains("users/\(ids[$0])\"") } }
        #expect(Set(groups.filter { !$0.isEmpty }) == [[0, 1], [4, 5]], "\(groups)")
        try await browser.open(path + "?property1=name")
        let byName = browser.page.components(separatedBy: "<h2>").dropFirst()
        #expect(byName.contains { part in ids[..<3].allSatisfy { part.contains($0) } && !part.contains(ids[3]) })
        try await browser.open(path + "?property1=nothing")
        #expect(browser.status == 400, "\(browser.page)")
        try await browser.open(path + "?property1=birthday")
        #expect(browser.page.contains("No users have the same values"), "\(browser.page)")
    }

    // MARK: Properties

    @Test("each property is written by its type, and what was not typed over stays as it is to the last digit")
    func properties() async throws {
        let ann = try await person("Ann")
        try await deployment.database.psql(
            """
            update shop.users set seen = '2026-01-02T03:04:05.678901Z', notes = E'one\\r\\ntwo', age = 9007199254740993
            where object_id = '\(ann.objectID)'
            """
        )
        let browser = try await deployment.browser(.editor)
        let path = "\(Self.people)/\(ann.objectID)/properties"
        try await browser.open(path)
        #expect(browser.page.contains("2026-01-02T03:04:05.678Z") && !browser.page.contains("property-email"))
        try await browser.send(
            formTo: path,
            [
                "property-city": "Zürich <b>", "property-height": "1.75", "property-vip": "true",
                "property-birthday": "1990-05-17", "property-extra": #"{"a": [1, null]}"#, "property-name": "Ann",
                "property-notes": "one\r\ntwo", "property-age": "9007199254740993",
                "property-seen": "2026-01-02T03:04:05.678Z",
            ]
        )
        #expect(browser.status == 200 && browser.page.contains("Zürich &lt;b&gt;"), "\(browser.page)")
        #expect(try await stored("city", of: ann) == "Zürich <b>")
        #expect(try await stored("vip", of: ann) == "t")
        #expect(try await stored("birthday", of: ann) == "1990-05-17")
        #expect(try await stored("height", of: ann) == "1.75")
        #expect(try await stored("extra", of: ann) == #"{"a": [1, null]}"#)
        #expect(try await stored("to_char(seen at time zone 'UTC', 'US')", of: ann) == "678901")
        #expect(try await stored("length(notes)", of: ann) == "8")
        #expect(try await stored("age", of: ann) == "9007199254740993")
        try await browser.open(path)
        try await browser.send(formTo: path, ["property-city": "", "property-vip": ""])
        #expect(try await stored("coalesce(city, vip::text, 'none')", of: ann) == "none")
        let audited = try await deployment.admin().all("audit?application=shop&action=user.update")
        #expect(audited.first?["to"]?.object?["properties"] == .array([.string("city"), .string("vip")]), "\(audited)")
    }

    @Test("what does not fit is told at its field, with what was typed, and nothing is saved")
    func misfits() async throws {
        let ann = try await person("Ann Misfit")
        let browser = try await deployment.browser(.editor)
        let path = "\(Self.people)/\(ann.objectID)/properties"
        try await browser.open(path)
        let script = "<script>alert(1)</script>"
        try await browser.send(
            formTo: path,
            ["property-city": "Bern", "property-age": script, "property-birthday": "yesterday"]
        )
        #expect(browser.status == 400, "\(browser.page)")
        #expect(
            browser.page.contains("id=\"property-age-problem\"") && browser.page.contains("property-birthday-problem")
        )
        #expect(browser.page.contains("value=\"Bern\"") && browser.page.contains("&lt;script&gt;alert"))
        #expect(!browser.page.contains(script) && !browser.page.contains("property-city-problem"))
        try await browser.send(formTo: path, ["property-city": "Bern", "property-extra": "{"])
        #expect(browser.status == 400 && browser.page.contains("id=\"property-extra-problem\""), "\(browser.page)")
        #expect(try await stored("coalesce(city, 'none')", of: ann) == "none")
    }

    @Test("two who edit a person at once lose nothing: the second sees what the first has changed")
    func contest() async throws {
        let ann = try await person("Ann Contested")
        let (first, second) = (try await deployment.browser(.editor), try await deployment.browser(.owner))
        let path = "\(Self.people)/\(ann.objectID)/properties"
        try await first.open(path)
        try await second.open(path)
        try await first.send(formTo: path, ["property-city": "Bern", "property-age": "41"])
        try await second.send(formTo: path, ["property-city": "Basel", "property-height": "1.5"])
        #expect(second.status == 412 && second.page.contains("Current value: <bdi>Bern</bdi>"), "\(second.page)")
        #expect(second.page.contains("value=\"Basel\"") && second.page.contains("value=\"41\""))
        try await second.send(
            formTo: path,
            ["property-city": "Basel", "property-height": "1.5", "property-age": "41"]
        )
        #expect(second.status == 200, "\(second.page)")
        #expect(try await stored("concat_ws('|', city, age, height)", of: ann) == "Basel|41|1.5")
    }

    @Test("the address and what people log in by cannot be written there, nor what is no property")
    func accountProperties() async throws {
        let ann = try await person("Ann Address")
        let editor = try await deployment.admin(.editor)
        let path = "applications/shop/users/\(ann.objectID)/properties"
        for patch in [#"{"email": "thief@example.com"}"#, #"{"objectId": "x"}"#, #"{"nothing": 1}"#, "[]"] {
            let reply = try await editor.send("PATCH", path, patch)
            #expect(reply.status == 400 && reply.text.contains("document_invalid"), "\(patch): \(reply.text)")
        }
        #expect(try await editor.send("PATCH", path, #"{"city": "Bern"}"#, ifMatch: nil).status == 428)
        #expect(try await editor.send("PATCH", path, #"{"city": "Bern"}"#, ifMatch: "\"x\"").status == 412)
        #expect(try await stored("email", of: ann) == ann.user["email"]?.string)
    }

    // MARK: Logins, identities, roles and mails of a user

    @Test("logins are listed with the way to the log; an identity goes, but not the only login method")
    func history() async throws {
        let ann = try await person("Ann History")
        let browser = try await deployment.browser()
        let path = "\(Self.people)/\(ann.objectID)"
        try await eventually("the login is there") {
            try await browser.open(path)
            return browser.page.contains("<span class=\"tag created\">new user</span>")
        }
        #expect(browser.page.contains("href=\"/console/logins?application=shop&amp;user=\(ann.objectID)\""))
        let subject = try #require(
            try await deployment.value("select subject from shop.identities where object_id = '\(ann.objectID)'")
        )
        let unlink = ["do": "unlink", "provider": "facebook", "appId": "1234567890", "subject": subject]
        try await browser.send(formTo: path, unlink)
        #expect(browser.status == 409 && browser.page.contains("only login method"), "\(browser.page)")
        try await deployment.database.psql(
            """
            insert into shop.identities (provider, provider_app, subject, object_id)
            values ('facebook', '999', '\(subject)', '\(ann.objectID)')
            """
        )
        try await browser.open(path)
        try await browser.send(formTo: path, unlink)
        #expect(browser.status == 200, "\(browser.page)")
        let left = "select string_agg(provider_app, ' ') from shop.identities where object_id = '\(ann.objectID)'"
        #expect(try await deployment.value(left) == "999")
    }

    @Test("roles are given and taken by owners alone, those of the application and no others")
    func roles() async throws {
        let ann = try await person("Ann Roles")
        let browser = try await deployment.browser()
        let path = "\(Self.people)/\(ann.objectID)"
        try await browser.open(path)
        try await browser.send(formTo: path, ["do": "giveRole", "what": "Guide"])
        #expect(browser.status == 200, "\(browser.page)")
        let roles = "select string_agg(role, ' ') from shop.user_roles where object_id = '\(ann.objectID)'"
        #expect(try await deployment.value(roles) == "Guide")
        for role in ["Nobody", "AuthenticatedUser"] {
            try await browser.send(formTo: path, ["do": "giveRole", "what": role])
            #expect((400...499).contains(browser.status ?? 0), "\(role)")
        }
        try await browser.open(path)
        try await browser.send(formTo: path, ["do": "takeRole", "what": "Guide"])
        #expect(try await deployment.value(roles) == nil)
        let editor = try await deployment.admin(.editor)
        #expect(try await editor.send("PUT", "applications/shop/users/\(ann.objectID)/roles/Guide").status == 403)
    }

    @Test("a link is mailed to whom it is for: by a password, to the own address, and not without end")
    func mail() async throws {
        let email = "\(UUID().uuidString.lowercased())@example.com"
        let user = try await deployment.register(email)
        _ = try await mails.next(to: email)
        let browser = try await deployment.browser(.editor)
        let path = "\(Self.people)/\(user["objectId"]?.string ?? "")"
        try await browser.open(path)
        try await browser.send(formTo: path, ["do": "mail", "what": "emailConfirmation"])
        #expect(browser.page.contains("The mail is queued"), "\(browser.page)")
        #expect(try await mails.next(to: email).contains("https://users.example.com/shop/confirm-email?token="))
        try await browser.send(formTo: path, ["do": "mail", "what": "passwordReset"])
        #expect(try await mails.next(to: email).contains("https://users.example.com/shop/reset-password?token="))
        #expect(try await deployment.admin().all("audit?application=shop&action=user.mail").count == 2)
        var statuses: [Int?] = []
        for _ in 0..<12 {
            try await browser.open(path)
            try await browser.send(formTo: path, ["do": "mail", "what": "passwordReset"])
            statuses.append(browser.status)
        }
        #expect(statuses.contains(429), "\(statuses)")
        let ann = try await person("Ann Mailed")
        let other = "\(Self.people)/\(ann.objectID)"
        try await browser.open(other)
        try await browser.post(other, ["do": "mail", "what": "passwordReset", "form": browser.formToken ?? ""])
        #expect(browser.status == 409, "a provider's word for an address opens nothing: \(browser.page)")
    }

    // MARK: The list

    @Test("pages stay put while people come in, and are found by an indexed property")
    func paging() async throws {
        try await deployment.database.psql(
            """
            insert into shop.users (object_id, name, city)
            select ('00000000-0000-4000-8000-' || lpad(to_hex(2 * n), 12, '0'))::uuid, 'Paged ' || n, 'Paging'
            from generate_series(1, 60) n
            """
        )
        let browser = try await deployment.browser(.viewer)
        let path = "\(Self.people)?by=property.city&q=Paging"
        try await browser.open(path)
        #expect(browser.page.contains("<bdi>Paged 50</bdi>") && !browser.page.contains("<bdi>Paged 51</bdi>"))
        #expect(!browser.page.contains("type=\"checkbox\""), "a viewer chooses nobody")
        let next = try #require(browser.page.split(separator: "rel=\"next\" href=\"").last?.prefix { $0 != "\"" })
        try await deployment.database.psql(
            """
            insert into shop.users (object_id, name, city)
            select ('00000000-0000-4000-8000-' || lpad(to_hex(2 * n + 1), 12, '0'))::uuid, 'Late ' || n, 'Paging'
            from generate_series(1, 49) n
            """
        )
        try await browser.open(String(next).replacing("&amp;", with: "&"))
        #expect(browser.page.contains("<bdi>Paged 51</bdi>") && browser.page.contains("<bdi>Paged 60</bdi>"))
        #expect(!browser.page.contains("<bdi>Paged 50</bdi>") && !browser.page.contains("<bdi>Late 1</bdi>"))
        #expect(browser.page.contains("First page"))
        try await deployment.database.psql("delete from shop.users where city = 'Paging'")
    }

    @Test("people are narrowed down by status and by how they log in, beside what they are searched by")
    func filters() async throws {
        let (on, off) = (try await person("Filtered On"), try await person("Filtered Off"))
        try await deployment.database.psql(
            "update shop.users set user_status = 'DISABLED' where object_id = '\(off.objectID)'"
        )
        let browser = try await deployment.browser(.viewer)
        for (filter, expected) in [
            ("status=DISABLED", [off]), ("status=ENABLED&provider=facebook", [on]), ("provider=password", []),
            ("status=", [on, off]), ("status=GUEST", []),
        ] {
            try await browser.open("\(Self.people)?by=name&q=filtered&\(filter)")
            for person in [on, off] {
                let isExpected = expected.contains { $0.objectID == person.objectID }
                #expect(browser.page.contains(person.objectID) == isExpected, "\(filter): \(browser.page)")
            }
        }
        try await browser.open("\(Self.people)?status=DISABLED")
        #expect(browser.page.contains("<option value=\"DISABLED\" selected>disabled</option>"), "\(browser.page)")
        try await browser.open("\(Self.people)?status=x")
        #expect(browser.status == 400 && browser.page.contains("status must be one of"), "\(browser.page)")
    }

    @Test("what is done to those who are chosen is done to each, and said of each")
    func many() async throws {
        let (ann, bob) = (try await person("Ann Many"), try await person("Bob Many"))
        let nobody = UUID().uuidString
        let browser = try await deployment.browser()
        try await browser.open("\(Self.people)?by=name&q=Many")
        let form = browser.formToken ?? ""
        func treat(_ people: [String], _ action: String, _ more: [(String, String)] = []) async throws {
            let chosen = people.map { ("user", $0) }
            try await browser.post(Self.people, pairs: chosen + [("do", action), ("form", form)] + more)
        }
        try await treat([ann.objectID, nobody, bob.objectID], "disable")
        #expect(browser.status == 200, "\(browser.page)")
        #expect(browser.page.split(separator: "tag done").count == 3 && browser.page.contains("tag refused"))
        #expect(try await stored("user_status", of: ann) == "DISABLED")
        #expect(try await stored("user_status", of: bob) == "DISABLED")
        try await treat([ann.objectID], "enable")
        #expect(try await stored("user_status", of: ann) == "ENABLED")
        try await treat([ann.objectID, nobody], "export")
        let lines = browser.page.split(separator: "\n").compactMap { JSON.object(String($0)) }
        #expect(browser.reply?.header("Content-Disposition")?.contains("users.jsonl") == true)
        #expect(lines.count == 2 && lines[0]["user"]?.object?["objectId"]?.string == ann.objectID, "\(lines)")
        #expect(lines.last?["failure"]?.string != nil && lines.last?["objectId"]?.string == nobody)
        for word in [[], [("confirm", "")], [("confirm", "yes")]] as [[(String, String)]] {
            try await treat([ann.objectID], "erase", word)
            #expect(browser.status == 400, "\(browser.page)")
        }
        #expect(try await stored("count(*)", of: ann) == "1")
        try await treat([ann.objectID, bob.objectID], "erase", [("confirm", "shop")])
        #expect(try await stored("count(*)", of: ann) == "0")
        #expect(try await stored("count(*)", of: bob) == "0")
        for (people, action) in [([], "disable"), ([ann.objectID], "everything")] {
            try await treat(people, action)
            #expect(browser.status == 400)
        }
    }

    @Test("nobody does more to many than to one, and no other page does anything")
    func refusals() async throws {
        let ann = try await person("Ann <img src=x>")
        for (role, action) in [(Role.viewer, "disable"), (.viewer, "export"), (.editor, "erase")] {
            let browser = try await deployment.browser(role)
            try await browser.open(Self.people)
            let fields = ["user": ann.objectID, "do": action, "confirm": "shop", "form": browser.formToken ?? ""]
            try await browser.post(Self.people, fields)
            #expect(browser.page.contains(action == "export" ? "role=\"alert\"" : "tag refused"), "\(role) \(action)")
            let path = "\(Self.people)/\(ann.objectID)"
            try await browser.post(path, ["do": "giveRole", "what": "Guide", "form": browser.formToken ?? ""])
            #expect(browser.status == 403 || browser.status == 400, "\(role): \(browser.page)")
        }
        let browser = try await deployment.browser()
        try await browser.open("\(Self.people)?by=objectId&q=\(ann.objectID)")
        #expect(browser.page.contains("aria-label=\"Select Ann &lt;img src=x&gt;\"") && !browser.page.contains("<img"))
        let fields = ["user": ann.objectID, "do": "disable", "form": browser.formToken ?? ""]
        for headers in [[("Origin", "https://evil.example")], [("Sec-Fetch-Site", "cross-site")]] {
            #expect(try await browser.post(Self.people, fields, headers: headers).status == 400)
        }
        #expect(try await browser.post(Self.people, fields.merging(["form": "x"]) { $1 }).status == 400)
        #expect(try await stored("user_status", of: ann) == "ENABLED")
        let viewer = try await deployment.browser(.viewer)
        for path in ["\(Self.people)/\(ann.objectID)", "\(Self.people)/\(ann.objectID)/properties"] {
            try await viewer.open(path)
            let main = viewer.page.split(separator: "<main").last ?? ""
            #expect(viewer.status == 200 && !main.contains("<button"), "\(path): \(main)")
        }
    }
}
