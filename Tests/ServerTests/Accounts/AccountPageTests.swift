import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()
private let script = #"<script>alert("canary")</script><img src=x onerror='x'>"#

@Suite(
    "The account page",
    .serialized,
    .deployed(
        Document(
            settings: """
                {"registration": {"confirmEmail": false}, "pages": {"account": true},
                 "secondFactor": {"policy": "optional", "factors": ["totp", "email", "recoveryCode"]}}
                """,
            properties: #"{"city": {"type": "STRING", "clientMappable": true}}"#,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        Document(application: "other", settings: #"{"pages": {"account": true}, "hostNames": ["other.example"]}"#),
        Document(application: "off"),
        environment: mails.environment
    )
)
struct AccountPageTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private var other: Document { deployment.documents[1] }
    private var off: Document { deployment.documents[2] }
    private static let page = "/demo/account"

    /// Creates a user with a password and a session.
    private func member(_ members: String = "") async throws -> (email: String, session: LoginResult) {
        let email = "m\(UInt64.random(in: 0...UInt64.max)).canary@example.com"
        _ = try await deployment.register(email, members)
        return (email, try await deployment.logIn(email))
    }

    /// Creates a Facebook user with an address.
    private func person(_ name: String) async throws -> Visitor {
        let email = "\(name)\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        return try await deployment.newcomer(#"{"email": "\#(email)"}"#)
    }

    private func user(_ column: String, of session: LoginResult) async throws -> String? {
        try await deployment.value("select \(column) from demo.users where object_id = '\(session.objectID)'")
    }

    private func sessions(of session: LoginResult) async throws -> String? {
        try await deployment.sessions(of: session.objectID)
    }

    /// Makes the browser's session one with an old authentication.
    private func age(_ browser: AccountBrowser) async throws {
        let token = try #require(browser.session())
        try await deployment.database.psql(
            "update demo.sessions set proved = now() - interval '6 minutes', factor_proved = now() - interval '6 minutes' "
                + "where token_hash = sha256('\(token)')"
        )
    }

    @Test("a keeper of passwords is led to the form for a new one, by the host of the application")
    func changePassword() async throws {
        func reply(of host: String) async throws -> HTTPReply {
            try await deployment.client.send("GET", "/.well-known/change-password", headers: [("Host", host)])
        }
        let found = try await reply(of: "other.example:8443")
        #expect(found.status == 303)
        #expect(found.header("Location")?.hasSuffix("/other/account/password") == true)
        for host in ["off.example", "example", "localhost"] {
            try expectProblem(try await reply(of: host), "not_found", "\(host)")
        }
    }

    // MARK: Links

    @Test("a link opens the page once, and to look at it uses nothing up and logs nobody in (T-62)")
    func link() async throws {
        let (email, session) = try await member()
        let link = try await deployment.accountLink(of: session.token)
        let (preview, first, second) = (
            AccountBrowser(deployment.client), AccountBrowser(deployment.client), AccountBrowser(deployment.client)
        )
        try await preview.open(link)
        #expect(preview.status == 200 && preview.cookies.isEmpty && !preview.page.contains(email), "\(preview.page)")
        #expect(preview.page.contains("\(email.prefix(1))•••@"), "whose account it is: \(preview.page)")
        #expect(try await sessions(of: session) == "1")
        try await first.open(link)
        try await second.open(link)
        try await first.send(formTo: Self.page + "/link")
        #expect(first.status == 200 && first.page.contains(email), "\(first.page)")
        #expect(first.session() != nil && first.session() != session.token)
        try await second.send(formTo: Self.page + "/link")
        #expect(second.status == 400 && second.cookies.isEmpty, "\(second.page)")
        #expect(try await sessions(of: session) == "2")
    }

    @Test("of fifty who press the button of one link at once one gets in (T-60)")
    func race() async throws {
        let (_, session) = try await member()
        let link = try await deployment.accountLink(of: session.token)
        let text = String(link.drop { $0 != "=" }.dropFirst())
        let statuses = try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<50 {
                group.addTask { [deployment] in
                    let browser = AccountBrowser(deployment.client)
                    return try await browser.post(Self.page + "/link", ["link": text]).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.filter { $0 == 200 }.count == 1, "\(statuses)")
        #expect(try await sessions(of: session) == "2")
    }

    @Test("a link is of its application, whole, and of a session that lives; anything else says how to go on")
    func wrongLinks() async throws {
        let (_, session) = try await member()
        let link = try await deployment.accountLink(of: session.token)
        let text = String(link.drop { $0 != "=" }.dropFirst())
        var foreign = Array(text.utf8)
        foreign[20] = foreign[20] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        for (path, text) in [
            ("/other/account", text), (Self.page, String(text.dropLast())), (Self.page, ""), (Self.page, script),
            (Self.page, String(decoding: foreign, as: UTF8.self)), (Self.page, session.token),
            (Self.page, String(repeating: "A", count: 200)),
        ] {
            let browser = AccountBrowser(deployment.client)
            try await browser.post(path + "/link", ["link": text])
            #expect(browser.status == 400 && browser.cookies.isEmpty, "\(browser.page)")
            #expect(browser.page.contains("Go back to the app"))
            try await browser.open("\(path)?link=\(PercentEncoding.encode(text))")
            #expect(browser.status == 400 && !browser.page.contains("<form"), "\(browser.page)")
        }
        #expect(try await deployment.send("GET", "users/logout", token: session.token).status == 200)
        let late = AccountBrowser(deployment.client)
        try await late.post(Self.page + "/link", ["link": text])
        #expect(late.status == 400 && late.cookies.isEmpty, "\(late.page)")
        let dead = try await deployment.send("POST", "users/account/link", "{}", token: session.token)
        #expect(dead.status == 401)
        #expect(try await deployment.send("POST", "users/account/link", "{}").status == 401)
    }

    @Test("the session of a link lasts an hour or as long as the app's, has shown what that has, and ends no other one")
    func linkedSession() async throws {
        let (_, session) = try await member()
        try await deployment.database.psql(
            "update demo.sessions set proved = now() - interval '4 minutes' where object_id = '\(session.objectID)'"
        )
        let browser = try await deployment.accountBrowser(of: session.token)
        let facts = try await deployment.database.psql(
            """
            select s.expires <= now() + interval '1 hour', s.proved = f.proved, s.provider = f.provider
            from demo.sessions s join demo.sessions f on f.token_hash = sha256('\(session.token)')
            where s.token_hash = sha256('\(browser.session() ?? "")')
            """
        )
        #expect(facts.first == ["t", "t", "t"])
        #expect(try await deployment.isValid(session.token))
        try await deployment.database.psql(
            "update demo.sessions set expires = now() + interval '9 minutes' where token_hash = sha256('\(session.token)')"
        )
        let short = try await deployment.accountBrowser(of: session.token)
        let ends = "select expires from demo.sessions where token_hash = sha256"
        #expect(
            try await deployment.value("\(ends)('\(short.session() ?? "")')")
                == deployment.value("\(ends)('\(session.token)')")
        )
    }

    @Test("another link of the same session ends the page's session before")
    func oneSession() async throws {
        let (_, session) = try await member()
        let former = try await deployment.accountBrowser(of: session.token)
        let browser = try await deployment.accountBrowser(of: session.token)
        #expect(try await sessions(of: session) == "2")
        #expect(try await deployment.isValid(session.token))
        #expect(try await deployment.isValid(try #require(browser.session())))
        try await former.open(Self.page)
        #expect(former.page.contains("password"), "\(former.page)")
        #expect(!former.page.contains("canary@example.com"), "\(former.page)")
    }

    @Test("where the application has no such page there is none, nor a link to it")
    func switchedOff() async throws {
        let email = "off.canary@example.com"
        _ = try await deployment.register(email, to: off)
        let session = try await deployment.logIn(email, to: off)
        let reply = try await deployment.send("POST", "users/account/link", "{}", token: session.token, to: off)
        #expect(reply.status == 404 && reply.text.contains("pages.account"), "\(reply.text)")
        let browser = AccountBrowser(deployment.client)
        for path in ["", "/address", "/data", "/providers/facebook/start"] {
            try await browser.open("/off/account" + path)
            #expect(browser.status == 404, "\(path): \(browser.page)")
        }
        try await browser.post("/off/account/login", ["login": email, "password": Deployment.password])
        #expect(browser.status == 404 && browser.cookies.isEmpty)
    }

    // MARK: Logging in and out

    @Test("a password logs in; a session that is planted, or another's, is not taken over (T-65)")
    func password() async throws {
        let (email, _) = try await member()
        let (_, planted) = try await member()
        let name = "__Host-federation-account-demo"
        for cookies in [[:], [name: planted.token], [name: String(repeating: "A", count: 43)], [name: script]] {
            let browser = AccountBrowser(deployment.client, cookies: cookies)
            if cookies[name] == planted.token {
                // The planted session ends in this browser, whoever its user is.
                try await browser.post(Self.page + "/login", ["login": email, "password": Deployment.password])
            } else {
                try await browser.open(Self.page)
                #expect(browser.page.contains("<h1>Log in</h1>"), "\(browser.page)")
                try await browser.send(
                    formTo: Self.page + "/login",
                    ["login": email, "password": Deployment.password]
                )
            }
            #expect(browser.status == 200 && browser.page.contains(email), "\(browser.page)")
            #expect(browser.session() != nil && browser.session() != cookies[name])
        }
        let browser = AccountBrowser(deployment.client)
        try await browser.open(Self.page)
        try await browser.send(formTo: Self.page + "/login", ["login": email, "password": "a wrong canary password"])
        #expect(browser.status == 401 && browser.session() == nil && browser.page.contains("role=\"alert\""))
    }

    @Test("the cookie is the host's alone, no script reads it and no other site sends it")
    func cookie() async throws {
        let (_, session) = try await member()
        let text = String(try await deployment.accountLink(of: session.token).drop { $0 != "=" }.dropFirst())
        let reply = try await deployment.client.send(
            "POST",
            Self.page + "/link",
            headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", AccountBrowser.origin)],
            body: Array("link=\(text)".utf8)
        )
        #expect(reply.status == 303 && reply.header("Location") == Self.page)
        let cookie = reply.header("Set-Cookie") ?? ""
        #expect(cookie.hasPrefix("__Host-federation-account-demo="), "\(cookie)")
        #expect(cookie.hasSuffix("; Path=/; Secure; HttpOnly; SameSite=Strict"), "\(cookie)")
    }

    @Test("who has a second factor shows it to log in, also after a wrong code")
    func factor() async throws {
        let (email, session) = try await member()
        let (app, _, codes) = try await deployment.enrolApp(of: session)
        try await deployment.forgetSteps()
        let browser = AccountBrowser(deployment.client)
        try await browser.open(Self.page)
        let path = Self.page + "/login"
        try await browser.send(formTo: path, ["login": email, "password": Deployment.password])
        #expect(browser.status == 200 && browser.session() == nil, "\(browser.page)")
        #expect(browser.page.contains("name=\"code\"") && !browser.page.contains(Deployment.password))
        try await browser.send(formTo: path, ["code": "000000"])
        #expect(browser.status == 401 && browser.session() == nil && browser.page.contains("role=\"alert\""))
        try await browser.send(formTo: path, ["code": app.code()])
        #expect(browser.status == 200 && browser.page.contains(email), "\(browser.page)")
        // Another factor in place of the first.
        let second = AccountBrowser(deployment.client)
        try await second.open(Self.page)
        try await second.send(formTo: path, ["login": email, "password": Deployment.password])
        let others = second.page.split(separator: "name=\"choose\" value=\"")
        let recovery = String(try #require(others.last).prefix { $0 != "\"" })
        try await second.send(formTo: path, ["choose": recovery])
        #expect(second.status == 200 && second.page.contains("Recovery code"), "\(second.page)")
        try await second.send(formTo: path, ["code": codes[0]])
        #expect(second.status == 200 && second.page.contains(email), "\(second.page)")
    }

    @Test("who logs out is out, everywhere the cookie is, and the browser forgets what it has shown")
    func signOut() async throws {
        let (email, session) = try await member()
        let browser = try await deployment.accountBrowser(of: session.token)
        let thief = AccountBrowser(deployment.client, cookies: browser.cookies)
        try await thief.open(Self.page)
        #expect(thief.page.contains(email) && thief.reply?.header("Cache-Control") == "no-store")
        try await browser.send(formTo: Self.page + "/sign-out")
        #expect(browser.session() == nil && browser.reply?.header("Clear-Site-Data") == "\"cache\"")
        try await thief.open(Self.page)
        #expect(!thief.page.contains(email) && thief.session() == nil && thief.page.contains("no longer logged in"))
        #expect(try await deployment.isValid(session.token), "the app goes on")
    }

    @Test("the session of the page ends with all others, and with its user (T-63)")
    func ends() async throws {
        let (email, session) = try await member()
        let first = try await deployment.accountBrowser(of: session.token)
        #expect(try await deployment.send("DELETE", "users/sessions", token: session.token).status == 200)
        try await first.open(Self.page)
        #expect(!first.page.contains(email) && first.session() == nil, "\(first.page)")
        let second = try await deployment.accountBrowser(of: session.token)
        try await deployment.database.psql(
            "update demo.users set user_status = 'DISABLED' where object_id = '\(session.objectID)'"
        )
        let waiting = AccountBrowser(deployment.client, cookies: second.cookies)
        try await waiting.open(Self.page)
        #expect(waiting.status == 403 && !waiting.page.contains(email), "\(waiting.page)")
        try await second.open(Self.page + "/data")
        #expect(second.status == 403)
    }

    // MARK: Attacks

    @Test("a form that another page sends does nothing, whatever it says of itself (T-41)")
    func forgery() async throws {
        let (email, session) = try await member()
        let browser = try await deployment.accountBrowser(of: session.token)
        let token = browser.formToken ?? ""
        let (_, stranger) = try await member()
        let others = try await deployment.accountBrowser(of: stranger.token).formToken ?? ""
        let fields = ["email": "thief.canary@example.com", "currentPassword": Deployment.password]
        for (form, headers) in [
            (nil, nil), ("", nil), (others, nil), (String(token.dropLast()), nil),
            (token, [("Origin", "https://evil.example")]), (token, [("Origin", "null")]),
            (token, [("Sec-Fetch-Site", "cross-site")]), (token, [("Sec-Fetch-Site", "same-site")]),
        ] as [(String?, [(String, String)]?)] {
            for path in ["/address", "/delete", "/sessions/end-others", "/sign-out", "/methods/remove", "/password"] {
                let sent = fields.merging(form.map { ["form": $0] } ?? [:]) { $1 }
                let reply = try await browser.post(Self.page + path, sent, headers: headers)
                #expect(reply.status == 400, "\(path) \(form ?? "-") \(String(describing: headers)) \(reply.text)")
            }
        }
        #expect(try await user("email", of: session) == email)
        #expect(try await sessions(of: session) == "2")
        // Logging a victim in to the attacker's account (login CSRF) is an attack, too.
        for headers in [[("Origin", "https://evil.example")], [("Sec-Fetch-Site", "cross-site")]] {
            let victim = AccountBrowser(deployment.client)
            let path = Self.page + "/login"
            try await victim.post(path, ["login": email, "password": Deployment.password], headers: headers)
            #expect(victim.status == 400 && victim.cookies.isEmpty)
        }
        try await browser.open(Self.page + "/address")
        try await browser.send(formTo: Self.page + "/address", fields)
        #expect(try await user("email", of: session) == "thief.canary@example.com")
    }

    @Test("every page is held to our own style, is shown in no frame and kept by nobody")
    func policy() async throws {
        let (_, session) = try await member()
        let browser = try await deployment.accountBrowser(of: session.token)
        let link = try await deployment.accountLink(of: session.token)
        for path in [Self.page, Self.page + "/address", Self.page + "/password", Self.page + "/delete", link] {
            let reply = try await browser.open(path)
            #expect(reply.status == 200, "\(path)")
            let policy = reply.header("Content-Security-Policy") ?? ""
            #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "\(path)")
            #expect(policy.contains("form-action 'self'") && !policy.contains("unsafe"), "\(path)")
            #expect(!policy.contains("script-src") && !reply.text.contains("<script"), "\(path)")
            #expect(reply.header("Cache-Control") == "no-store" && !reply.text.contains(" style="), "\(path)")
            #expect(reply.header("Referrer-Policy") == "same-origin", "\(path)")
            #expect(reply.header("Access-Control-Allow-Credentials") == nil, "\(path)")
            #expect(reply.body.count < 60_000, "\(path)")
        }
    }

    @Test("what people and providers bring is text on every page, never markup (T-114)")
    func storedScript() async throws {
        let name = JSONValue.string(script).text
        let visitor = try await deployment.newcomer(#"{"email": "s.canary@example.com", "name": \#(name)}"#)
        let session = try await deployment.loggedIn(visitor)
        let logged = "where object_id = '\(session.objectID)' and session is not null"
        try await eventually("the log has the login") {
            try await deployment.value("select count(*) from federation.login_log \(logged)") == "1"
        }
        try await deployment.database.psql(
            "update federation.login_log set user_agent = 'Shop, 192.0.2.1 <img>\u{202E}' \(logged)"
        )
        let browser = try await deployment.accountBrowser(of: session.token)
        #expect(browser.page.contains("&lt;script&gt;alert") && browser.page.contains("Facebook"), "\(browser.page)")
        #expect(browser.page.contains("<p><bdi>Shop, 192.0.2.1 &lt;img&gt;"), "\(browser.page)")
        // The source stands apart from the user agent, which a client chooses: nobody can fake the address.
        let source = try #require(try await deployment.value("select source from federation.login_log \(logged)"))
        let title = try #require(browser.page.firstRange(of: "<p><bdi>Shop, 192.0.2.1"))
        let facts = browser.page[title.lowerBound...].split(separator: "<p>").dropFirst().first ?? ""
        #expect(facts.hasSuffix("<bdi>\(source)</bdi></p>\n") && !facts.contains("Shop"), "\(browser.page)")
        try await deployment.database.psql(
            "update demo.sessions set provider = '<img>' where object_id = '\(session.objectID)'"
        )
        let text = PercentEncoding.encode(script)
        for path in ["", "/address", "/password", "/delete", "?link=\(text)", "?done=\(text)"] {
            try await browser.open(Self.page + path)
            #expect(browser.status == (path.hasPrefix("?link") ? 400 : 200), "\(path)")
            #expect(!browser.page.contains("<script>alert") && !browser.page.contains("<img"), "\(path)")
        }
        try await browser.open(Self.page + "/address")
        try await browser.send(formTo: Self.page + "/address", ["email": script])
        #expect(browser.status != 200 && !browser.page.contains("<script>alert"), "\(browser.page)")
        let stranger = AccountBrowser(deployment.client)
        try await stranger.post(Self.page + "/login", ["login": script, "password": script])
        #expect(!stranger.page.contains("<script>alert"))
    }

    @Test("a form does nothing to what is another user's (T-117)")
    func others() async throws {
        let (_, victim) = try await member()
        let (_, session) = try await member()
        let list = try await deployment.get("users/sessions", token: victim.token)
        let id = try #require(JSON.value(list.text)?.array?.first?.object?["id"]?.string)
        let browser = try await deployment.accountBrowser(of: session.token)
        let token = browser.formToken ?? ""
        for id in [id, String(repeating: "0", count: 32), "", script] {
            try await browser.post(Self.page + "/sessions/end", ["form": token, "session": id])
            #expect(browser.status == 404, "\(browser.page)")
        }
        #expect(try await deployment.isValid(victim.token))
    }

    // MARK: A forgotten password

    @Test("who has forgotten the password has a link mailed, and nothing tells whether an address is known")
    func forgotten() async throws {
        let (email, _) = try await member()
        let browser = AccountBrowser(deployment.client)
        try await browser.open(Self.page)
        #expect(browser.page.contains("href=\"\(Self.page)/forgot\">Forgot your password?"), "\(browser.page)")
        var pages: [String] = []
        for address in [email, "nobody.canary@example.com"] {
            try await browser.open(Self.page + "/forgot")
            try await browser.send(formTo: Self.page + "/forgot", ["login": address])
            #expect(browser.status == 200 && browser.page.contains("role=\"status\""), "\(browser.page)")
            pages.append(browser.page)
        }
        #expect(pages[0] == pages[1] && !pages[0].contains("canary"))
        let mail = try await eventually("the mail") { try mails.take(to: email).first }
        #expect(mail.contains("/demo/reset-password?token="), "\(mail)")
        #expect(try mails.take(to: "nobody.canary@example.com").isEmpty)
    }

    @Test("mails that are asked for by the page have their limit, and another site's form asks for none")
    func forgottenLimits() async throws {
        let (email, _) = try await member()
        let browser = AccountBrowser(deployment.client)
        for headers in [[("Origin", "https://evil.example")], [("Sec-Fetch-Site", "cross-site")]] {
            try await browser.post(Self.page + "/forgot", ["login": email], headers: headers)
            #expect(browser.status == 400, "\(browser.page)")
        }
        #expect(try mails.take(to: email).isEmpty)
        var statuses: [Int?] = []
        for _ in 0..<5 { statuses.append(try await browser.post(Self.page + "/forgot", ["login": email]).status) }
        #expect(statuses.contains(429) && Set(statuses).isSubset(of: [200, 429]), "\(statuses)")
        #expect(statuses.count { $0 == 200 } == 3, "three mails an hour to one mailbox: \(statuses)")
    }

    // MARK: Functions of the page

    @Test("sessions are seen and ended, one by one and all others")
    func sessions() async throws {
        let (email, session) = try await member()
        let (second, third) = (try await deployment.logIn(email), try await deployment.logIn(email))
        let browser = try await deployment.accountBrowser(of: session.token)
        #expect(browser.page.split(separator: "action=\"\(Self.page)/sessions/end\"").count == 4)
        #expect(browser.page.contains("Log out everywhere else"), "\(browser.page)")
        try await browser.send(formTo: Self.page + "/sessions/end")
        let live = try await [session, second, third].asyncFilter { try await deployment.isValid($0.token) }
        #expect(live.count == 2 && browser.status == 200, "\(browser.page)")
        #expect(browser.page.contains("The session was logged out."), "\(browser.page)")
        try await browser.send(formTo: Self.page + "/sessions/end-others")
        #expect(browser.status == 200 && browser.session() != nil, "\(browser.page)")
        #expect(browser.page.contains("You are logged out everywhere else."), "\(browser.page)")
        #expect(try await sessions(of: session) == "1")
    }

    @Test("another address takes the present password, and the former one hears of it")
    func address() async throws {
        let (email, session) = try await member()
        let browser = try await deployment.accountBrowser(of: session.token)
        let path = Self.page + "/address"
        let new = "new\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        for (fields, status) in [
            (["email": new], 401), (["email": new, "currentPassword": "a wrong canary password"], 401),
            (["email": "nobody", "currentPassword": Deployment.password], 400),
        ] {
            try await browser.open(path)
            try await browser.send(formTo: path, fields)
            #expect(browser.status == status && browser.page.contains("role=\"alert\""), "\(fields) \(browser.page)")
            #expect(browser.page.contains("value=\"\(fields["email"] ?? "")\""), "what was typed stands there still")
        }
        #expect(try await user("email", of: session) == email)
        try await browser.send(formTo: path, ["email": new, "currentPassword": Deployment.password])
        #expect(browser.status == 200 && browser.page.contains(new), "\(browser.page)")
        #expect(browser.page.contains("role=\"status\"") && browser.page.contains("not confirmed"))
        #expect(try await user("email", of: session) == new)
        _ = try await mails.next(to: email)
    }

    @Test("another password takes the present one, tells its rule before, and logs the others out")
    func anotherPassword() async throws {
        let (email, session) = try await member()
        let browser = try await deployment.accountBrowser(of: session.token)
        let path = Self.page + "/password"
        try await browser.open(path)
        #expect(browser.page.contains("At least 15 characters") && browser.page.contains("minlength=\"15\""))
        for (fields, status) in [
            (["password": "another canary sentence"], 401),
            (["password": "another canary sentence", "currentPassword": "a wrong canary password"], 401),
            (["password": "short", "currentPassword": Deployment.password], 422),
            (["password": Deployment.password, "currentPassword": Deployment.password], 422),
        ] {
            try await browser.send(formTo: path, fields)
            #expect(browser.status == status && browser.page.contains("role=\"alert\""), "\(browser.page)")
        }
        #expect(try await deployment.isValid(session.token))
        let new = ["password": "another canary sentence", "currentPassword": Deployment.password]
        try await browser.send(formTo: path, new)
        #expect(browser.status == 200 && browser.page.contains("role=\"status\""), "\(browser.page)")
        #expect(try await !deployment.isValid(session.token))
        _ = try await deployment.logIn(email, password: "another canary sentence")
    }

    @Test("with a second factor a change asks for it, and keeps what was typed")
    func changeWithFactor() async throws {
        let (_, session) = try await member()
        let (app, factor, _) = try await deployment.enrolApp(of: session)
        try await deployment.forgetSteps()
        let browser = try await deployment.accountBrowser(of: session.token)
        #expect(browser.page.contains("Authenticator app") && browser.page.contains("Recovery codes, 10 left"))
        try await age(browser)
        let path = Self.page + "/address"
        let new = "f\(UInt32.random(in: 0...UInt32.max)).canary@example.com"
        try await browser.open(path)
        try await browser.send(formTo: path, ["email": new, "currentPassword": Deployment.password])
        #expect(browser.page.contains("<h1>Confirm that it is you</h1>"), "\(browser.page)")
        #expect(try await user("email", of: session) != new)
        // No page contains the password; it is typed again.
        let present = ["currentPassword": Deployment.password]
        #expect(browser.page.contains("name=\"currentPassword\" type=\"password\""), "\(browser.page)")
        #expect(!browser.page.contains(Deployment.password))
        try await browser.send(formTo: path, present.merging(["code": "000000"]) { $1 })
        #expect(browser.status == 401 && browser.page.contains("name=\"email\" value=\"\(new)\""), "\(browser.page)")
        let shown = present.merging(["factor": factor, "code": app.code()]) { $1 }
        try await browser.send(formTo: path, shown)
        #expect(browser.status == 200 && browser.page.contains(new), "\(browser.page)")
        #expect(try await user("email", of: session) == new)
    }

    @Test("a login method is unlinked by who has shown of late who they are, and the last one stays (T-43)")
    func unlink() async throws {
        let visitor = try await person("u")
        let session = try await deployment.loggedIn(visitor)
        let browser = try await deployment.accountBrowser(of: session.token)
        #expect(browser.page.contains("Facebook") && !browser.page.contains("/methods/remove"), "the last one")
        let refused = try await browser.post(
            Self.page + "/methods/remove",
            ["form": browser.formToken ?? "", "provider": "facebook"]
        )
        #expect(refused.status == 409, "\(refused.text)")
        try await browser.open(Self.page + "/password")
        #expect(!browser.page.contains("currentPassword"))
        try await browser.send(formTo: Self.page + "/password", ["password": Deployment.password])
        #expect(browser.page.contains("Password for"), "\(browser.page)")
        try await age(browser)
        try await browser.send(formTo: Self.page + "/methods/remove")
        #expect(browser.page.contains("<h1>Confirm that it is you</h1>"), "\(browser.page)")
        try await browser.send(formTo: Self.page + "/methods/remove", ["proof": "a wrong canary password"])
        #expect(browser.status == 401 && browser.page.contains("role=\"alert\""), "\(browser.page)")
        let identities = "select count(*) from demo.identities where object_id = '\(session.objectID)'"
        #expect(try await deployment.value(identities) == "1")
        try await browser.send(formTo: Self.page + "/methods/remove", ["proof": Deployment.password])
        #expect(browser.status == 200 && browser.page.contains("The login method was removed."), "\(browser.page)")
        #expect(try await deployment.value(identities) == "0")
    }

    @Test("the own data are a file that holds what the user may see and nothing secret")
    func data() async throws {
        let (email, session) = try await member(#""city": "Bern""#)
        let browser = try await deployment.accountBrowser(of: session.token)
        let reply = try await browser.open(Self.page + "/data")
        #expect(reply.status == 200 && reply.header("Content-Type") == "application/json")
        #expect(reply.header("Content-Disposition") == "attachment; filename=\"demo-account.json\"")
        #expect(reply.header("Cache-Control") == "no-store")
        let data = try #require(JSON.object(reply.text))
        let properties = data["user"]?.object?["properties"]?.object
        #expect(properties?["email"]?.string == email && properties?["city"]?.string == "Bern")
        #expect(data["loginMethods"]?.array?.count == 1 && data["sessions"]?.array?.count == 2)
        for secret in [session.token, browser.session() ?? "-", "argon2"] { #expect(!reply.text.contains(secret)) }
        let stranger = AccountBrowser(deployment.client)
        try await stranger.open(Self.page + "/data")
        #expect(stranger.page.contains("<h1>Log in</h1>") && !stranger.page.contains(email))
    }

    @Test("an account is deleted by who types the word and has shown of late who they are (T-33)")
    func deletion() async throws {
        let (_, session) = try await member()
        let browser = try await deployment.accountBrowser(of: session.token)
        let path = Self.page + "/delete"
        try await browser.open(path)
        try await browser.send(formTo: path, ["word": "delete"])
        #expect(browser.page.contains("Nothing was deleted"), "\(browser.page)")
        try await age(browser)
        try await browser.send(formTo: path, ["word": "DELETE"])
        #expect(browser.page.contains("<h1>Confirm that it is you</h1>"), "\(browser.page)")
        #expect(try await user("count(*)", of: session) == "1")
        try await browser.send(formTo: path, ["proof": Deployment.password])
        #expect(browser.status == 200 && browser.page.contains("<h1>Account deleted</h1>"), "\(browser.page)")
        #expect(browser.session() == nil && browser.reply?.header("Clear-Site-Data") == "\"cache\"")
        #expect(try await user("count(*)", of: session) == "0")
        #expect(try await !deployment.isValid(session.token))
    }

    @Test("the page speaks its reader's language, and so does what went wrong")
    func german() async throws {
        let browser = AccountBrowser(deployment.client)
        try await browser.open(Self.page, headers: [("Accept-Language", "de")])
        #expect(browser.page.contains("<h1>Anmelden</h1>") && browser.page.contains("<html lang=\"de\">"))
    }

    // MARK: Providers

    /// Completes the provider's dialog and returns to the page's form.
    private func comeBack(_ browser: AccountBrowser, as person: Visitor) async throws {
        try await browser.open(Self.page + "/providers/facebook/start")
        let dialog = try Address(try #require(browser.reply?.header("Location"), "\(browser.page)"))
        let back = try await deployment.answer(dialog, as: person)
        try await browser.arrive(at: back.path + "?" + Address.encode(back.query))
    }

    @Test("a provider's dialog logs in, and ends in the browser that began it (T-70)")
    func provider() async throws {
        let person = try await person("p")
        let session = try await deployment.loggedIn(person)
        let browser = AccountBrowser(deployment.client)
        try await browser.open(Self.page)
        #expect(browser.page.contains("\(Self.page)/providers/facebook/start"), "\(browser.page)")
        try await comeBack(browser, as: person)
        #expect(browser.status == 200 && browser.session() == nil, "\(browser.page)")
        let path = Self.page + "/providers/facebook"
        // The code alone, as another page or another browser would send it.
        let code = try #require(PageForms.fields(in: browser.page[...])["loginCode"])
        let thief = AccountBrowser(deployment.client)
        for fields in [["loginCode": code], ["loginCode": code, "form": browser.formToken ?? ""]] {
            try await thief.post(path, fields)
            #expect(thief.status == 400 && thief.session() == nil)
        }
        let other = AccountBrowser(deployment.client, cookies: browser.cookies)
        try await other.post(path, ["loginCode": code])
        #expect(other.status == 400 && other.session() == nil)
        try await browser.send(formTo: path)
        #expect(browser.status == 200 && browser.session() != nil, "\(browser.page)")
        #expect(try await sessions(of: session) == "2")
    }

    @Test("a state of another dialog, and another browser, end nothing here")
    func foreignState() async throws {
        let person = try await deployment.newcomer()
        let first = AccountBrowser(deployment.client)
        try await first.open(Self.page + "/providers/facebook/start")
        let dialog = try Address(try #require(first.reply?.header("Location")))
        let back = try await deployment.answer(dialog, as: person)
        let target = back.path + "?" + Address.encode(back.query)
        let second = AccountBrowser(deployment.client)
        try await second.arrive(at: target)
        #expect(second.status == 400 && !second.page.contains("loginCode"), "\(second.page)")
        let foreign = try await deployment.client.get(target.replacing("/demo/", with: "/other/"))
        #expect(foreign.status == 400 && !foreign.text.contains("loginCode"))
        try await first.arrive(at: target)
        #expect(first.status == 200 && first.page.contains("loginCode"), "\(first.page)")
    }

    @Test("an account at a provider is linked by who is logged in, and one that is another's stays theirs (T-41)")
    func linking() async throws {
        let (email, session) = try await member()
        let browser = try await deployment.accountBrowser(of: session.token)
        #expect(browser.page.contains("Link Facebook account"), "\(browser.page)")
        let person = try await deployment.newcomer()
        try await comeBack(browser, as: person)
        try await browser.send(formTo: Self.page + "/providers/facebook")
        #expect(browser.status == 200 && browser.page.contains(email), "\(browser.page)")
        #expect(browser.page.contains("Facebook account") && !browser.page.contains("Link Facebook account"))
        #expect(browser.page.contains("The account was linked."), "\(browser.page)")
        #expect(!browser.page.contains(person.id), "a number tells nobody anything")
        let owner = "select object_id from demo.identities where subject = '\(person.id)'"
        #expect(try await deployment.value(owner)?.uppercased() == session.objectID)
        let (_, thief) = try await member()
        let others = try await deployment.accountBrowser(of: thief.token)
        try await comeBack(others, as: person)
        try await others.send(formTo: Self.page + "/providers/facebook")
        #expect(others.status == 409, "\(others.page)")
        #expect(try await deployment.value(owner)?.uppercased() == session.objectID)
    }

    @Test("who has no password shows by the provider anew who they are")
    func proofByProvider() async throws {
        let person = try await person("q")
        let session = try await deployment.loggedIn(person)
        let browser = try await deployment.accountBrowser(of: session.token)
        try await age(browser)
        let path = Self.page + "/delete"
        try await browser.open(path)
        try await browser.send(formTo: path, ["word": "DELETE"])
        #expect(browser.page.contains("\(Self.page)/providers/facebook/start"), "\(browser.page)")
        #expect(try await user("count(*)", of: session) == "1")
        try await comeBack(browser, as: person)
        try await browser.send(formTo: Self.page + "/providers/facebook")
        #expect(browser.page.contains("You can now make the change."), "\(browser.page)")
        try await browser.open(path)
        try await browser.send(formTo: path, ["word": "DELETE"])
        #expect(browser.page.contains("<h1>Account deleted</h1>"), "\(browser.page)")
        #expect(try await user("count(*)", of: session) == "0")
    }
}

extension Array {
    fileprivate func asyncFilter(_ isKept: (Element) async throws -> Bool) async rethrows -> [Element] {
        var kept: [Element] = []
        for element in self where try await isKept(element) { kept.append(element) }
        return kept
    }
}
