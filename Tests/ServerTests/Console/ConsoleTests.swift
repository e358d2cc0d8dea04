import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "The console",
    // Two of the tests change the application, and are warned of each other's changes as operators are.
    .serialized,
    .deployed(
        Document(
            application: "shop",
            properties: #"{"city": {"type": "STRING", "clientMappable": true}}"#,
            mapping: #"[{"from": "email", "to": "email"}, {"from": "name", "to": "name"}]"#
        )
    )
)
struct ConsoleTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private static let mapping = "/console/applications/shop/mappings/facebook"

    // MARK: Logging in

    @Test("a link signs in once, in one browser, and to look at it uses nothing up")
    func link() async throws {
        let link = try await deployment.consoleLink(.owner)
        let (first, second) = (
            ConsoleBrowser(deployment.service.management), ConsoleBrowser(deployment.service.management)
        )
        try await first.open(link)
        try await second.open(link)
        try await first.send(formTo: "/console/login")
        #expect(first.status == 200 && first.page.contains("<h1>Overview</h1>"), "\(first.page)")
        try await second.send(formTo: "/console/login")
        #expect(second.status == 401 && second.cookie == nil, "\(second.page)")
        #expect(second.page.contains("This link was used or has expired. Make another one: federation console NAME"))
    }

    @Test("a link does nothing but sign in, and a session opens no other one")
    func purposes() async throws {
        let link = try await deployment.consoleLink(.owner)
        let token = String(link.drop { $0 != "=" }.dropFirst())
        let stranger = deployment.admin(token: token)
        for (method, path) in [("GET", "applications"), ("GET", "operator"), ("GET", "operator/sessions")] {
            #expect(try await stranger.send(method, path).status == 401, "\(method) \(path)")
        }
        let browser = ConsoleBrowser(deployment.service.management, cookie: "federation-console=\(token)")
        try await browser.open("/console/audit")
        #expect(browser.page.contains("<h1>federation</h1>"), "a link is no session")
        let opened = try await stranger.ask("POST", "operator/sessions")
        let session = deployment.admin(token: opened["token"]?.string)
        #expect(try await session.get("operator")["purpose"]?.string == "session")
        #expect(try await session.send("POST", "operator/sessions").status == 401)
    }

    @Test("by a token, and where the page that was asked for is shown then")
    func token() async throws {
        let owner = try await deployment.admin()
        let browser = ConsoleBrowser(deployment.service.management)
        try await browser.open("/console/audit?action=x")
        try await browser.send(formTo: "/console/login", ["token": owner.token ?? ""])
        #expect(browser.page.contains("<h1>Audit log</h1>") && browser.page.contains("value=\"x\""))
        let attributes = try await owner.http.send(
            "POST",
            "/console/login",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("token=\(owner.token ?? "")&to=//evil.example".utf8)
        )
        #expect(attributes.header("Location") == "/console", "to nowhere else")
        let cookie = attributes.header("Set-Cookie") ?? ""
        #expect(cookie.contains("; Path=/; HttpOnly; SameSite=Strict"), "\(cookie)")
    }

    @Test("who signs out is out, everywhere the cookie is, and the browser forgets what it has shown")
    func signOut() async throws {
        let browser = try await deployment.browser()
        let thief = ConsoleBrowser(deployment.service.management, cookie: browser.cookie)
        try await thief.open("/console")
        #expect(thief.page.contains("<h1>Overview</h1>"))
        #expect(thief.reply?.header("Cache-Control") == "no-store")
        try await browser.send(formTo: "/console/sign-out")
        #expect(browser.cookie == nil && browser.reply?.header("Clear-Site-Data") == "\"cache\"")
        try await thief.open("/console")
        #expect(thief.page.contains("<h1>federation</h1>") && thief.cookie == nil)
    }

    @Test("a session that somebody plants is not taken over: signing in makes a new one")
    func fixation() async throws {
        let planted = try await deployment.browser(.viewer)
        let victim = ConsoleBrowser(deployment.service.management, cookie: planted.cookie)
        try await victim.open(try await deployment.consoleLink(.owner))
        try await victim.send(formTo: "/console/login")
        #expect(victim.cookie != planted.cookie)
        try await planted.open("/console")
        #expect(planted.page.contains("<span class=\"tag\">viewer</span>"))
    }

    @Test("over the network without HTTPS nobody signs in")
    func unprotected() async throws {
        let owner = try await deployment.admin()
        let reply = try await owner.http.send(
            "POST",
            "/console/login",
            headers: [("Host", "admin.example.com"), ("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("token=\(owner.token ?? "")".utf8)
        )
        #expect(reply.status == 400 && reply.header("Set-Cookie") == nil && reply.text.contains("ssh -L"))
    }

    @Test("a session that a token opens ends with the token's time at the latest")
    func lifetime() async throws {
        let owner = try await deployment.admin()
        let made = try await owner.ask("POST", "operators/owner/tokens", #"{"expiresInSeconds": 600}"#)
        let (short, end) = (deployment.admin(token: made["token"]?.string), made["expires"]?.integer)
        #expect(try await short.ask("POST", "operator/sessions")["expires"]?.integer == end)
        let long = try await owner.ask("POST", "operator/sessions")["expires"]?.integer ?? 0
        #expect(long > (end ?? 0) + 11 * 3_600_000)
    }

    @Test("who has a second factor shows it; a form that needs it comes back with what was typed, also at a wrong code")
    func factor() async throws {
        let made = try await deployment.admin().ask("POST", "operators", #"{"name": "gil", "role": "owner"}"#)
        let gil = deployment.admin(token: made["token"]?.string)
        let begun = try await gil.ask("POST", "operator/factors", #"{"kind": "totp", "label": "telephone"}"#)
        let app = try AuthenticatorApp(begun)
        let confirmed = #"{"code": "\#(app.code(-1))"}"#
        let added = try await gil.ask("POST", "operator/factors/\(app.id)/confirm", confirmed)
        let factor = try #require(added["id"]?.string)
        let browser = ConsoleBrowser(deployment.service.management)
        try await browser.open("/console/login")
        try await browser.send(formTo: "/console/login", ["token": gil.token ?? ""])
        // The token's second factor counts for the session; later it is too old for irreversible actions.
        #expect(browser.page.contains("<h1>Overview</h1>"), "\(browser.page)")
        try await deployment.database.psql(
            "update federation.operator_tokens set factor_proved = now() - interval '6 minutes' where operator = 'gil'"
        )
        let path = "/console/operators/viewer"
        try await browser.open(path)
        try await browser.send(formTo: path, ["role": "editor"])
        #expect(browser.page.contains("<h1>Second factor</h1>"), "\(browser.page)")
        try await browser.send(formTo: path, ["factor-id": factor, "factor-code": "000000"])
        #expect(browser.status == 401 && browser.page.contains("name=\"role\" value=\"editor\""), "\(browser.page)")
        try await browser.send(formTo: path, ["factor-id": factor, "factor-code": app.code(0)])
        #expect(browser.page.contains("<option value=\"editor\" selected>editor</option>"), "\(browser.page)")
        try await browser.open(path)
        try await browser.send(formTo: path, ["role": "viewer"])
        try await deployment.database.psql(
            "update federation.operator_tokens set factor_proved = now() - interval '13 hours' where operator = 'gil'"
        )
        try await browser.open("/console/audit")
        #expect(browser.page.contains("<h1>Second factor</h1>"))
    }

    @Test("who guesses tokens at the page has to wait, as at the API")
    func guesses() async throws {
        let guesser = ConsoleBrowser(try await deployment.admin().elsewhere.http)
        var statuses: [Int] = []
        for _ in 0..<7 {
            try await guesser.open("/console/login")
            try await guesser.send(formTo: "/console/login", ["token": "fedop_" + String(repeating: "A", count: 43)])
            statuses.append(guesser.status ?? 0)
        }
        #expect(statuses.prefix(5) == [401, 401, 401, 401, 401] && statuses.contains(429), "\(statuses)")
    }

    @Test("twenty-four who load a page of four calls at once all get it")
    func crowd() async throws {
        let cookie = try await deployment.browser().cookie
        let statuses = try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<24 {
                group.addTask { [deployment] in
                    let browser = ConsoleBrowser(deployment.service.management, cookie: cookie)
                    return try await browser.open("/console/applications/shop").status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 24))
    }

    // MARK: Attacks

    @Test("a form that another page sends does nothing, whatever it says of itself")
    func forgery() async throws {
        let browser = try await deployment.browser()
        let person = try await deployment.loggedIn(deployment.newcomer())
        let path = "/console/applications/shop/users/\(person.objectID)"
        try await browser.open(path)
        let token = browser.formToken ?? ""
        let other = try await deployment.browser(.editor)
        try await other.open(path)
        for (fields, headers) in [
            (["do": "disable"], nil),
            (["do": "disable", "form": ""], nil),
            (["do": "disable", "form": other.formToken ?? ""], nil),
            (["do": "disable", "form": token], [("Origin", "https://evil.example")]),
            (["do": "disable", "form": token], [("Origin", "null")]),
            (["do": "disable", "form": token], [("Sec-Fetch-Site", "cross-site")]),
            (["do": "disable", "form": token], [("Sec-Fetch-Site", "same-site")]),
        ] as [([String: String], [(String, String)]?)] {
            let reply = try await browser.post(path, fields, headers: headers)
            #expect(reply.status == 400, "\(fields) \(String(describing: headers))")
        }
        let status = "select user_status from shop.users where object_id = '\(person.objectID)'"
        #expect(try await deployment.value(status) == "ENABLED")
        try await browser.open(path)
        try await browser.send(formTo: path, ["do": "disable"])
        #expect(try await deployment.value(status) == "DISABLED")
    }

    @Test("every page is held to our own style and scripts, is shown in no frame and kept by nobody")
    func policy() async throws {
        let browser = try await deployment.browser()
        for path in ["/console", "/console/applications", "/console/audit", "/console/login", Self.mapping] {
            let reply = try await browser.open(path)
            let policy = reply.header("Content-Security-Policy") ?? ""
            #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "\(path)")
            #expect(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "\(path)")
            #expect(reply.header("Cache-Control") == "no-store", "\(path)")
            #expect(!reply.text.contains(" style=") && !reply.text.contains(" onclick="), "\(path)")
            #expect(reply.body.count < 60_000, "\(path): \(reply.body.count)")
        }
        for asset in browser.page.split(separator: "\"").filter({ $0.hasPrefix("/console/assets/") }) {
            let reply = try await browser.open(String(asset))
            #expect(reply.status == 200 && reply.header("Cache-Control")?.contains("immutable") == true, "\(asset)")
        }
    }

    /// The user agent of a client.
    private static let agent = "Shop, 192.0.2.1 <script>alert(1)</script>\u{202E}"

    @Test("what people and providers bring is text on every page, never markup")
    func storedScript() async throws {
        let script = #"<script>alert("x")</script><img src=x onerror='x'>"#
        let ann = try await deployment.newcomer(
            #"{"email": "ann@example.com", "name": \#(JSONValue.string(script).text)}"#
        )
        let user = try await deployment.loggedIn(ann)
        let browser = try await deployment.browser()
        let people = "/console/applications/shop/users"
        let logged = "where object_id = '\(user.objectID)' and session is not null"
        try await eventually("the log has the login") {
            try await deployment.value("select count(*) from federation.login_log \(logged)") == "1"
        }
        try await deployment.database.psql("update federation.login_log set user_agent = '\(Self.agent)' \(logged)")
        for path in [
            "\(people)/\(user.objectID)", "/console/logins?user=\(user.objectID)&application=shop",
            "\(people)?by=name&q=\(PercentEncoding.encode(script))",
            "/console/audit?actor=\(PercentEncoding.encode(script))",
            "/console/operators/\(PercentEncoding.encode(script))",
            "/console/applications/\(PercentEncoding.encode(script))",
            "/console/login?link=\(PercentEncoding.encode(script))&to=\(PercentEncoding.encode("/console/" + script))",
        ] {
            try await browser.open(path)
            #expect(!browser.page.contains("<script>alert") && !browser.page.contains("<img"), "\(path)")
        }
        for path in ["\(people)/\(user.objectID)", "/console/logins?user=\(user.objectID)&application=shop"] {
            try await browser.open(path)
            #expect(browser.page.contains("<bdi>Shop, 192.0.2.1 &lt;script&gt;alert"), "\(path)")
        }
        try await browser.open(Self.mapping + "?as=json")
        try await browser.send(formTo: Self.mapping, ["do": "preview", "entries": script, "profile": script])
        #expect(browser.status == 400 && !browser.page.contains("<script>alert"))
        #expect(browser.page.contains("&lt;script&gt;alert"), "what was typed stands there still")
    }

    // MARK: Tasks

    @Test("a viewer sees no button that would be refused, and is refused who presses one nevertheless")
    func viewer() async throws {
        let person = try await deployment.loggedIn(deployment.newcomer())
        let browser = try await deployment.browser(.viewer)
        let path = "/console/applications/shop/users/\(person.objectID)"
        try await browser.open(path)
        #expect(browser.page.contains(person.objectID) && !browser.page.contains("name=\"do\""))
        let token = browser.formToken ?? ""
        for (path, fields) in [
            (path, ["do": "disable"]), (path, ["do": "erase", "confirm": person.objectID]),
            (Self.mapping, ["do": "save", "as": "json", "entries": "[]"]),
            ("/console/applications", ["application": "x", "name": "X"]),
        ] {
            let reply = try await browser.post(path, fields.merging(["form": token]) { $1 })
            #expect(reply.status == 403, "\(path) \(fields): \(reply.text)")
        }
        #expect(
            try await deployment.value("select count(*) from shop.users where object_id = '\(person.objectID)'") == "1"
        )
    }

    @Test("what a mapping would write is what the next login writes; two who edit it see each other")
    func mapping() async throws {
        let (first, second) = (try await deployment.browser(.editor), try await deployment.browser(.owner))
        try await first.open(Self.mapping + "?as=json")
        try await second.open(Self.mapping + "?as=json")
        let entries = #"[{"from": "email", "to": "email"}, {"from": "name", "to": "city", "transform": "uppercase"}]"#
        let profile = #"{"name": "Zoe", "email": "zoe@example.com"}"#
        try await first.send(formTo: Self.mapping, ["do": "preview", "entries": entries, "profile": profile])
        #expect(first.page.contains("<bdi>ZOE</bdi>"), "\(first.page)")
        try await first.send(formTo: Self.mapping, ["do": "save", "entries": entries])
        #expect(first.status == 200 && first.page.contains("uppercase"), "\(first.page)")
        let zoe = try await deployment.loggedIn(deployment.newcomer(profile))
        #expect(zoe.user["city"]?.string == "ZOE")
        // The operator who began earlier is warned, keeps all typed values, and can continue.
        try await second.send(formTo: Self.mapping, ["do": "save", "entries": #"[{"from": "name", "to": "name"}]"#])
        #expect(
            second.status == 412 && second.page.contains("changed this mapping while you edited it"),
            "\(second.page)"
        )
        #expect(second.page.contains("uppercase") && second.page.contains("&quot;to&quot;: &quot;name&quot;"))
        try await second.send(formTo: Self.mapping, ["do": "save", "entries": #"[{"from": "name", "to": "name"}]"#])
        #expect(second.status == 200)
        let revisions = try await deployment.admin().all("applications/shop/mappings/facebook/revisions")
        #expect(revisions.count == 3)
        try await first.open(Self.mapping + "/revisions/1")
        #expect(first.page.contains("Changes if restored"), "\(first.page)")
        try await first.send(formTo: Self.mapping + "/rollback")
        #expect(first.status == 200, "\(first.page)")
    }

    @Test("a person is found, disabled, signed out and erased")
    func person() async throws {
        let email = "eve\(Int.random(in: 1...1_000_000))@example.com"
        let eve = try await deployment.loggedIn(deployment.newcomer(#"{"email": "\#(email)", "name": "Eve"}"#))
        let browser = try await deployment.browser()
        let people = "/console/applications/shop/users"
        let path = "\(people)/\(eve.objectID)"
        try await browser.open("\(people)?by=email&q=\(PercentEncoding.encode(email))")
        #expect(browser.page.contains("href=\"\(path)\""), "\(browser.page)")
        try await browser.open(path)
        try await browser.send(formTo: path, ["do": "signOut"])
        #expect(try await !deployment.isValid(eve.token))
        try await browser.send(formTo: path, ["do": "disable"])
        #expect(browser.page.contains("<span class=\"tag DISABLED\">"))
        let erase = ["do": "erase", "form": browser.formToken ?? "", "tag": ""]
        try await browser.post(path, erase.merging(["confirm": "somebody else"]) { $1 })
        #expect((400...499).contains(browser.status ?? 0), "\(browser.page)")
        #expect(try await deployment.value("select count(*) from shop.users where email = '\(email)'") == "1")
        try await browser.open(path)
        try await browser.send(formTo: path, ["do": "enable"])
        let again = ["do": "erase", "form": browser.formToken ?? "", "confirm": eve.objectID]
        let tag = try await deployment.admin().tag(of: "applications/shop/users/\(eve.objectID)")
        try await browser.post(path, again.merging(["tag": tag.filter { $0 != "\"" }]) { $1 })
        #expect(try await deployment.value("select count(*) from shop.users where email = '\(email)'") == "0")
        try await browser.open("/console/audit?application=shop&action=user.erase")
        #expect(browser.page.contains(eve.objectID), "\(browser.page)")
    }

    @Test("the audit log shows the values that a change has changed, and no others")
    func audit() async throws {
        let browser = try await deployment.browser()
        let settings = #"{"settings": {"secondFactor": {"policy": "optional"}, "banDays": 12}}"#
        try await deployment.admin().ask("PATCH", "applications/shop", settings)
        try await browser.open("/console/audit?application=shop&action=application.settings")
        #expect(browser.page.contains("placeholder=\"such as user.disable\""), "a part of an action finds nothing")
        let policy = "<li><code>secondFactor.policy</code> <bdi>off</bdi> → <bdi>optional</bdi></li>"
        #expect(browser.page.contains(policy), "\(browser.page)")
        #expect(browser.page.contains("<code>banDays</code> <code>730</code> → <code>12</code>"), "\(browser.page)")
        #expect(!browser.page.contains("trustedDeviceDays"), "\(browser.page)")
        let former = #"{"settings": {"secondFactor": {"policy": "off"}, "banDays": null}}"#
        try await deployment.admin().ask("PATCH", "applications/shop", former)
    }

    @Test("a refused login is in the log with its reason and a way to mend it, counted, and found by each of its marks")
    func logins() async throws {
        let ann = try await deployment.newcomer()
        let user = try await deployment.loggedIn(ann)
        let refused = try await deployment.login(ann, mapping: #"{"email": "no where"}"#)
        let request = try #require(refused.header("X-Request-Id"))
        let browser = try await deployment.browser(.viewer)
        try await eventually("the log has it") {
            try await browser.open("/console/logins?application=shop&outcome=refused")
            return browser.page.contains(request)
        }
        #expect(browser.page.contains("<code>mapping_target_not_allowed</code>"), "\(browser.page)")
        #expect(browser.page.contains("href=\"\(Self.mapping)\">Check the mapping"))
        #expect(browser.page.contains("<path class=\"no\" d=\"M") && browser.page.contains("<figcaption>"))
        try await browser.open("/console/logins?application=shop&user=\(user.objectID)")
        #expect(browser.page.contains("users/\(user.objectID)") && !browser.page.contains(request))
        let name = user.user["name"]?.string ?? user.user["email"]?.string ?? user.objectID
        #expect(browser.page.contains("<h1>Logins of \(name)</h1>"), "\(browser.page)")
        #expect(!browser.page.contains("<figcaption>"), "the numbers of all users")
        try await browser.open("/console/logins?outcome=\(PercentEncoding.encode("<script>"))")
        #expect(browser.status == 400 && !browser.page.contains("<script>"))
    }

    @Test("a document is shown with what it would change, applied, and downloaded")
    func document() async throws {
        let browser = try await deployment.browser()
        let path = "/console/applications/shop/document"
        let stored = try await deployment.admin().get("applications/shop/document")
        var changed = JSONObject()
        for member in stored.members {
            changed.append(member.key, member.key == "name" ? .string("Shop & Co <b>") : member.value)
        }
        try await browser.open(path)
        try await browser.send(formTo: path, ["do": "plan", "document": "{"])
        #expect(browser.status == 400 && browser.page.contains("The document is not valid JSON"))
        try await browser.send(formTo: path, ["do": "plan", "document": JSONValue.object(changed).text])
        #expect(browser.page.contains("<h2 id=\"changes\">Changes</h2>"))
        #expect(browser.page.contains("Shop &amp; Co &lt;b&gt;"))
        try await browser.send(formTo: path, ["do": "apply", "document": JSONValue.object(changed).text])
        #expect(browser.page.contains("<h1>Shop &amp; Co &lt;b&gt;</h1>"), "\(browser.page)")

        try await browser.open(path)
        #expect(browser.page.contains("href=\"\(path)/export\""))
        try await browser.open("\(path)/export")
        let file = try #require(browser.reply)
        #expect(file.status == 200 && file.header("Content-Disposition") == "attachment; filename=\"shop.json\"")
        #expect(JSON.object(file.text)?["name"]?.string == "Shop & Co <b>", "\(file.text)")
        #expect(file.header("Cache-Control") == "no-store" && file.header("Content-Type") == "application/json")
    }
}
