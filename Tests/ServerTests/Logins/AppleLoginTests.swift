import Crypto
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Logins with Apple",
    .serialized,
    .deployed(
        Document(
            properties: #"{"givenName": {"type": "STRING"}, "team": {"type": "STRING"}}"#,
            mapping: #"{"email": "email"}"#
        ),
        environment: Issuers.environment
    )
)
struct AppleLoginTests {
    let deployment: Deployment
    let issuers: Issuers
    private let key = P256.Signing.PrivateKey()

    init() throws {
        deployment = try Deployment.current
        issuers = Issuers(deployment: deployment)
    }

    /// Makes an issuer with Apple's habits, whose clients are a website and an app without secrets.
    private func apple(_ name: String, _ options: String = #""keepTokens": true"#) async throws {
        let publicKey = JSON.quoted(key.publicKey.pemRepresentation)
        try await deployment.simulator.ask(
            "PUT",
            "openid/issuers/\(name)",
            """
            {"clients": {"com.example.web": "x", "com.example.app": "x"}, "authentication": "apple",
             "clientKey": {"team": "TEAM000001", "kid": "KEY0000001", "publicKey": \(publicKey)},
             "answersByForm": true, "refreshTokens": true,
             "user": {"sub": "\(name)-1", "email": "\(name).canary@privaterelay.appleid.com", "email_verified": "true"},
             "firstUser": {"name": {"firstName": "Ann", "lastName": "Lee"}, "email": "evil@example.com"}}
            """
        )
        try await issuers.provide(
            name,
            """
            "preset": "apple", "signingKey": {"teamId": "TEAM000001", "keyId": "KEY0000001"},
            "privateKey": \(JSON.quoted(key.pemRepresentation)), "confirmEmail": true,
            "emailDomains": ["privaterelay.appleid.com"], \(options)
            """,
            apps: #""clientIds": ["com.example.web", "com.example.app"]"#
        )
        try await deployment.admin().ask(
            "PUT",
            "applications/demo/mappings/\(name)",
            #"{"email": "email", "given_name": "givenName", "name": "name"}"#
        )
    }

    private func hidden(_ page: String, _ name: String) -> String? {
        guard let start = page.firstRange(of: "name=\"\(name)\" value=\"")?.upperBound,
            let end = page[start...].firstIndex(of: "\"")
        else { return nil }
        return String(page[start..<end]).replacing("&quot;", with: "\"").replacing("&#34;", with: "\"")
            .replacing("&amp;", with: "&")
    }

    /// Logs in by the dialog of an issuer, in the form that the issuer's page posts.
    private func logInByForm(_ issuer: String) async throws -> LoginResult {
        let started = try await deployment.requestURL(path: "users/oauth/\(issuer)/request_url")
        try #require(started.status == 200, "\(started.text)")
        let dialog = try await deployment.open(try Address(started.text))
        #expect(dialog["response_mode"] == "form_post")
        let page = try await deployment.simulator.graph.get(dialog.path + "?" + Address.encode(dialog.query))
        try #require(page.status == 200, "\(page.text)")
        let names = ["state", "code", "user"]
        let form = names.compactMap { name in hidden(page.text, name).map { (name: name, value: $0) } }
        let path = try Address(try #require(dialog["redirect_uri"])).path
        let posted = try await deployment.client.send(
            "POST",
            path,
            headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", "https://appleid.apple.com")],
            body: Array(Address.encode(form).utf8)
        )
        try #require(posted.status == 303, "\(posted.text)")
        let next = try #require(posted.header("Location"))
        #expect(next.hasPrefix("authorize?"))
        var back = try Address("http://127.0.0.1\(path)")
        back.query = try Address("http://127.0.0.1/\(next)").query
        let ended = try await deployment.comeBack(to: back)
        let location = try #require(ended.header("Location"), "\(ended.status) \(ended.text)")
        let code = try #require(try Address(location)["loginCode"], "\(location)")
        return try deployment.signedIn(try await issuers.login(issuer, #"{"loginCode": "\#(code)"}"#))
    }

    @Test("the dialog answers by a form; the name of the first form is kept, its address is not")
    func dialog() async throws {
        try await apple("apple")
        let first = try await logInByForm("apple")
        let row = try await deployment.row(of: first.objectID)
        #expect(row?["givenName"]?.string == "Ann" && row?["name"]?.string == "Ann Lee")
        #expect(row?["email"]?.string == "apple.canary@privaterelay.appleid.com")
        #expect(row?["email_verified"]?.bool == true, "Apple owns its relay's addresses")
        let second = try await logInByForm("apple")
        #expect(second.objectID == first.objectID && !second.created)
        #expect(try await deployment.row(of: first.objectID)?["givenName"]?.string == "Ann", "the name stays")
    }

    @Test("the code of an app goes without redirect URI under a secret made here; with the user its token is revoked")
    func revocation() async throws {
        try await apple("native")
        let user = #"{"sub": "n1", "email": "native2.canary@privaterelay.appleid.com"}"#
        let code = try await issuers.code("native", client: "com.example.app", user, #""nonce": "n""#)
        let login = try deployment.signedIn(
            try await issuers.login("native", #"{"code": "\#(code)", "nonce": "n", "appId": "com.example.app"}"#)
        )
        #expect(try await issuers.tokens("native").contains("refresh active"))
        let deleted = try await deployment.send("DELETE", "users/me", token: login.token)
        if deleted.status >= 400 {
            try await deployment.admin().ask(
                "DELETE",
                "applications/demo/users/\(login.objectID)?confirm=\(login.objectID)"
            )
        }
        #expect(try await !issuers.tokens("native").contains("refresh active"), "Apple demands the revocation")
    }

    @Test("the form of the dialog carries nothing but the answer, and a large one is refused")
    func form() async throws {
        try await apple("form")
        let path = deployment.path("users/oauth/form/authorize")
        func post(_ body: String) async throws -> HTTPReply {
            try await deployment.client.send(
                "POST",
                path,
                headers: [("Content-Type", "application/x-www-form-urlencoded")],
                body: Array(body.utf8)
            )
        }
        let reply = try await post("code=a%26b%0d%0aX:y&state=s&next=https://evil.example")
        #expect(reply.status == 303 && reply.header("Location") == "authorize?state=s&code=a%26b%0D%0AX%3Ay")
        #expect(try await post("code=a&code=b").status == 400)
        #expect(try await post("code=" + String(repeating: "a", count: 20_000)).status == 413)
    }

    @Test("a notification that the user has revoked the app revokes the identity")
    func notification() async throws {
        try await apple("notified")
        let idToken = try await issuers.token(
            "notified",
            #""client": "com.example.app", "claims": {"sub": "p1"}"#
        )
        let login = try deployment.signedIn(try await issuers.login("notified", #"{"idToken": "\#(idToken)"}"#))
        let event = JSON.quoted(#"{"type": "consent-revoked", "sub": "p1", "event_time": 1}"#)
        let payload = try await issuers.token(
            "notified",
            #""client": "com.example.app", "claims": {"jti": "1", "exp": null, "events": \#(event)}"#
        )
        let reply = try await issuers.report("notified", #"{"payload": "\#(payload)"}"#, type: "application/json")
        #expect(reply.status == 200, "\(reply.text)")
        let revoked = try await deployment.value(
            "select revoked is not null from demo.identities where object_id = '\(login.objectID)'"
        )
        #expect(revoked == "t")
    }
}
