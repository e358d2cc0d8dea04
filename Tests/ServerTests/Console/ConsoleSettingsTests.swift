import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The console's forms for an application",
    // The tests change one application, and are warned of each other's changes as operators are.
    .serialized,
    .deployed(
        Document(
            application: "shop",
            properties: """
                {"city": {"type": "STRING", "clientMappable": true}, "age": {"type": "INT"}, "flag": {"type": "BOOLEAN"},
                 "facts": {"type": "JSON"}, "nick": {"type": "STRING"}}
                """,
            mapping: #"[{"from": "email", "to": "email"}, {"from": "name", "to": "name"}]"#
        )
    )
)
struct ConsoleSettingsTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let shop = "/console/applications/shop"
    private static let mapping = shop + "/mappings/facebook"

    private func settings() async throws -> JSONObject {
        let application = try await deployment.admin().get("applications/shop")
        return try #require(application["settings"]?.object)
    }

    // MARK: Settings

    @Test("a subject is saved as it is typed, and nothing else of the settings changes")
    func subject() async throws {
        let browser = try await deployment.browser()
        let before = try await settings()
        try await browser.open(Self.shop + "/settings?subject=passwords")
        let meaning = "Minimum number of characters of a new password."
        #expect(browser.page.contains(meaning), "the meaning stands beside it: \(browser.page)")
        let typed = ["passwords.minLength": "14", "registration.confirmEmail": "true"]
        try await browser.send(formTo: Self.shop + "/settings", typed)
        #expect(browser.status == 200 && browser.page.contains("role=\"status\">Saved.</p>"), "\(browser.page)")
        let after = try await settings()
        #expect(after["passwords"]?.object?["minLength"]?.integer == 14)
        #expect(after["registration"]?.object?["confirmEmail"]?.bool == true)
        #expect(after["registration"]?.object?["enabled"]?.bool == true, "a ticked box stays ticked")
        for member in before.members where !["passwords", "registration"].contains(member.key) {
            #expect(after[member.key] == member.value, "\(member.key)")
        }
        try await browser.send(formTo: Self.shop + "/settings", ["registration.confirmEmail": nil])
        #expect(try await settings()["registration"]?.object?["confirmEmail"]?.bool == false)
        try await browser.send(formTo: Self.shop + "/settings", ["passwords.minLength": ""])
        #expect(try await settings()["passwords"]?.object?["minLength"]?.integer == 15, "empty is the default")
    }

    @Test("a preset fills a new provider and has its steps, also after a refusal")
    func preset() async throws {
        let browser = try await deployment.browser()
        let path = Self.shop + "/providers/google"
        try await browser.open(path + "?kind=oidc&preset=google")
        let step = "<details open><summary>Set up Google</summary><ol><li>"
        #expect(browser.page.contains(step), "\(browser.page)")
        try await browser.send(formTo: path, ["issuer": "ftp://x"])
        #expect(browser.status == 422 || browser.status == 400, "\(browser.status)")
        #expect(browser.page.contains(step), "\(browser.page)")
        #expect(browser.page.contains("value=\"google\""))
    }

    @Test("lists are typed line by line, and what is wrong is told at its field, with what was typed")
    func lists() async throws {
        let browser = try await deployment.browser()
        try await browser.open(Self.shop + "/settings?subject=clients")
        let typed = ["allowedOrigins": "https://a.example\r\n\r\n  https://b.example  \r\n", "offsetlessTimes": "utc"]
        try await browser.send(formTo: Self.shop + "/settings", typed)
        let origins = try await settings()["allowedOrigins"]?.array?.compactMap(\.string)
        #expect(origins == ["https://a.example", "https://b.example"], "\(browser.page)")
        let wrong = "not an origin <script>"
        try await browser.send(formTo: Self.shop + "/settings", ["allowedOrigins": wrong, "offsetlessTimes": "refuse"])
        #expect((400...499).contains(browser.status ?? 0))
        #expect(browser.page.contains("aria-invalid=\"true\"") && browser.page.contains("not an origin &lt;script&gt;"))
        #expect(try await settings()["offsetlessTimes"]?.string == "utc", "nothing of it is saved")
        try await browser.send(formTo: Self.shop + "/settings", ["allowedOrigins": "[\"https://c.example\"]"])
        #expect((400...499).contains(browser.status ?? 0), "no line is JSON")
        try await browser.open(Self.shop + "/settings?subject=sessions")
        let rules = [
            "a week": "write a number and a unit, such as 12 hours or 7 days",
            "1 second": "must be 1 minute to 366 days",
            "60 days": "must not be longer than &quot;Maximum lifetime&quot;",
        ]
        for (time, rule) in rules {
            let number = ["sessionIdleSeconds": time, "multipleLogins": "true"]
            try await browser.send(formTo: Self.shop + "/settings", number)
            #expect((400...499).contains(browser.status ?? 0) && browser.page.contains("value=\"\(time)\""))
            let alert = "<p><a href=\"#field-sessionIdleSeconds\">Idle timeout</a>: \(rule)</p>"
            #expect(browser.page.contains(alert) && !browser.page.contains("/settings/session"), "\(browser.page)")
        }
    }

    @Test("every setting of the schema is on one of the subjects' pages")
    func complete() async throws {
        let browser = try await deployment.browser(.viewer)
        var pages = ""
        try await browser.open(Self.shop + "/settings")
        let links = browser.page.split(separator: "\"").filter { $0.contains("settings?subject=") }
        for link in Set(links) { pages += try await browser.open(String(link)).text }
        func names(_ value: JSONObject, below path: String) -> [String] {
            value.members.flatMap { member in
                member.value.object.map { names($0, below: path + member.key + ".") } ?? [path + member.key]
            }
        }
        for name in names(try await settings(), below: "") {
            #expect(pages.contains("name=\"\(name)\""), "\(name)")
        }
        #expect(!browser.page.contains("<button class=\"primary\""), "a viewer saves nothing")
    }

    @Test("who began before somebody else saved is told what is there now, and reverts nothing that they did not touch")
    func outdated() async throws {
        let (first, second) = (try await deployment.browser(), try await deployment.browser())
        let path = Self.shop + "/settings"
        for browser in [first, second] { try await browser.open(path + "?subject=passwords") }
        let theirs = ["lockout.failures": "50", "lockout.seconds": "30 minutes", "registration.enabled": nil]
        try await first.send(formTo: path, theirs)
        try await second.send(formTo: path, ["lockout.failures": "70", "allowAccountEnumeration": "true"])
        #expect(second.status == 412 && second.page.contains("Current value: 50."), "\(second.page)")
        #expect(second.page.contains("value=\"70\"") && !second.page.contains("Current value: 30 minutes."))
        #expect(try await settings()["lockout"]?.object?["failures"]?.integer == 50)
        try await second.send(formTo: path)
        let after = try await settings()
        #expect(after["lockout"]?.object?["failures"]?.integer == 70 && after["allowAccountEnumeration"]?.bool == true)
        #expect(after["lockout"]?.object?["seconds"]?.integer == 1800, "what was not touched is as it was changed")
        #expect(after["registration"]?.object?["enabled"]?.bool == false)
        try await second.send(formTo: path, ["registration.enabled": "true"])
    }

    @Test("an app that somebody else adds meanwhile stays, and a tick to remove one does as well")
    func apps() async throws {
        let path = Self.shop + "/providers/facebook"
        let (first, second) = (try await deployment.browser(), try await deployment.browser())
        func apps() async throws -> [String] {
            let provider = try await deployment.admin().get("applications/shop/providers/facebook")
            return (provider["apps"]?.array ?? []).compactMap { $0.object?["appId"]?.string }
        }
        let stored = try await apps()
        let row = "app-\(stored.count)"
        for browser in [first, second] { try await browser.open(path) }
        try await first.send(formTo: path, ["\(row)-appId": "555", "\(row)-appSecret": "secretOfTheFirst"])
        try await second.send(formTo: path, ["\(row)-appId": "666", "\(row)-appSecret": "secretOfTheSecond"])
        #expect(second.status == 412, "\(second.page)")
        let next = "app-\(stored.count + 1)"
        #expect(PageForms.fields(in: second.page[...])["\(next)-appId"] == "666", "\(second.page)")
        try await second.send(formTo: path, ["\(next)-appSecret": "secretOfTheSecond"])
        #expect(try await apps() == stored + ["555", "666"])
        try await second.send(
            formTo: path,
            ["\(row)-remove": "yes", "\(next)-remove": "yes", "graphVersion": "no version"]
        )
        #expect((400...499).contains(second.status ?? 0))
        try await second.send(formTo: path, ["graphVersion": "v25.0"])
        #expect(try await apps() == stored, "\(second.page)")
    }

    @Test("a provider that is set up by its form is on, and asks for what it usually asks for")
    func usual() async throws {
        let browser = try await deployment.browser()
        try await browser.open("/console/applications")
        try await browser.send(formTo: "/console/applications", ["application": "usual", "name": "Usual"])
        let path = "/console/applications/usual/providers/facebook"
        try await browser.open(path)
        try await browser.send(formTo: path, ["app-0-appId": "777", "app-0-appSecret": "aSecretOfAnApp"])
        #expect(browser.status == 200, "\(browser.page)")
        let provider = try await deployment.admin().get("applications/usual/providers/facebook")
        #expect(provider["enabled"]?.bool == true)
        #expect(provider["permissions"]?.array?.compactMap(\.string) == ["public_profile", "email"])
    }

    // MARK: Providers, keys, properties

    @Test("an app comes with its secret, which no page shows; without one the stored one stays, and an app goes")
    func provider() async throws {
        let browser = try await deployment.browser()
        let path = Self.shop + "/providers/facebook"
        let before = try await deployment.admin().get("applications/shop/providers/facebook")
        let apps = try #require(before["apps"]?.array)
        try await browser.open(path)
        let secret = "thisIsTheSecretOfTheNewApp"
        let row = "app-\(apps.count)"
        try await browser.send(formTo: path, ["\(row)-appId": "987654321", "\(row)-appSecret": secret])
        #expect(browser.status == 200 && browser.page.contains("987654321"), "\(browser.page)")
        #expect(browser.page.contains("refused\">error<"), "what was saved is tried at once: \(browser.page)")
        #expect(!browser.page.contains(secret))
        let after = try await deployment.admin().get("applications/shop/providers/facebook")["apps"]?.array
        #expect(after?.count == apps.count + 1)
        #expect(after?.first == apps.first, "the app that was there is as it was")
        #expect(!browser.page.contains("Check with"), "no button beside the form checks the stored secret")
        let editor = try await deployment.browser(.editor)
        try await editor.open(path)
        try await editor.send(formTo: path + "/check")
        #expect(editor.page.contains("Result of the check"), "\(editor.page)")
        #expect(editor.page.contains("refused\">error<"), "\(editor.page)")
        try await browser.send(formTo: path, ["\(row)-remove": "yes", "idTokenSeconds": "1800"])
        let left = try await deployment.admin().get("applications/shop/providers/facebook")
        #expect(left["apps"]?.array?.count == apps.count && left["idTokenSeconds"]?.integer == 1800)
        try await browser.send(formTo: path, ["\(row)-appId": "no id"])
        #expect((400...499).contains(browser.status ?? 0) && browser.page.contains("value=\"no id\""))
    }

    @Test("a key is shown once, logs people in, is renamed, and does nothing once it is revoked")
    func key() async throws {
        let browser = try await deployment.browser()
        let path = Self.shop + "/keys"
        try await browser.open(path)
        let label = "<b>phones</b>"
        let making = ["form": browser.formToken ?? "", "do": "make", "label": label]
        try await browser.post(path, making)
        let shown = try #require(browser.page.split(separator: "<p><code>").dropFirst().first)
        let key = String(shown.prefix { $0 != "<" })
        #expect(key.count > 30 && !browser.page.contains(label), "\(browser.page)")
        func answers() async throws -> Int {
            try await deployment.client.send("GET", "/shop/\(key)/info").status
        }
        #expect(try await answers() == 200)
        try await browser.open(path)
        #expect(!browser.page.contains(key))
        var change = ["form": browser.formToken ?? "", "label": label]
        change["tag"] = try await deployment.admin().tag(of: "applications/shop").filter { $0 != "\"" }
        try await browser.post(path, change.merging(["do": "rename", "to": "tablets"]) { $1 })
        #expect(browser.page.contains("<bdi>tablets</bdi>"), "\(browser.page)")
        change["label"] = "tablets"
        change["tag"] = try await deployment.admin().tag(of: "applications/shop").filter { $0 != "\"" }
        try await browser.post(path, change.merging(["do": "revoke"]) { $1 })
        #expect(!browser.page.contains("<bdi>tablets</bdi>"), "\(browser.page)")
        try await eventually("it is revoked") { try await answers() != 200 }
    }

    @Test("a service account is made where the application has a project, shown once, and withdrawn")
    func serviceAccount() async throws {
        let browser = try await deployment.browser()
        let path = Self.shop + "/keys"
        try await browser.open(path)
        #expect(!browser.page.contains("Service accounts"))
        let admin = try await deployment.admin()
        try await admin.ask("PATCH", "applications/shop", #"{"settings": {"firebase": {"projectId": "shop-project"}}}"#)
        try await browser.open(path)
        try await browser.post(path, ["form": browser.formToken ?? "", "do": "account", "name": "no"])
        #expect((400...499).contains(browser.status ?? 0) && browser.page.contains("value=\"no\""), "\(browser.page)")
        try await browser.post(path, ["form": browser.formToken ?? "", "do": "account", "name": "backend"])
        #expect(browser.page.contains("BEGIN PRIVATE KEY"), "\(browser.page)")
        try await browser.open(path)
        #expect(browser.page.contains("backend@shop-project.iam.gserviceaccount.com"))
        #expect(!browser.page.contains("PRIVATE KEY"))
        try await browser.post(path, ["form": browser.formToken ?? "", "do": "withdraw", "name": "backend"])
        #expect(!browser.page.contains("backend@"), "\(browser.page)")
        try await admin.ask("PATCH", "applications/shop", #"{"settings": {"firebase": {"projectId": null}}}"#)
    }

    @Test("a property is declared, changed and dropped; a wrong word drops nothing")
    func property() async throws {
        let browser = try await deployment.browser(.editor)
        let path = Self.shop + "/properties"
        try await browser.open(path)
        try await browser.send(formTo: path, ["name": "shoe size", "type": "INT"])
        #expect((400...499).contains(browser.status ?? 0) && browser.page.contains("value=\"shoe size\""))
        try await browser.send(formTo: path, ["name": "shoeSize", "type": "INT", "clientMappable": "true"])
        #expect(browser.page.contains("<code>shoeSize</code>"), "\(browser.page)")
        try await browser.open(path + "/shoeSize")
        try await browser.send(formTo: path + "/shoeSize", ["name": "shoes", "type": "DOUBLE", "do": "change"])
        #expect(browser.page.contains("<h1>shoes</h1>"), "\(browser.page)")
        let stored = try await deployment.admin().get("applications/shop/properties/shoes")
        #expect(stored["type"]?.string == "DOUBLE" && stored["clientMappable"]?.bool == true)
        let drop = ["form": browser.formToken ?? "", "do": "drop"]
        let tag = try await deployment.admin().tag(of: "applications/shop").filter { $0 != "\"" }
        try await browser.post(path + "/shoes", drop.merging(["tag": tag, "confirm": "boots"]) { $1 })
        #expect((400...499).contains(browser.status ?? 0))
        // Sending the page's other form changes nothing.
        try await browser.send(formTo: path + "/shoes", ["do": "change"])
        let kept = try await deployment.admin().get("applications/shop/properties/shoes")
        #expect(kept["type"]?.string == "DOUBLE" && kept["clientMappable"]?.bool == true, "\(kept)")
        try await browser.post(path + "/shoes", drop.merging(["tag": tag, "confirm": "shoes"]) { $1 })
        #expect(browser.page.contains("<h1>Properties</h1>") && !browser.page.contains("shoes"), "\(browser.page)")
    }

    // MARK: Mappings

    @Test("what is typed in the rows is the entries that are stored, each value as its property's type")
    func rows() async throws {
        let browser = try await deployment.browser(.editor)
        try await browser.open(Self.mapping)
        #expect(browser.page.contains("data-path=\"picture.data.url\"") && browser.page.contains("needs user_birthday"))
        let typed = [
            "from-email": "", "from-name": "{first_name} {last_name}", "from-city": "location.name",
            "from-age": "age_range.min", "from-flag": "picture.data.is_silhouette", "from-facts": "picture.data",
            "from-nick": "short_name",
        ]
        try await browser.send(formTo: Self.mapping, typed.merging(["do": "preview"]) { $1 })
        #expect(browser.page.contains("<span class=\"tag written\">written</span>"), "\(browser.page)")
        let options = [
            "transform-city": "trim, lowercase", "default-city": "5", "default-age": "5", "default-flag": "false",
            "sync-nick": "untilEdited", "default-facts": #"{"a": [1]}"#,
            "transform-nick": #"{"lookup": {"Bo": "B"}, "else": "?"}"#, "required-name": "yes", "type-age": "INT",
        ]
        try await browser.send(formTo: Self.mapping, options.merging(["do": "save"]) { $1 })
        #expect(browser.status == 200, "\(browser.page)")
        let stored = try await deployment.admin().get("applications/shop/mappings/facebook")
        let wanted = try JSONParser.parse(
            #"""
            [{"from": "{first_name} {last_name}", "to": "name", "required": true},
             {"from": "location.name", "to": "city", "default": "5", "transform": ["trim", "lowercase"]},
             {"from": "age_range.min", "to": "age", "type": "INT", "default": 5},
             {"from": "picture.data.is_silhouette", "to": "flag", "default": false},
             {"from": "picture.data", "to": "facts", "default": {"a": [1]}},
             {"from": "short_name", "to": "nick", "sync": "untilEdited",
              "transform": {"lookup": {"Bo": "B"}, "else": "?"}}]
            """#,
            limits: .request
        )
        let entries = stored["entries"]?.array?.compactMap(\.object).map { entry in
            JSONObject(entry.members.filter { !$0.value.isNull })
        }
        let sorted = { (list: [JSONObject]?) in list?.sorted { ($0["to"]?.string ?? "") < ($1["to"]?.string ?? "") } }
        #expect(sorted(entries) == sorted(wanted.array?.compactMap(\.object)), "\(stored)")
        // Saving the entries as read changes nothing and creates no revision.
        try await browser.send(formTo: Self.mapping, ["do": "save"])
        let again = try await deployment.admin().get("applications/shop/mappings/facebook")
        #expect(
            again["revision"] == stored["revision"],
            "\(JSONValue.object(stored).text) \(JSONValue.object(again).text)"
        )
    }

    @Test("what is wrong with an entry is told at its row, and nothing is saved")
    func wrong() async throws {
        let browser = try await deployment.browser(.editor)
        let admin = try await deployment.admin()
        let revision = try await admin.get("applications/shop/mappings/facebook")["revision"]
        try await browser.open(Self.mapping)
        let script = "<script>alert(1)</script>"
        try await browser.send(formTo: Self.mapping, ["from-age": "picture", "from-city": script, "do": "save"])
        #expect((400...499).contains(browser.status ?? 0) && !browser.page.contains(script), "\(browser.page)")
        for property in ["age", "city"] {
            let row = try #require(browser.page.firstRange(of: "id=\"entry-\(property)\""))
            let end = browser.page[row.upperBound...].firstRange(of: "</li>")?.lowerBound ?? browser.page.endIndex
            #expect(browser.page[row.upperBound..<end].contains("class=\"problem\""), "\(property)")
        }
        #expect(try await admin.get("applications/shop/mappings/facebook")["revision"] == revision)
    }

    @Test("a mapping that would refuse every login is saved with a warning that names the property")
    func doubtful() async throws {
        let browser = try await deployment.browser(.editor)
        try await browser.open(Self.mapping)
        try await browser.send(formTo: Self.mapping, ["from-city": "first_nme", "do": "save"])
        #expect(browser.page.contains("notice warn"), "\(browser.page)")
        #expect(browser.page.contains("<li>city: first_nme is not a known field"), "\(browser.page)")
        let row = Self.row("city", in: browser.page)
        #expect(row.contains("every login is refused") && !row.contains("The property is"), "\(row)")
        #expect(!browser.page.contains("mapping["), "\(browser.page)")
        try await browser.send(formTo: Self.mapping, ["from-city": "", "do": "save"])
        #expect(browser.page.contains("role=\"status\">Saved.</p>"), "\(browser.page)")
    }

    @Test("a token is tried without being shown again, and a preview for a person says what is there now")
    func token() async throws {
        let person = try await deployment.newcomer(#"{"name": "Tia", "first_name": "Tia", "email": "tia@example.com"}"#)
        let user = try await deployment.loggedIn(person)
        let browser = try await deployment.browser(.viewer)
        try await browser.open(Self.mapping)
        let token = person.token
        try await browser.send(formTo: Self.mapping, ["do": "preview", "accessToken": token, "user": user.objectID])
        #expect(browser.status == 200 && browser.page.contains("tag unchanged"), "\(browser.page)")
        #expect(!browser.page.contains(token))
    }

    @Test("what the stored mapping writes is shown before anything is typed, and one bad row hides no other's")
    func previews() async throws {
        let browser = try await deployment.browser(.editor)
        try await browser.open(Self.mapping)
        #expect(browser.page.contains("<span class=\"tag written\">written</span>"), "\(browser.page)")
        let typed = ["from-age": "picture", "from-nick": "short_name", "do": "preview"]
        try await browser.send(formTo: Self.mapping, typed)
        let rows = Dictionary(uniqueKeysWithValues: ["age", "nick"].map { ($0, Self.row($0, in: browser.page)) })
        #expect(rows["age"]?.contains("class=\"problem\"") == true, "\(browser.page)")
        #expect(rows["nick"]?.contains("tag written") == true && rows["nick"]?.contains("problem") == false, "\(rows)")
    }

    private static func row(_ property: String, in page: String) -> String {
        guard let start = page.firstRange(of: "id=\"entry-\(property)\"") else { return "" }
        return String(page[start.upperBound...].split(separator: "</li>", maxSplits: 1).first ?? "")
    }

    // MARK: Labels

    @Test("each setting has a label in words, a default says so, and a time is told in days, hours and minutes")
    func words() async throws {
        let browser = try await deployment.browser()
        let provider = Self.shop + "/providers/facebook"
        let subjects = ["sessions", "passwords", "secondFactor", "clients", "tokens", "rights", "pages", "others"]
        let pages = subjects.map { Self.shop + "/settings?subject=\($0)" } + [provider, Self.shop + "/properties"]
        for path in pages {
            try await browser.open(path)
            let labels = browser.page.split(separator: "<label").dropFirst().compactMap { part in
                part.firstIndex(of: ">").map { String(part[$0...].dropFirst().prefix { $0 != "<" }) }
            }
            #expect(!labels.isEmpty, "\(path)")
            let odd = labels.filter { label in
                zip(label, label.dropFirst()).contains { $0.isLowercase && $1.isUppercase }
            }
            #expect(odd.allSatisfy { $0.contains("appsecret_proof") }, "\(path): \(odd)")
            #expect(!browser.page.contains("usually <code>"), "\(path)")
        }
        try await browser.open(Self.shop + "/settings?subject=sessions")
        #expect(browser.page.contains("default 14 days"), "\(browser.page)")
        #expect(browser.page.contains("value=\"30 days\""), "\(browser.page)")
    }

    @Test("the addresses that the provider is told can be copied, in the set-up and on its page")
    func addresses() async throws {
        let browser = try await deployment.browser()
        for path in [Self.shop + "/setup", Self.shop + "/providers/facebook"] {
            try await browser.open(path)
            for end in ["authorize", "deauthorize", "deletion", "webhook"] {
                let address = "/shop/KEY/users/oauth/facebook/\(end)</code><button type=\"button\" class=\"copy\""
                #expect(browser.page.contains(address), "\(path) \(end)")
            }
        }
    }

    @Test("each kind of provider that there is can be set up, by its own name and with its own addresses")
    func kinds() async throws {
        let browser = try await deployment.browser()
        try await browser.open(Self.shop)
        #expect(browser.page.contains("providers/twitter\">Set up Twitter</a>"), "\(browser.page)")
        #expect(!browser.page.contains("Set up Facebook"))
        try await browser.open(Self.shop + "/providers/twitter")
        // Twitter needs no address of the service, since its logins use no dialog of ours.
        #expect(browser.page.contains("Consumer key") && !browser.page.contains("oauth/twitter"), "\(browser.page)")
    }

    // MARK: Set-up

    @Test("the guide leads from nothing to a login, and each step is done once")
    func setUp() async throws {
        let browser = try await deployment.browser()
        try await browser.open("/console/applications")
        try await browser.send(formTo: "/console/applications", ["application": "fresh", "name": "Fresh & new"])
        let path = "/console/applications/fresh/setup"
        #expect(browser.page.contains("<h1>Setting up Fresh &amp; new</h1>"), "\(browser.page)")
        let provider = try await deployment.admin().get("applications/shop/providers/facebook")
        let app = try #require(provider["apps"]?.array?.first?.object?["appId"]?.string)
        try await browser.post(
            path,
            ["form": browser.formToken ?? "", "tag": browser.tag, "do": "mapping", "use-email": "yes"]
        )
        #expect(browser.redirect == path + "#step-mapping", "to load the page again sends no form")
        #expect(browser.page.contains("1 field is mapped"), "steps can be taken in any order: \(browser.page)")
        let wrong = ["appId": app, "appSecret": "wrongSecret", "do": "provider"]
        func fill(_ fields: [String: String]) async throws {
            let form = ["form": browser.formToken ?? "", "tag": browser.tag]
            try await browser.post(path, form.merging(fields) { $1 })
        }
        try await fill(wrong)
        #expect(browser.page.contains("does not accept this app secret"), "\(browser.page)")
        // The step can be done again where it was, and changes nothing else of the provider.
        let more = #"{"idTokenSeconds": 1800, "apps": [{"appId": "\#(app)", "configId": "77"}]}"#
        try await deployment.admin().ask("PATCH", "applications/fresh/providers/facebook", more)
        try await browser.open(path)
        #expect(browser.page.contains("name=\"appId\" type=\"text\" value=\"\(app)\""), "\(browser.page)")
        try await fill(wrong)
        let kept = try await deployment.admin().get("applications/fresh/providers/facebook")
        #expect(kept["idTokenSeconds"]?.integer == 1800, "\(kept)")
        #expect(kept["apps"]?.array?.first?.object?["configId"]?.string == "77", "\(kept)")
        // The problem stays visible, and the step does not count as done.
        try await browser.open(path)
        #expect(browser.page.contains("does not accept this app secret"), "\(browser.page)")
        let step = browser.page.split(separator: "id=\"step-").first { $0.hasPrefix("provider") } ?? ""
        #expect(step.contains("tag refused\">error") && !step.contains("tag done"), "\(step)")
        #expect(step.contains("aria-current=\"step\""), "one goes on here: \(step)")
        // A refused form keeps the typed values.
        let long = String(repeating: "l", count: 101)
        try await browser.post(path, ["form": browser.formToken ?? "", "do": "key", "label": long])
        #expect(browser.status == 400 && browser.page.contains("value=\"\(long)\""), "\(browser.page)")
        try await browser.post(path, ["form": browser.formToken ?? "", "do": "key", "label": "app"])
        let call = try #require(browser.page.split(separator: "/fresh/").last { $0.contains("/users/loginWith") })
        let key = String(call.prefix { $0 != "/" })
        #expect(browser.page.contains("<code>\(key)</code>"), "the calls have the key that was made")
        #expect(try await deployment.client.send("GET", "/fresh/\(key)/info").status == 200)
        let viewer = try await deployment.browser(.viewer)
        try await viewer.open(path)
        for step in ["provider", "key", "mapping"] {
            try await viewer.post(path, ["form": viewer.formToken ?? "", "tag": viewer.tag, "do": step, "label": "x"])
            #expect(viewer.status == 403, "\(step): \(viewer.page)")
        }
    }
}
