import Domain
import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Login through the server",
    .serialized,
    .deployed(
        Document(
            options: """
                "returnUrls": ["https://app.example.com/done?from=login", "com.example.app:/done", "https://app.example.com/other"], \
                "permissions": ["public_profile", "email"], "redirectUris": ["https://app.example.com/cb"]
                """,
            settings: #"{"allowedOrigins": ["https://page.example.com"], "hostNames": ["users.example.com"]}"#,
            properties: """
                {"birthday": {"type": "STRING", "clientMappable": true}, \
                \((0..<20).map { #""p\#($0)": {"type": "STRING", "clientMappable": true}"# }.joined(separator: ", "))}
                """,
            mapping: #"{"email": "email"}"#
        ),
        Document(application: "bare", settings: #"{"hostNames": ["bare.example.com"]}"#)
    )
)
struct DialogTests {
    private static let home = "https://app.example.com/done?from=login"
    private static let page = "https://page.example.com"

    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Returns the login code in the redirect at the end of a login.
    private func loginCode(of end: HTTPReply) throws -> String {
        let location = try #require(end.header("Location"), "\(end.status) \(end.text)")
        return try #require(try Address(location)["loginCode"], "\(location)")
    }

    /// Returns a request with a mapping whose entries have 110 to 120 bytes each.
    private static func request(mappedFields: Int) -> String {
        let members = (0..<mappedFields).map {
            #""picture.data.\#(String(repeating: "x", count: 90))\#($0)": "p\#($0)""#
        }
        return #"{"fieldsMapping": {\#(members.joined(separator: ","))}}"#
    }

    private var ownAddress: String { "http://127.0.0.1:\(deployment.client.port)" }

    // MARK: The address of the dialog

    @Test("T-73: the dialog's address has a fixed list of parameters, and what would add to it is refused by its name")
    func parameters() async throws {
        for member in ["client_id", "scope", "login_hint", "state", "display", "redirect_uri", "Permissions", "x"] {
            let reply = try await deployment.requestURL(#"{"permissions": "email", "\#(member)": "x"}"#)
            try expectProblem(reply, "malformed_request", "\(member)")
            let named = [".", " (did you mean "].contains { reply.text.contains("Not known here: \(member)\($0)") }
            #expect(named, "\(reply.text)")
        }
        let reply = try await deployment.requestURL(
            #"{"permissions": "email,user_birthday", "authType": "rerequest", "contentType": "application/json"}"#
        )
        #expect(reply.status == 200)
        #expect(reply.header("Content-Type") == "text/plain; charset=utf-8")
        #expect(reply.header("Cache-Control") == "no-store")
        #expect(try Address(reply.text).origin == ownAddress)
        let dialog = try await deployment.open(try Address(reply.text))
        #expect(dialog.origin == deployment.simulator.url)
        #expect(dialog.path == "/v25.0/dialog/oauth")
        #expect(
            dialog.query.map(\.name) == [
                "client_id", "redirect_uri", "state", "response_type", "scope", "return_scopes", "auth_type",
                "code_challenge",
                "code_challenge_method",
            ]
        )
        #expect(dialog["client_id"] == "1234567890")
        #expect(dialog["redirect_uri"] == ownAddress + deployment.path("users/oauth/facebook/authorize"))
        #expect((300...500).contains(dialog["state"]?.utf8.count ?? 0))
        #expect(dialog["response_type"] == "code")
        #expect(dialog["scope"] == "email,user_birthday")
        #expect(dialog["return_scopes"] == "true")
        #expect(dialog["auth_type"] == "rerequest")
        #expect(dialog["code_challenge"]?.utf8.count == 43)
        #expect(dialog["code_challenge_method"] == "S256")
    }

