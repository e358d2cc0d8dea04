import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "A login through the server belongs to the browser that began it",
    .serialized,
    .deployed(
        Document(
            options: #""returnUrls": ["https://app.example.com/done"]"#,
            settings: #"{"allowedOrigins": ["https://page.example.com"]}"#
        )
    )
)
struct DialogBrowserTests {
    private static let page = [("Origin", "https://page.example.com")]
    private static let begunWithChallenge = #"{"codeChallenge": "\#(ProofKey.challenge)"}"#

    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func callback(
        _ body: String = "{}",
        headers: [(String, String)] = [],
        in browser: Browser,
        as person: Visitor,
        _ answer: Deployment.Answer = .allow(["email"])
    ) async throws -> Address {
        let dialog = try await deployment.dialog(body, headers: headers, in: browser)
        return try await deployment.answer(dialog, as: person, answer)
    }

    @Test(
        "T-70: state and code of one browser end in no other, and nothing is asked or used up: the one that began may still end it",
        arguments: [false, true]
    )
    func anotherBrowser(byPopup: Bool) async throws {
        let (attacker, victim) = (Browser(), Browser())
        let mallory = try await deployment.newcomer()
        let headers = byPopup ? Self.page : []
        let planted = try await callback(headers: headers, in: attacker, as: mallory)
        let cancelled = try await callback(headers: headers, in: attacker, as: mallory, .cancel)
        // The victim's browser has no cookie of ours at first, then one of its own.
        for _ in 0..<2 {
            let requests = try await deployment.simulator.requests {
                try await deployment.expectNothingWritten {
                    for address in [planted, cancelled] {
                        let reply = try await deployment.comeBack(to: address, in: victim)
                        expectPage(reply, status: 400)
                        #expect(reply.header("Location") == nil)
                        #expect(reply.text.contains("another browser"))
                        #expect(reply.text.contains("start again"))
                    }
                }
            }
            #expect(requests.isEmpty)
            _ = try await deployment.dialog(in: victim)
        }
        #expect(try await deployment.comeBack(to: cancelled, in: attacker).status == (byPopup ? 200 : 303))
        let own = try await deployment.comeBack(to: planted, in: attacker)
        if byPopup {
            #expect(try handedOver(own).message["user-token"] != nil)
        } else {
            #expect(own.header("Location")?.contains("loginCode=") == true)
        }
    }

