import Foundation
import GraphSimulator
import Testing

@Suite("the login dialog")
struct LoginDialogTests {
    private static let redirectURI = "https://app.example/callback?a=1"
    private static let request = "client_id=\(SampleWorld.app)&redirect_uri=\(Wire.encoded(redirectURI))"

    /// The parameters of the redirect to the app, decoded by other code than the simulator's, and its fragment.
    private struct Callback {
        var base: String
        var parameters: [(name: String, value: String)] = []
        var fragment: String?

        init(_ reply: Wire.Reply) throws {
            #expect(reply.status == 302)
            let location = try #require(reply.header("location"))
            let parts = location.split(separator: "#", maxSplits: 1).map(String.init)
            fragment = parts.count > 1 ? parts[1] : nil
            let halves = parts[0].split(separator: "?", maxSplits: 1).map(String.init)
            base = halves[0]
            for pair in halves[1].split(separator: "&") {
                let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let value = sides[1].replacing("+", with: " ")
                parameters.append((String(sides[0]), String(value).removingPercentEncoding ?? "?"))
            }
        }

        subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }
    }

    private static func press(
        _ action: String,
        _ simulator: GraphSimulator,
        _ form: String = "",
        person: String = "ann"
    ) async throws -> Wire.Reply {
        try await Wire.post(
            simulator,
            "/v25.0/dialog/oauth",
            form: "\(request)&person=\(person)&action=\(action)\(form)"
        )
    }

    private static func me(_ simulator: GraphSimulator, _ callback: Callback, _ fields: String) async throws -> String {
        let code = try #require(callback["code"])
        let reply = try await Wire.post(
            simulator,
            "/oauth/access_token",
            form: "\(request)&client_secret=\(SampleWorld.secret)&code=\(code)"
        )
        let token = try #require(try GraphSimulator.JSON(parsing: reply.body)["access_token"]?.string)
        return try await Wire.get(simulator, "/me?fields=\(fields)&access_token=\(token)").text
    }

    @Test(
        "the page shows people, permissions and two buttons, and carries the request",
        arguments: [
            "/dialog/oauth", "/v25.0/dialog/oauth", "/dialog/oauth/",
        ]
    )
    func page(_ path: String) async throws {
        try await SampleWorld.run { simulator in
            simulator.put(GraphSimulator.Person("eve\"", fields: ["name": "<img src=x onerror=alert(1)>"]))
            let state = Wire.encoded(#""><script>'&"#)
            let target = "\(path)?\(Self.request)&scope=email,user_birthday%20openid%20email&state=\(state)&nonce=n"
            let reply = try await Wire.get(simulator, target)
            #expect(reply.status == 200)
            #expect(reply.header("content-type") == "text/html; charset=utf-8")
            #expect(reply.header("content-security-policy")?.hasPrefix("default-src 'none'") == true)
            for part in [
                #"<input type="radio" name="person" value="ann" required checked> Ann Müller<"#,
                #"<input type="radio" name="person" value="eve&quot;" required> &lt;img src=x onerror=alert(1)&gt;<"#,
                #"<input type="checkbox" name="granted" value="public_profile" checked disabled>"#,
                #"<input type="checkbox" name="granted" value="email" checked>"#,
                #"<input type="checkbox" name="granted" value="user_birthday" checked>"#,
                #"<input type="hidden" name="state" value="&quot;&gt;&lt;script&gt;&#39;&amp;">"#,
                #"<input type="hidden" name="redirect_uri" value="\#(Self.redirectURI)">"#,
                #"<button type="submit" name="action" value="continue">"#,
                #"<button type="submit" name="action" value="cancel" formnovalidate>"#,
                #"<form method="post">"#, #"<html lang="en">"#, "oauth2-rs-f-b-web-app-demo</strong>",
            ] {
                #expect(reply.text.contains(part), "\(part)")
            }
            #expect(reply.text.ranges(of: #"value="email""#).count == 1)
            #expect(!reply.text.contains("<script"))
            #expect(!reply.text.contains("<img"))
        }
    }

    @Test("Continue sends a code to the app, with its state and Facebook's fragment")
    func completed() async throws {
        try await SampleWorld.run { simulator in
            let form = "&scope=email,user_birthday&granted=email&state=a%20%26b"
            let callback = try Callback(try await Self.press("continue", simulator, form))
            #expect(callback.base == "https://app.example/callback")
            #expect(callback.parameters.map(\.name) == ["a", "code", "state"])
            #expect(callback["state"] == "a &b")
            #expect(callback.fragment == "_=_")
            #expect(try await Self.me(simulator, callback, "email,birthday").hasPrefix(#"{"email":"#))
            #expect(simulator.person("ann")?.permissions.contains(.init("user_birthday", .declined)) == true)
        }
    }

    @Test("return_scopes tells what was granted and denied")
    func scopes() async throws {
        try await SampleWorld.run { simulator in
            let form = "&scope=email,user_link,openid&granted=user_link&return_scopes=true"
            let callback = try Callback(try await Self.press("continue", simulator, form))
            #expect(callback["granted_scopes"] == "public_profile,user_link,openid")
            #expect(callback["denied_scopes"] == "email")
            #expect(
                try await Self.me(simulator, callback, "email,link")
                    == #"{"link":"https:\/\/www.facebook.com\/ann","id":"123"}"#
            )
        }
    }

    @Test("what was declined before is not asked again, unless the app asks for that")
    func declinedBefore() async throws {
        try await SampleWorld.run { simulator in
            simulator.update(person: "ann") { $0.set("email", .declined) }
            let form = "&scope=email&granted=email&return_scopes=true"
            let kept = try Callback(try await Self.press("continue", simulator, form))
            #expect(kept["denied_scopes"] == "email")
            let again = try Callback(try await Self.press("continue", simulator, form + "&auth_type=rerequest"))
            #expect(again["denied_scopes"] == "")
            #expect(try await Self.me(simulator, again, "email").contains("ann"))
            let token = try #require(simulator.token(try await Self.token(simulator, form + "&auth_type=rerequest")))
            #expect(token.metadata == ["auth_type": "rerequest"])
            let text = try await Self.token(simulator, form + "&auth_type=reauthenticate&auth_nonce=n-1")
            let confirmed = try #require(simulator.token(text))
            #expect(confirmed.metadata == ["auth_type": "reauthenticate", "auth_nonce": "n-1"])
        }
    }

    private static func token(_ simulator: GraphSimulator, _ form: String) async throws -> String {
        let callback = try Callback(try await press("continue", simulator, form))
        let reply = try await Wire.post(
            simulator,
            "/oauth/access_token",
            form: "\(request)&client_secret=\(SampleWorld.secret)&code=\(callback["code"] ?? "")"
        )
        return try #require(try GraphSimulator.JSON(parsing: reply.body)["access_token"]?.string)
    }

    @Test("nonce and challenge go from the dialog to the exchange")
    func bound() async throws {
        try await SampleWorld.run { simulator in
            let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
            let form =
                "&scope=openid&nonce=n-7&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
                + "&code_challenge_method=S256"
            let callback = try Callback(try await Self.press("continue", simulator, form))
            let exchange = "\(Self.request)&client_secret=\(SampleWorld.secret)&code=\(callback["code"] ?? "")"
            let without = try await Wire.post(simulator, "/oauth/access_token", form: exchange)
            #expect(without.text.contains("Invalid code_verifier"))
            let with = try await Wire.post(
                simulator,
                "/oauth/access_token",
                form: exchange + "&code_verifier=\(verifier)"
            )
            let token = try #require(try GraphSimulator.JSON(parsing: with.body)["id_token"]?.string)
            #expect(try JWT(token).claim("nonce") == "n-7")
        }
    }

    @Test("Cancel says so and changes nothing")
    func cancelled() async throws {
        try await SampleWorld.run { simulator in
            let before = simulator.person("ann")
            let reply = try await Self.press("cancel", simulator, "&scope=user_link&state=s")
            #expect(reply.status == 302)
            #expect(
                reply.header("location")
                    == Self.redirectURI
                    + "&error_reason=user_denied&error=access_denied&error_description=Permissions+error&state=s"
            )
            #expect(simulator.person("ann") == before)
        }
    }

    @Test("an app that is not well sends everybody back with error_code and no error")
    func appError() async throws {
        try await Control.run { simulator, control in
            let error = #"{"dialogError":{"code":1349126,"message":"App not active: This app is not accessible"}}"#
            #expect(try await control.send("PATCH", "/apps/\(SampleWorld.app)", error).status == 200)
            let reply = try await Wire.get(simulator, "/dialog/oauth?\(Self.request)&state=s")
            #expect(
                reply.header("location")
                    == Self.redirectURI
                    + "&error_code=1349126&error_message=App+not+active%3A+This+app+is+not+accessible&state=s"
            )
            _ = try await control.send("PATCH", "/apps/\(SampleWorld.app)", #"{"dialogError":null}"#)
            #expect(try await Wire.get(simulator, "/dialog/oauth?\(Self.request)").status == 200)
            let wrong = try await control.send("PATCH", "/apps/\(SampleWorld.app)", #"{"dialogError":{"code":1}}"#)
            #expect(wrong.text == #"{"error":"dialogError: \"message\" is missing or empty"}"# + "\n")
        }
    }

    /// The query, and the text of the error page.
    static let refusals: [(String, String)] = [
        ("client_id=9&redirect_uri=https://a.example/", "Invalid App ID"), ("", "Invalid App ID"),
        ("client_id=\(SampleWorld.app)", "redirect_uri is required"),
        ("client_id=\(SampleWorld.app)&redirect_uri=javascript:alert(1)//http://", "absolute http or https"),
        ("client_id=\(SampleWorld.app)&redirect_uri=https://a.example/%0d%0aX:%20y", "absolute http or https"),
        ("client_id=\(SampleWorld.app)&redirect_uri=https://a.example/%23f", "without a fragment"),
        ("client_id=\(SampleWorld.app)&redirect_uri=https://app.example/callback", "URL blocked"),
        ("client_id=\(SampleWorld.app)&redirect_uri=https://app.example/callback?a=1%26b=2", "URL blocked"),
        ("\(request)&response_type=token", "response_type=code only"),
        ("\(request)&scope=email,%3Cb%3E", "Invalid Scopes: &lt;b&gt;"),
        ("\(request)&code_challenge_method=S512", "code_challenge_method must be S256 or plain"),
    ]

    @Test("what the app got wrong is shown to the person, and no redirect happens", arguments: refusals)
    func refused(_ query: String, _ text: String) async throws {
        try await SampleWorld.run { simulator in
            simulator.update(app: SampleWorld.app) { $0.redirectURIs = [Self.redirectURI] }
            for reply in [
                try await Wire.get(simulator, "/dialog/oauth?\(query)"),
                try await Wire.post(simulator, "/dialog/oauth", form: "\(query)&person=ann&action=continue"),
            ] {
                #expect(reply.status == 400)
                #expect(reply.header("location") == nil)
                #expect(reply.text.contains(#"<p role="alert">"#))
                #expect(reply.text.contains(text))
            }
            #expect(try await Wire.get(simulator, "/dialog/oauth?\(Self.request)").status == 200)
        }
    }

    @Test(
        "a form without button or person is refused",
        arguments: [
            ("person=ann", "Press one of"), ("person=ann&action=jump", "Press one of"),
            ("action=continue", "Choose a person"), ("action=continue&person=nobody", "Choose a person"),
        ]
    )
    func incomplete(_ form: String, _ text: String) async throws {
        try await SampleWorld.run { simulator in
            let reply = try await Wire.post(simulator, "/dialog/oauth", form: "\(Self.request)&\(form)")
            #expect(reply.status == 400)
            #expect(reply.text.contains(text))
        }
    }

    @Test("faults and the log know the dialog")
    func faults() async throws {
        try await SampleWorld.run { simulator in
            simulator.add(.init(.html502, path: "dialog/oauth", count: 1))
            let struck = try await Wire.get(simulator, "/v25.0/dialog/oauth?\(Self.request)")
            let spared = try await Wire.get(simulator, "/v25.0/dialog/oauth?\(Self.request)")
            #expect(struck.status == 502)
            #expect(spared.status == 200)
            #expect(simulator.counters.requestsByPath == ["dialog/oauth": 2])
        }
    }
}