    @Test(
        "every spelling of client SDKs is taken, on either path",
        arguments: [
            "", "{}", #"{"fieldsMapping": {"birthday": "birthday"}, "permissions": "email, user_birthday"}"#,
            #"{"fieldsMappings": {"birthday": "birthday"}, "permissions": "email user_birthday"}"#,
            #"{"fieldsMapping": "{\"birthday\": \"birthday\"}", "permissions": ["email", "user_birthday"]}"#,
            #"{"fieldsMappings": "{}", "permissions": [], "redirect": false, "callbackUrlDomain": "127.0.0.1"}"#,
            #"{"fieldsMapping": null, "permissions": null, "redirect": null, "redirectAfterLoginUrl": null, "contentType": "text"}"#,
            #"{"redirectAfterLoginUrl": "https://app.example.com/other", "callbackUrlDomain": "users.example.com"}"#,
            #"{"permissions": "", "redirectAfterLoginUrl": "", "callbackUrlDomain": "", "appId": "1234567890"}"#,
        ]
    )
    func spellings(body: String) async throws {
        for path in [
            "users/oauth/facebook/request_url", "users/social/oauth/facebook/request_url",
            "users/oauth/Facebook/request_url", "users/social/oauth/FACEBOOK/request_url",
        ] {
            let reply = try await deployment.requestURL(body, path: path)
            #expect(reply.status == 200, "\(reply.text)")
            let address = try Address(reply.text)
            guard address.origin == ownAddress else {
                // The address is on a host name of the application.
                #expect(address.path == "/api/users/oauth/facebook/start")
                continue
            }
            let dialog = try await deployment.open(address)
            let wantsBirthday = body.contains("user_birthday")
            #expect(dialog["scope"] == (wantsBirthday ? "email,user_birthday" : "public_profile,email"))
        }
        let path = deployment.path("users/oauth/facebook/request_url")
        if body.isEmpty {
            #expect(try await deployment.client.send("POST", path).status == 200, "no body and no content type")
        } else {
            try expectProblem(
                try await deployment.client.send(
                    "POST",
                    path,
                    headers: [("Content-Type", "text/plain")],
                    body: Array(body.utf8)
                ),
                "unsupported_media_type"
            )
        }
    }