    @Test(
        "T-74: with a challenge of the client's any browser may end it, and the code is worth nothing but with the verifier"
    )
    func challenge() async throws {
        let ann = try await deployment.newcomer()
        let address = try Address(try await deployment.requestURL(Self.begunWithChallenge).text)
        #expect(address.origin == deployment.simulator.url, "nothing is kept, so the way there is direct")
        let end = try await deployment.comeBack(to: try await deployment.answer(address, as: ann), in: Browser())
        let location = try Address(try #require(end.header("Location")))
        let code = try #require(location["loginCode"])
        _ = try deployment.signedIn(try await deployment.redeem(code, verifier: ProofKey.verifier))
    }

    @Test(
        "several dialogs of one browser end, in whatever order, and each opening has a state and a challenge of its own"
    )
    func tabs() async throws {
        let (ann, browser) = (try await deployment.newcomer(), Browser())
        let callbacks = [
            try await callback(in: browser, as: ann), try await callback(headers: Self.page, in: browser, as: ann),
            try await callback(Self.begunWithChallenge, in: browser, as: ann),
            try await callback(in: browser, as: ann, .cancel), try await callback(in: browser, as: ann),
        ]
        for (callback, status) in zip(callbacks, [303, 200, 303, 303, 303]).reversed() {
            let end = try await deployment.comeBack(to: callback, in: browser)
            #expect(end.status == status, "\(end.text)")
            #expect(end.header("Location")?.contains("login_state_invalid") != true)
        }
        // One address, opened in two browsers.
        let address = try Address(try await deployment.requestURL().text)
        let (one, other) = (
            try await deployment.open(address, in: browser), try await deployment.open(address, in: Browser())
        )
        #expect(one["state"] != other["state"])
        #expect(one["code_challenge"] != other["code_challenge"])
    }

    @Test("a code of another browser's dialog is none of this one's, whoever has brought it")
    func injectedCode() async throws {
        let (ann, browser) = (try await deployment.newcomer(), Browser())
        let stolen = try await callback(in: Browser(), as: ann)
        var own = try await callback(in: browser, as: try await deployment.newcomer())
        own.query.removeAll { $0.name == "code" }
        own.query.append(("code", try #require(stolen["code"])))
        let end = try await deployment.comeBack(to: own, in: browser)
        #expect(end.header("Location") == "https://app.example.com/done?error=8112&reason=credential_invalid")
    }

    @Test(
        "T-70: what a browser keeps is one random text, for the host alone, which no script reads; a made-up one counts for nothing"
    )
    func cookie() async throws {
        let ann = try await deployment.newcomer()
        let address = try Address(try await deployment.requestURL().text)
        let target = "\(address.path)?\(Address.encode(address.query))"
        let started = try await deployment.client.get(target)
        #expect(started.status == 303)
        #expect(started.header("Cache-Control") == "no-store")
        #expect(started.header("Referrer-Policy") == "no-referrer")
        let cookies = started.values(of: "Set-Cookie")
        try #require(cookies.count == 1)
        let pair = cookies[0].prefix { $0 != ";" }
        let value = String(pair.drop { $0 != "=" }.dropFirst())
        #expect(cookies[0] == "federation-dialog=\(value); Path=/; Max-Age=600; HttpOnly; SameSite=Lax")
        #expect(value.utf8.count == 43)
        let callback = try await deployment.answer(try Address(try #require(started.header("Location"))), as: ann)
        let back = "\(callback.path)?\(Address.encode(callback.query))"
        for kept in [
            nil, "federation-dialog", "federation-dialog=", "federation-dialog=\(value.dropLast())",
            "Federation-Dialog=\(value)",
            "x=\(value)", "federation-dialog=\(String(value.reversed()))", "federation-dialog=\"\(value)\"",
            "federation-dialog=\(value); federation-dialog=\(String(repeating: "A", count: 43))",
            "__Host-federation-dialog=\(value)",
        ] {
            let reply = try await deployment.client.get(back, headers: kept.map { [("Cookie", $0)] } ?? [])
            expectPage(reply, status: 400)
        }
        // A cookie that cannot be ours is replaced; a valid one stays.
        for (kept, stays) in [(value, true), ("x", false), (String(repeating: "é", count: 22), false)] {
            let again = try await deployment.client.get(target, headers: [("Cookie", "federation-dialog=\(kept)")])
            #expect(again.header("Set-Cookie")?.hasPrefix("federation-dialog=\(kept);") == stays)
        }
        let others = [("Cookie", "a=b; c"), ("Cookie", "d=; federation-dialog=\(value);e=f")]
        #expect(try await deployment.client.get(back, headers: others).status == 303)
    }

    @Test("where browsers come by HTTPS the cookie has the prefix that takes it")
    func prefix() async throws {
        let environment = ["FEDERATION_PUBLIC_URL": "https://users.example.com"]
        try await withSecondInstance(of: deployment, environment: environment) { client in
            let path = deployment.path("users/oauth/facebook/")
            let reply = try await client.post(path + "request_url", json: "{}")
            let address = try Address(reply.text)
            #expect(address.origin == "https://users.example.com")
            #expect(address.path == path + "start")
            let started = try await client.get("\(address.path)?\(Address.encode(address.query))")
            let cookie = try #require(started.header("Set-Cookie"))
            let value = cookie.prefix { $0 != ";" }.drop { $0 != "=" }.dropFirst()
            #expect(
                cookie == "__Host-federation-dialog=\(value); Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax"
            )
            let dialog = try Address(try #require(started.header("Location")))
            let state = try #require(dialog["state"])
            for (name, location) in [
                ("federation-dialog", nil), ("__Host-federation-dialog", "https://app.example.com"),
            ] {
                let end = try await client.get(
                    "\(path)authorize?state=\(state)&error=access_denied",
                    headers: [("Cookie", "\(name)=\(value)")]
                )
                #expect(end.header("Location")?.prefix { $0 != "?" } == location.map { "\($0)/done" })
            }
        }
    }

    @Test(
        "an address that begins no login says so on a page: made up, of another application's, too old, or with nothing behind it"
    )
    func starts() async throws {
        let path = deployment.path("users/oauth/facebook/start")
        let ticket = try #require(try Address(try await deployment.requestURL().text)["dialog"])
        let state = try #require(try await deployment.dialog()["state"])
        for query in [
            "", "?dialog", "?dialog=", "?dialog=canary", "?dialog=\(ticket.dropLast())",
            "?dialog=\(ticket)&dialog=\(ticket)",
            "?dialog=\(state)", "?state=\(ticket)",
        ] {
            let reply = try await deployment.client.get(path + query)
            expectPage(reply, status: 400)
            #expect(reply.text.contains("start again"), "\(query)")
            #expect(!reply.text.contains("canary"))
        }
        try expectProblem(
            try await deployment.client.post("\(path)?dialog=\(ticket)", json: "{}"),
            "method_not_allowed"
        )
        let twitter = try await deployment.client.get(deployment.path("users/oauth/twitter/start?dialog=\(ticket)"))
        expectPage(twitter, status: 400)
        let nobody = try await deployment.client.get(deployment.path("users/oauth/nobody/start?dialog=\(ticket)"))
        expectPage(nobody, status: 404)
        #expect(try await deployment.client.get("\(path)?dialog=\(ticket)").status == 303)
    }

    @Test("a wish that is too long for the address is refused before anybody is sent away")
    func length() async throws {
        let permissions = (0..<50).map { "\($0)_" + String(repeating: "x", count: 61) }
        let wish = #""permissions": [\#(permissions.map(JSON.quoted).joined(separator: ","))]"#
        let address = try await deployment.requestURL("{\(wish)}")
        #expect(address.status == 200)
        #expect(try await deployment.open(try Address(address.text), in: Browser())["scope"]?.hasPrefix("0_xx") == true)
        let mapping = (0..<17).map { #""picture.data.\#(String(repeating: "x", count: 95))\#($0)": "email""# }
        let long = #"{\#(wish), "fieldsMapping": {\#(mapping.joined(separator: ","))}}"#
        let reply = try await deployment.requestURL(long)
        #expect(reply.status == 400, "\(reply.text)")
    }
}