    @Test("with redirect the browser is sent on its way to the dialog at once, by 303")
    func redirect() async throws {
        for more in ["", #", "codeChallenge": "\#(ProofKey.challenge)""#] {
            let reply = try await deployment.requestURL(#"{"redirect": true\#(more)}"#)
            #expect(reply.status == 303)
            #expect(reply.text == "")
            #expect(reply.header("Set-Cookie") == nil)
            let location = try await deployment.open(try Address(try #require(reply.header("Location"))))
            #expect(location.path == "/v25.0/dialog/oauth")
            #expect(location["state"] != nil)
        }
    }

    @Test("a configuration of Facebook Login for Business goes into the dialog: the request's, or else the app's")
    func configuration() async throws {
        func names(_ body: String) async throws -> (scope: String?, config: String?) {
            let dialog = try await deployment.dialog(body)
            return (dialog["scope"], dialog["config_id"])
        }
        #expect(try await names("{}") == ("public_profile,email", nil))
        #expect(try await names(#"{"configId": "998877665544332"}"#) == (nil, "998877665544332"))
        #expect(try await names(#"{"configId": "1", "permissions": "email"}"#) == ("email", "1"))
        #expect(try await names(#"{"configId": "1", "codeChallenge": "\#(ProofKey.challenge)"}"#) == (nil, "1"))
        for id in ["x", "1&scope=x", "12.5", " 1", "\u{0661}", String(repeating: "1", count: 33)] {
            try expectProblem(
                try await deployment.requestURL(#"{"configId": \#(JSON.quoted(id))}"#),
                "malformed_request",
                "\(id)"
            )
        }
        try expectProblem(try await deployment.requestURL(#"{"configId": 1}"#), "malformed_request")

        let owner = try await deployment.admin()
        let path = "applications/demo/providers/facebook"
        let apps = try #require(try await owner.get(path)["apps"]?.array)
        func set(_ configID: String?) async throws {
            let changed = apps.map { app in
                var app = app.object ?? JSONObject()
                if let configID { app.append("configId", .string(configID)) }
                return JSONValue.object(app)
            }
            try await owner.ask("PATCH", path, #"{"apps": \#(JSONValue.array(changed).text)}"#)
            try await eventually("the change counts") { try await names("{}").config == configID }
        }
        try await set("4711")
        #expect(try await owner.get(path)["apps"]?.array?.first?.object?["configId"]?.string == "4711")
        #expect(try await names("{}") == (nil, "4711"))
        #expect(try await names(#"{"configId": "5", "permissions": ["email"]}"#) == ("email", "5"))
        try await set(nil)
        #expect(try await names("{}").scope == "public_profile,email")
    }

    @Test("what is wrong with a request is said before anybody is sent to Facebook, and nothing is kept of it")
    func refusals() async throws {
        let cases = [
            (#"{"fieldsMapping": {"birthday": "nope"}}"#, "mapping_target_not_allowed"),
            (
                #"{"fieldsMapping": {"birthday": "birthday"}, "fieldsMappings": {"email": "email"}}"#,
                "malformed_request"
            ),
            (#"{"fieldsMapping": "{"}"#, "malformed_request"), (#"{"permissions": 1}"#, "malformed_request"),
            (#"{"permissions": [1]}"#, "malformed_request"), (#"{"permissions": "email&x=y"}"#, "malformed_request"),
            (#"{"permissions": ["Email"]}"#, "malformed_request"), (#"{"redirect": "yes"}"#, "malformed_request"),
            (#"{"authType": "https"}"#, "malformed_request"), (#"{"codeChallenge": "short"}"#, "malformed_request"),
            (#"{"codeChallenge": "\#(ProofKey.challenge)", "codeChallengeMethod": "plain"}"#, "malformed_request"),
            (#"{"codeChallengeMethod": "S256"}"#, "malformed_request"), (#"{"appId": "1"}"#, "provider_not_configured"),
            (#"{"callbackUrlDomain": "evil.example"}"#, "malformed_request"),
            (#"{"callbackUrlDomain": "bare.example.com"}"#, "malformed_request"), ("[]", "malformed_request"),
            (Self.request(mappedFields: 20), "malformed_request"),
        ]
        try await deployment.expectNothingWritten {
            for (body, reason) in cases {
                try expectProblem(try await deployment.requestURL(body), reason, "\(body)")
            }
            let text = try await deployment.requestURL(path: "users/oauth/google/request_url")
            try expectProblem(text, "not_found")
        }
    }

    @Test("T-72: the address to return to is one of the operator's to the byte, and no other is tried in its place")
    func returnURLs() async throws {
        try await deployment.expectNothingWritten {
            for url in [
                "https://app.example.com/done", "https://app.example.com/done?from=login&x=1", "//evil.example",
                "///evil.example", "\\\\evil.example", "https:evil.example",
                "https://app.example.com@evil.example/done?from=login",
                "https://app.example.com.evil.example/done?from=login",
                "https://app.example.com/done?from=login\r\nX-A: b",
                "https://app.example.com/done?from=login%0d%0a", "javascript:alert(1)",
                "HTTPS://app.example.com/done?from=login",
                // Without a challenge a listed custom scheme is refused, too.
                "com.example.app:/done/", "com.example.app:/done#", " com.example.app:/done", "com.example.app:/done",
            ] {
                try expectProblem(
                    try await deployment.requestURL(
                        #"{"redirectAfterLoginUrl": \#(JSON.quoted(url))}"#,
                        headers: [("Origin", Self.page)]
                    ),
                    "malformed_request",
                    "\(url)"
                )
            }
        }
    }

    @Test("an application with nowhere to end a login says what its operator has to set")
    func nowhere() async throws {
        let bare = deployment.documents[1]
        for headers in [[], [("Origin", Self.page)], [("Origin", "null")]] {
            let reply = try await deployment.requestURL(headers: headers, of: bare)
            try expectProblem(reply, "provider_not_configured")
            #expect(reply.text.contains("returnUrls"))
            #expect(reply.text.contains("allowedOrigins"))
        }
    }

    @Test("T-71: our own address comes from the configuration, whatever a request says of hosts")
    func hosts() async throws {
        let forged = [
            ("X-Forwarded-Host", "evil.example"), ("X-Forwarded-Proto", "ftp"), ("Forwarded", "host=evil.example"),
            ("X-Original-Host", "evil.example"), ("Host", "evil.example"), ("Referer", "https://evil.example/"),
        ]
        for header in forged {
            let dialog = try await deployment.dialog(headers: [header])
            #expect(dialog["redirect_uri"] == ownAddress + deployment.path("users/oauth/facebook/authorize"))
        }
        // A request to a host name of the application gets our address with that name, and scheme and port of the
        // public URL.
        let port = deployment.client.port
        let reply = try await deployment.client.post(
            "/api/users/oauth/facebook/request_url",
            json: "{}",
            headers: [("Host", "Users.Example.com:4711"), ("X-Forwarded-Host", "evil.example")]
        )
        let base = "http://users.example.com:\(port)/api/users/oauth/facebook"
        // The cookie is for one host, so the browser starts the dialog on the host that it returns to.
        let named = try await deployment.requestURL(#"{"callbackUrlDomain": "users.example.com"}"#)
        for reply in [reply, named] {
            #expect(reply.text.hasPrefix(base + "/start?dialog="), "\(reply.text)")
            let start = try Address(reply.text)
            let started = try await deployment.client.get(
                "\(start.path)?\(Address.encode(start.query))",
                headers: [("Host", "users.example.com:\(port)")]
            )
            let dialog = try Address(try #require(started.header("Location"), "\(started.text)"))
            #expect(dialog["redirect_uri"] == base + "/authorize")
        }
    }

    // MARK: By redirect

    @Test("a login ends at the return URL with a code, which counts once, in a body")
    func byRedirect() async throws {
        let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com"}"#)
        for (body, home) in [
            ("{}", Self.home + "&loginCode="),
            (
                #"{"redirectAfterLoginUrl": "https://app.example.com/other"}"#,
                "https://app.example.com/other?loginCode="
            ),
        ] {
            let end = try await deployment.login(through: body, as: ann)
            #expect(end.status == 303)
            #expect(end.text == "")
            #expect(end.header("Cache-Control") == "no-store")
            #expect(end.header("Referrer-Policy") == "no-referrer")
            #expect(end.header("Set-Cookie") == nil)
            let location = try #require(end.header("Location"))
            try #require(location.hasPrefix(home), "\(location)")
            let code = String(location.dropFirst(home.count))
            #expect(code.utf8.count == 43)
            // T-09: neither in a URL nor in a form.
            let path = deployment.path("users/loginWithFacebook")
            try expectProblem(
                try await deployment.client.post("\(path)?loginCode=\(code)", json: "{}"),
                "credential_missing"
            )
            try expectProblem(try await deployment.client.get("\(path)?loginCode=\(code)"), "method_not_allowed")
            let form = [("Content-Type", "application/x-www-form-urlencoded")]
            try expectProblem(
                try await deployment.client.send("POST", path, headers: form, body: Array("loginCode=\(code)".utf8)),
                "unsupported_media_type"
            )
            // T-16: the code is invalid for another application.
            try expectProblem(try await deployment.redeem(code, of: deployment.documents[1]), "credential_invalid")
            let signedIn = try deployment.signedIn(try await deployment.redeem(code))
            #expect(signedIn.user["email"]?.string == "ann.canary@example.com")
            try await deployment.expectNothingWritten {
                try expectProblem(try await deployment.redeem(code), "credential_invalid")
            }
        }
    }

    @Test(
        "T-74: a login that was begun with a challenge needs the verifier; one that was not takes none; a guess uses it up"
    )
    func challenge() async throws {
        let ann = try await deployment.newcomer()
        func code(_ body: String) async throws -> String {
            let end = try await deployment.login(through: body, as: ann)
            return try loginCode(of: end)
        }
        let begun = #"{"codeChallenge": "\#(ProofKey.challenge)", "codeChallengeMethod": "S256"}"#
        let right = try await deployment.redeem(try await code(begun), verifier: ProofKey.verifier)
        _ = try deployment.signedIn(right)
        for (body, verifier) in [
            (begun, nil), (begun, String(ProofKey.verifier.reversed())), (begun, ProofKey.challenge), (begun, "x"),
            ("{}", ProofKey.verifier),
        ] {
            let code = try await code(body)
            try expectProblem(
                try await deployment.redeem(code, verifier: verifier),
                "credential_invalid",
                "\(verifier ?? "-")"
            )
            let second = try await deployment.redeem(code, verifier: body == begun ? ProofKey.verifier : nil)
            try expectProblem(second, "credential_invalid", "a second try")
        }
    }

    @Test("a login code counts for a minute, and for nothing once the provider is switched off")
    func codeEnds() async throws {
        let ann = try await deployment.newcomer()
        func code() async throws -> String { try loginCode(of: try await deployment.login(as: ann)) }
        for (seconds, counts) in [(55, true), (60, false)] {
            let code = try await code()
            try await deployment.database.psql(
                "update demo.single_use set expires = expires - interval '\(seconds) seconds' where kind = 'loginCode'"
            )
            let reply = try await deployment.redeem(code)
            if counts { _ = try deployment.signedIn(reply) } else { try expectProblem(reply, "credential_invalid") }
        }
        func set(enabled: Bool, _ status: Int) async throws {
            let path = "applications/demo/providers/facebook"
            try await deployment.admin().ask("PATCH", path, #"{"enabled": \#(enabled)}"#)
            try await eventually("the service knows") { try await deployment.requestURL().status == status }
        }
        let last = try await code()
        try await set(enabled: false, 400)
        let refused = try await deployment.redeem(last)
        try await set(enabled: true, 200)
        try expectProblem(refused, "provider_not_configured")
    }

    @Test("what the browser says was declined does not count where Facebook lists it as granted")
    func declinedByBrowser() async throws {
        let ann = try await deployment.newcomer()
        let dialog = try await deployment.dialog(headers: [("Origin", Self.page)])
        var callback = try await deployment.answer(dialog, as: ann)
        callback.query.removeAll { $0.name == "denied_scopes" }
        callback.query.append(("denied_scopes", "email,user_birthday"))
        _ = try handedOver(try await deployment.comeBack(to: callback))
        let scopes = try await deployment.value(
            "select concat(declined_scopes, granted_scopes @> '{email}') from demo.identities where subject = '\(ann.id)'"
        )
        #expect(scopes == "{user_birthday}t")
    }

    @Test("a client that sends a challenge gets a code, even from a page that could have a popup")
    func challengeOfPage() async throws {
        let end = try await deployment.login(
            through: #"{"codeChallenge": "\#(ProofKey.challenge)"}"#,
            headers: [("Origin", Self.page)],
            as: try await deployment.newcomer()
        )
        #expect(end.status == 303)
        #expect(end.header("Location")?.hasPrefix(Self.home) == true)
    }

    @Test("a dialog that was cancelled or has failed comes back with our reason and none of Facebook's words")
    func failures() async throws {
        let ann = try await deployment.newcomer()
        let cancelled = try await deployment.login(as: ann, .cancel)
        #expect(cancelled.status == 303)
        #expect(cancelled.header("Location") == Self.home + "&error=8117&reason=login_cancelled")
        for (query, end) in [
            ("error_code=901&error_message=canary<script>", "8102&reason=provider_misconfigured"),
            ("error_message=canary", "8102&reason=provider_misconfigured"),
            ("error=invalid_scope&error_description=canary", "8102&reason=provider_misconfigured"),
            ("error=server_error", "8141&reason=provider_unavailable"),
            ("error_code=2", "8141&reason=provider_unavailable"), ("", "8110&reason=credential_missing"),
            ("code=canary", "8112&reason=credential_invalid"), ("code=a&code=b", "8110&reason=credential_missing"),
            ("code=%zz", "8110&reason=credential_missing"), ("code=a%0d%0ab", "8112&reason=credential_invalid"),
            ("access_token=\(ann.token)", "8110&reason=credential_missing"),
            ("loginCode=x&id_token=y", "8110&reason=credential_missing"),
        ] {
            try await deployment.expectNothingWritten(except: ["demo.single_use"]) {
                let dialog = try await deployment.dialog()
                let callback = try Address(try #require(dialog["redirect_uri"]))
                let state = try #require(dialog["state"])
                let reply = try await deployment.browser.get(
                    "\(callback.path)?\(query)&state=\(state)",
                    at: deployment.client
                )
                #expect(reply.status == 303)
                #expect(reply.header("Location") == Self.home + "&error=" + end, "\(query)")
            }
        }
        // The code of another user's dialog with this dialog's state: its challenge is a different one.
        let stolen = try await deployment.answer(try await deployment.dialog(), as: ann)
        var callback = try await deployment.answer(try await deployment.dialog(), as: ann)
        callback.query = [("code", try #require(stolen["code"])), ("state", try #require(callback["state"]))]
        let injected = try await deployment.comeBack(to: callback)
        #expect(injected.header("Location") == Self.home + "&error=8112&reason=credential_invalid")
    }

    @Test("a permission that was declined is kept with the identity, named in the reply, and can be asked for again")
    func declined() async throws {
        let ann = try await deployment.newcomer(
            #"{"email": "ann.canary@example.com", "birthday": "05/17/1990", "permissions": {"public_profile": "granted"}}"#
        )
        let wish = #""fieldsMapping": {"birthday": "birthday"}, "permissions": "email,user_birthday""#
        func login(_ body: String, _ granted: [String]) async throws -> LoginResult {
            let end = try await deployment.login(through: body, as: ann, .allow(granted))
            let code = try loginCode(of: end)
            return try deployment.signedIn(try await deployment.redeem(code))
        }
        func scopes() async throws -> JSONObject? {
            try await deployment.rows(
                """
                select jsonb_build_object('granted', to_jsonb(granted_scopes), 'declined', to_jsonb(declined_scopes))
                from demo.identities where subject = '\(ann.id)'
                """
            ).first
        }
        let first = try await login("{\(wish)}", ["email"])
        #expect(first.user["birthday"] == .null)
        #expect(first.user["email"]?.string == "ann.canary@example.com")
        #expect(first.reply.header("Federation-Missing-Permissions") == "user_birthday")
        #expect(try await scopes()?["declined"] == .array([.string("user_birthday")]))

        let again = try await login(#"{\#(wish), "authType": "rerequest"}"#, ["email", "user_birthday"])
        #expect(again.objectID == first.objectID)
        #expect(again.user["birthday"]?.string == "05/17/1990")
        #expect(again.reply.header("Federation-Missing-Permissions") == nil)
        #expect(try await scopes()?["declined"] == .array([]))
    }

    // MARK: By popup

    @Test("a page of an allowed origin gets the user object by a message to that origin alone")
    func byPopup() async throws {
        let ann = try await deployment.newcomer(
            #"{"email": "ann.canary@example.com", "extra": {"motto": "</script><script>alert(1)//&\u2028"}}"#
        )
        let reply = try await deployment.login(
            through: #"{"fieldsMapping": {"motto": "p0"}}"#,
            headers: [("Origin", Self.page)],
            as: ann
        )
        expectPage(reply, status: 200, scripts: true)
        #expect(!reply.text.contains("alert(1)//&"))
        #expect(reply.text.components(separatedBy: "<script").count == 4)
        let (user, origin) = try handedOver(reply)
        #expect(origin == Self.page)
        #expect(user["___class"]?.string == "Users")
        #expect(user["p0"]?.string == "</script><script>alert(1)//&\u{2028}")
        #expect(user["user-created"]?.bool == true)
        #expect(user["missing-permissions"] == .array([]))
        let token = try #require(user["user-token"]?.string)
        let mine = try await deployment.get("users/isvalidusertoken/\(token)")
        #expect(mine.text == "true")
    }

    @Test(
        "the message of a popup tells what the headers of a login tell: who is new, and which permissions are missing"
    )
    func popupTells() async throws {
        let ann = try await deployment.newcomer(
            #"{"permissions": {"public_profile": "granted", "email": "granted", "user_birthday": "granted"}}"#
        )
        func login(_ granted: [String], _ members: String = "") async throws -> JSONObject {
            let wish = #""fieldsMapping": {"birthday": "birthday"}, "permissions": "email,user_birthday""#
            let reply = try await deployment.login(
                through: "{\(wish)\(members)}",
                headers: [("Origin", Self.page)],
                as: ann,
                .allow(granted)
            )
            return try handedOver(reply).message
        }
        let first = try await login([])
        #expect(first["user-created"]?.bool == true)
        #expect(first["missing-permissions"] == .array([.string("email"), .string("user_birthday")]))
        let second = try await login(["email"], #", "authType": "rerequest""#)
        #expect(second["user-created"]?.bool == false)
        #expect(second["missing-permissions"] == .array([.string("user_birthday")]))
        #expect(second["objectId"] == first["objectId"])
    }

    @Test("a popup that was cancelled or has failed hands over a fault")
    func failedPopup() async throws {
        let cancelled = try await deployment.login(
            headers: [("Origin", Self.page)],
            as: try await deployment.newcomer(),
            .cancel
        )
        expectPage(cancelled, status: 200, scripts: true)
        let (message, origin) = try handedOver(cancelled)
        #expect(origin == Self.page)
        #expect(message.keys == ["fault"])
        let fault = message["fault"]?.object
        #expect(fault?["code"]?.integer == 8117)
        #expect(fault?["message"]?.string?.isEmpty == false)
        #expect(fault?["errorData"]?.object?["reason"]?.string == "login_cancelled")
    }

    @Test("only a listed origin has a popup, compared to the byte; every other login ends by redirect")
    func otherOrigins() async throws {
        let ann = try await deployment.newcomer()
        for origin in [
            "https://page.example.com.evil.example", "https://page.example.com:443", "http://page.example.com", "null",
            "*",
        ] {
            let end = try await deployment.login(headers: [("Origin", origin)], as: ann)
            #expect(end.status == 303, "\(origin)")
        }
    }

    // MARK: The state

    @Test("T-70: a callback without a state, with a foreign, a used or an old one ends at a page that repeats nothing")
    func states() async throws {
        let ann = try await deployment.newcomer()
        let callback = try await deployment.answer(try await deployment.dialog(), as: ann)
        let used = try await deployment.answer(try await deployment.dialog(), as: ann)
        #expect(try await deployment.comeBack(to: used).status == 303)
        let state = try #require(callback["state"])
        let path = callback.path
        let other = deployment.path("users/oauth/facebook/authorize", of: deployment.documents[1])
        let requests = try await deployment.simulator.requests {
            try await deployment.expectNothingWritten {
                for target in [
                    path, "\(path)?code=canary", "\(path)?state=&code=canary", "\(path)?state=canary&code=canary",
                    "\(path)?state=\(String(repeating: "A", count: 43))&code=c",
                    "\(path)?state=\(String(repeating: "A", count: 7000))&code=c",
                    "\(path)?state=\(used["state"] ?? "")&code=\(used["code"] ?? "")",
                    "\(path)?state=\(state)&state=\(state)&code=c", "\(path)?State=\(state)&code=c",
                    "\(path)?state=\(state)%00&code=c", "\(path)?state=\(state.dropLast())&code=c",
                    "\(path)?state=\(state)=&code=c",
                    "\(other)?state=\(state)&code=\(callback["code"] ?? "")",
                    "\(path)?error=%3Cscript%3Ecanary&error_description=canary&state=canary",
                ] {
                    let reply = try await deployment.browser.get(target, at: deployment.client)
                    expectPage(reply, status: 400)
                    #expect(!reply.text.contains("canary"))
                    #expect(reply.header("Location") == nil)
                }
            }
        }
        #expect(requests.isEmpty)
        // The state of an address that was never opened is not accepted either: it belongs to no browser.
        let ticket = try Address(try await deployment.requestURL().text)
        let asState = try await deployment.browser.get(
            "\(path)?state=\(ticket["dialog"] ?? "")&code=c",
            at: deployment.client
        )
        expectPage(asState, status: 400)
        // The path of older clients accepts the same state; a POST is a callback only as a form.
        try expectProblem(try await deployment.client.post(path, json: "{}"), "unsupported_media_type")
        var social = try Address(deployment.simulator.url + deployment.path("users/social/Facebook/authorize"))
        social.query = callback.query
        #expect(try await deployment.comeBack(to: social).status == 303)
    }

    @Test("T-60: of 50 uses of one state, and of one login code, at once over two instances one succeeds")
    func races() async throws {
        try await withSecondInstance(of: deployment) { other in
            let ann = try await deployment.newcomer()
            let clients = [deployment.client, other]
            let callback = try await deployment.answer(try await deployment.dialog(), as: ann)
            let ends = try await atOnce(50) { try await deployment.comeBack(to: callback, at: clients[$0 % 2]) }
            let successes = ends.compactMap { $0.header("Location") }
            try #require(successes.count == 1)
            #expect(ends.count { $0.status == 400 } == 49)
            let code = try #require(try Address(successes[0])["loginCode"])
            let logins = try await atOnce(50) { try await deployment.redeem(code, at: clients[$0 % 2]) }
            #expect(logins.count { $0.status == 200 } == 1)
            for login in logins where login.status != 200 { try expectProblem(login, "credential_invalid") }
        }
    }

    @Test("a login does not end at an address that the operator has taken away meanwhile")
    func unlisted() async throws {
        let ann = try await deployment.newcomer()
        let path = "applications/demo/providers/facebook"
        let owner = try await deployment.admin()
        let listed = try #require(try await owner.get(path)["returnUrls"])
        let callback = try await deployment.answer(try await deployment.dialog(), as: ann)
        /// Changes the list and waits until the change applies.
        func list(_ addresses: String, isListed: Bool) async throws {
            try await owner.ask("PATCH", path, #"{"returnUrls": \#(addresses)}"#)
            let wish = #"{"redirectAfterLoginUrl": "\#(Self.home)"}"#
            try await eventually("the change counts") {
                try await deployment.requestURL(wish).status == (isListed ? 200 : 400)
            }
        }
        try await list(#"["https://app.example.com/other"]"#, isListed: false)
        let requests = try await deployment.simulator.requests {
            try await deployment.expectNothingWritten {
                expectPage(try await deployment.comeBack(to: callback), status: 400)
            }
        }
        #expect(requests.isEmpty)
        try await list(listed.text, isListed: true)
        #expect(try await deployment.comeBack(to: callback).status == 303)
    }

    @Test("dialogs that nobody comes back from take no room")
    func room() async throws {
        try await deployment.expectNothingWritten {
            for _ in 0..<50 { _ = try await deployment.dialog() }
        }
    }

    @Test("a mapping of nearly 2048 bytes travels with the state")
    func longMapping() async throws {
        let ann = try await deployment.newcomer()
        let end = try await deployment.login(through: Self.request(mappedFields: 17), as: ann)
        #expect(try await deployment.redeem(try loginCode(of: end)).status == 200)
    }

    @Test("nothing of a login on its way is readable in the database, neither state nor code nor token")
    func encrypted() async throws {
        let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com"}"#)
        let dialog = try await deployment.dialog(#"{"fieldsMapping": {"birthday": "birthday"}}"#)
        let end = try await deployment.login(as: ann)
        let code = try loginCode(of: end)
        let words = [try #require(dialog["state"]), code, ann.id, "birthday", "canary@", "EAAcanary"]
        let rows = try await deployment.rows(
            "select to_jsonb(s) || jsonb_build_object('raw', encode(payload, 'escape')) from demo.single_use s"
        )
        #expect(rows.count >= 2)
        for row in rows {
            let text = JSONValue.object(row).text
            for word in words { #expect(!text.contains(word)) }
        }
        #expect(try await deployment.redeem(code).status == 200)
    }

    // MARK: One user

    @Test(
        "one person, by an access token, a code, an ID token, the dialog by redirect and by popup: one user, the same properties"
    )
    func onePerson() async throws {
        let ann = try await deployment.newcomer(
            """
            {"email": "ann.canary@example.com", "birthday": "05/17/1990",
             "permissions": {"public_profile": "granted", "email": "granted", "user_birthday": "granted"}}
            """
        )
        let mapping = #""fieldsMapping": {"birthday": "birthday"}"#
        let scopes = ["email", "user_birthday"]
        func login(_ credential: String, headers: [(String, String)] = []) async throws -> LoginResult {
            try deployment.signedIn(try await deployment.login(body: "{\(credential), \(mapping)}", headers: headers))
        }
        let first = try await login(#""accessToken": "\#(ann.token)""#)
        var users = [first.user]
        let redirect = "https://app.example.com/cb"
        let code = try await deployment.code(of: ann, redirectURI: redirect, scopes: scopes)
        users.append(try await login(#""code": "\#(code)", "redirectUri": "\#(redirect)""#).user)
        users.append(try await login(#""idToken": "\#(try await deployment.idToken(of: ann))""#).user)
        let wish = #"{\#(mapping), "permissions": "email,user_birthday"}"#
        let end = try await deployment.login(through: wish, as: ann, .allow(scopes))
        let previous = [("user-token", first.token)]
        let redeemed = try await deployment.redeem(try loginCode(of: end), headers: previous)
        users.append(try deployment.signedIn(redeemed).user)
        let popup = try await deployment.login(through: wish, headers: [("Origin", Self.page)], as: ann, .allow(scopes))
        users.append(try handedOver(popup).message)

        #expect(first.created)
        #expect(first.user["birthday"]?.string == "05/17/1990")
        for user in users {
            for name in ["objectId", "email", "birthday", "name", "created", "socialAccount", "userStatus"] {
                #expect(user[name] == first.user[name], "\(name)")
            }
        }
        let identities = try await deployment.value("select count(*) from demo.identities where subject = '\(ann.id)'")
        #expect(identities == "1")
        let previousSession = try await deployment.get("users/isvalidusertoken/\(first.token)")
        #expect(
            previousSession.text == "false",
            "the session that the exchange of the login code brought along has ended"
        )
    }
}
