import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// The origin of the client's page.
private let page = "https://page.example.com"

@Suite(
    "Popups and redirects of Firebase's clients",
    .serialized,
    .deployed(
        Document(
            options: #""returnUrls": ["https://app.example.com/done"]"#,
            keyVariable: "OTHER_API_KEY",
            settings:
                #"""
                {\#(FirebaseClient.settings), "allowedOrigins": ["\#(page)"],
                "secondFactor": {"policy": "optional"}}
                """#,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        Document(
            application: "second",
            hasServerKey: true,
            settings:
                #"{"firebase": {"projectId": "second-project"}, "allowedOrigins": ["\#(page)"]}"#,
            mapping: #"{"email": "email", "name": "name"}"#
        )
    )
)
struct FirebaseHandlerTests {
    private static let handler = "/emulator/auth/handler"

    let deployment: Deployment
    let client: FirebaseClient

    init() throws {
        deployment = try Deployment.current
        client = FirebaseClient(deployment: deployment)
    }

    private func visitor(_ email: String? = nil) async throws -> Visitor {
        let email = email ?? "pop\(UInt32.random(in: 0 ... .max)).canary@example.com"
        return try await deployment.newcomer(#"{"email": "\#(email)", "name": "Pop Canary"}"#)
    }

    /// Returns the address that the SDK opens.
    private func address(_ authType: String = "signInViaPopup", _ more: [String: String?] = [:]) -> String {
        var parameters: [String: String?] = [
            "apiKey": client.key, "appName": "[DEFAULT]", "authType": authType, "v": "12.18.0", "eventId": "4711",
            "providerId": "facebook.com", "redirectUrl": page + "/here?a=1#b", "scopes": "email",
            "customParameters": #"{"display": "popup"}"#,
        ]
        parameters.merge(more) { _, new in new }
        let query = parameters.compactMap { name, value in value.map { (name: name, value: $0) } }
        return Self.handler + "?" + Address.encode(query)
    }

    /// Goes from the SDK's address to the last page, and returns it.
    private func end(
        of authType: String = "signInViaPopup",
        as person: Visitor,
        _ answer: Deployment.Answer = .allow(["email"]),
        in browser: Browser
    ) async throws -> HTTPReply {
        let callback = try await callback(of: authType, as: person, answer, in: browser)
        let returned = try await deployment.comeBack(to: callback, in: browser)
        try #require(returned.status == 303, "\(returned.text)")
        return try await browser.get(try Address(try #require(returned.header("Location"))), at: deployment.client)
    }

    /// Goes from the SDK's address through the provider's dialog, and returns the address of the way back.
    private func callback(
        of authType: String = "signInViaPopup",
        as person: Visitor,
        _ answer: Deployment.Answer = .allow(["email"]),
        in browser: Browser
    ) async throws -> Address {
        let first = try await browser.get(address(authType), at: deployment.client)
        try #require(first.status == 303, "\(first.text)")
        let start = try Address(try #require(first.header("Location")))
        return try await deployment.answer(try await deployment.open(start, in: browser), as: person, answer)
    }

    /// What the last page has for its script.
    private func content(_ reply: HTTPReply) throws -> JSONObject {
        let start = try #require(reply.text.firstRange(of: #"<script type="application/json" id="relay">"#))
        let rest = reply.text[start.upperBound...]
        let end = try #require(rest.firstRange(of: "</script>"))
        return try #require(JSON.object(String(rest[..<end.lowerBound])), "\(reply.text)")
    }

    private func event(_ reply: HTTPReply) throws -> JSONObject { try #require(try content(reply)["event"]?.object) }

    /// The call with which the SDK answers an event.
    private func call(_ event: JSONObject, _ members: String = "", session: String? = nil) -> String {
        """
        {"requestUri": \(JSON.quoted(event["urlResponse"]?.string ?? "")), "returnSecureToken": true,
         "returnIdpCredential": true, "sessionId": "\(session ?? event["sessionId"]?.string ?? "")"\(members)}
        """
    }

    @Test(
        "a popup ends with an event for the SDK, whose code logs in once, by its sessionId alone",
        arguments: [false, true]
    )
    func popup(byRedirect: Bool) async throws {
        let (person, browser) = (try await visitor(), Browser())
        let authType = byRedirect ? "signInViaRedirect" : "signInViaPopup"
        let last = try await end(of: authType, as: person, in: browser)
        expectPage(last, status: 200, scripts: true)
        let content = try content(last)
        #expect(content["key"]?.string == "\(client.key):[DEFAULT]")
        #expect(content["target"]?.string == (byRedirect ? page + "/here?a=1#b" : nil))
        let event = try event(last)
        #expect(event["type"]?.string == authType && event["eventId"]?.string == "4711")
        #expect(event["error"] == nil && event["postBody"] == .null)
        let uri = try Address(try #require(event["urlResponse"]?.string))
        #expect(uri["providerId"] == "facebook.com" && uri.path == "/__/auth/handler")
        // The code of another login, and another sessionId.
        let other = try self.event(try await end(of: authType, as: try await visitor(), in: browser))
        #expect(other["sessionId"] != event["sessionId"])
        let mixed = call(other, session: event["sessionId"]?.string)
        try await client.expect("INVALID_IDP_RESPONSE", of: "accounts:signInWithIdp", mixed)
        try await client.expect("INVALID_IDP_RESPONSE", of: "accounts:signInWithIdp", call(other))
        let signedIn = try await client.call("accounts:signInWithIdp", call(event))
        #expect(
            signedIn["federatedId"]?.string == "http://facebook.com/\(person.id)" && signedIn["isNewUser"]?.bool == true
        )
        #expect(signedIn["oauthAccessToken"] == nil && !last.text.contains(person.token))
        #expect(signedIn.claims["firebase"]?.object?["sign_in_provider"]?.string == "facebook.com")
        _ = try await client.lookUp(signedIn)
        try await client.expect("INVALID_IDP_RESPONSE", of: "accounts:signInWithIdp", call(event))
        #expect(try await client.signIn(person)["localId"] == signedIn["localId"])
    }

    @Test("a login by a popup is linked, and authenticates again; nobody else's identity, and nobody new")
    func links() async throws {
        let (person, browser) = (try await visitor(), Browser())
        let guest = try await client.guest()
        let event = try event(try await end(of: "linkViaPopup", as: person, in: browser))
        let linked = try await client.call("accounts:signInWithIdp", call(event, #", "idToken": "\#(guest.idToken)""#))
        #expect(linked["localId"] == guest["localId"])
        let again = try self.event(try await end(of: "reauthViaPopup", as: person, in: browser))
        #expect(try await client.call("accounts:signInWithIdp", call(again))["localId"] == guest["localId"])
        let other = try await client.guest()
        let taken = try self.event(try await end(of: "linkViaPopup", as: person, in: browser))
        let told = try await client.call("accounts:signInWithIdp", call(taken, #", "idToken": "\#(other.idToken)""#))
        #expect(told["errorMessage"]?.string == "FEDERATED_USER_ID_ALREADY_LINKED" && told["idToken"] == nil)
        let stranger = try self.event(try await end(of: "reauthViaPopup", as: try await visitor(), in: browser))
        try await client.expect(
            "EMAIL_NOT_FOUND",
            of: "accounts:signInWithIdp",
            call(stranger, #", "autoCreate": false"#)
        )
    }

    @Test(
        "D6: a popup with the address of an account gives a credential, which links once the account has logged in",
        arguments: [false, true]
    )
    func confirmation(byToken: Bool) async throws {
        let email = "asked\(UInt32.random(in: 0 ... .max)).canary@example.com"
        let account = try await client.call(
            "accounts:signUp",
            #"{"email": "\#(email)", "password": "canary-8-letters"}"#
        )
        let event = try event(try await end(as: try await visitor(email), in: Browser()))
        let asked = try await client.call("accounts:signInWithIdp", call(event))
        #expect(asked["needConfirmation"]?.bool == true && asked["idToken"] == nil && asked["email"]?.string == email)
        let (pending, token) = (asked["pendingToken"]?.string ?? "", asked["oauthAccessToken"]?.string ?? "")
        let credential =
            byToken
            ? #""pendingToken": "\#(pending)""# : #""postBody": "access_token=\#(token)&providerId=facebook.com""#
        func body(_ idToken: String?) -> String {
            let member = idToken.map { #", "idToken": "\#($0)""# } ?? ""
            return #"{"requestUri": "http://localhost", "returnSecureToken": true, \#(credential)\#(member)}"#
        }
        let call = "accounts:signInWithIdp"
        try await client.expect("INVALID_IDP_RESPONSE", of: call, body(nil))
        try await client.expect("INVALID_IDP_RESPONSE", of: call, body(try await client.guest().idToken))
        let linked = try await client.call(call, body(account.idToken))
        #expect(linked["localId"] == account["localId"] && linked["providerId"]?.string == "facebook.com")
        try await client.expect("INVALID_IDP_RESPONSE", of: call, body(account.idToken))
    }

    @Test("a second factor is shown on a page of the service, and the tokens have it")
    func factor() async throws {
        let (person, browser) = (try await visitor(), Browser())
        let login = try await deployment.loggedIn(person)
        let (app, _, _) = try await deployment.enrolApp(of: login)
        try await deployment.forgetSteps()
        let returned = try await deployment.comeBack(to: try await callback(as: person, in: browser), in: browser)
        let asked = FormPage(reply: returned)
        let answer = [("factor", try #require(asked.field("factor"))), ("code", app.code())]
        let end = try await deployment.answerFactor(asked, answer, in: browser)
        let last = try Address(try #require(end.header("Location"), "\(end.text)"))
        let event = try event(try await browser.get(last, at: deployment.client))
        let signedIn = try await client.call("accounts:signInWithIdp", call(event))
        #expect(signedIn["localId"]?.string == login.objectID && signedIn["mfaPendingCredential"] == nil)
        #expect(signedIn.claims["firebase"]?.object?["sign_in_second_factor"]?.string == "totp")
    }

    @Test("a cancelled dialog ends with the SDK's own error")
    func failures() async throws {
        let person = try await visitor()
        let cancelled = try event(try await end(as: person, .cancel, in: Browser()))
        #expect(cancelled["error"]?.object?["code"]?.string == "auth/user-cancelled")
        #expect(cancelled["urlResponse"] == .null && cancelled["sessionId"] == .null)
    }

    @Test(
        "T-72: a page of another origin begins nothing, and is nobody's target",
        arguments: [
            "https://evil.example/", "https://page.example.com.evil.example/", "https://page.example.com@evil.example/",
            "https://page.example.comevil/", #"https://page.example.com\@evil.example/"#, "http://page.example.com/",
            "https://page.example.com:444/", "//evil.example", "javascript:alert(1)", "https://page.example.com/\n",
            "/relative", "data:text/html,x", "intent://x", "https://PAGE.example.com/",
        ]
    )
    func foreign(_ target: String) async throws {
        let browser = Browser()
        // The login of an allowed page, whose last address is changed on the way.
        let callback = try await callback(of: "signInViaRedirect", as: try await visitor(), in: browser)
        let returned = try await deployment.comeBack(to: callback, in: browser)
        var last = try Address(try #require(returned.header("Location")))
        last.query = last.query.map { $0.name == "redirectUrl" ? ($0.name, target) : $0 }
        let pages = [
            try await browser.get(address(more: target), at: deployment.client),
            try await browser.get(last, at: deployment.client),
        ]
        for reply in pages {
            expectPage(reply, status: 400)
            #expect(reply.text.contains("UNAUTHORIZED_DOMAIN") && !reply.text.contains("evil"), "\(reply.text)")
            #expect(reply.header("Location") == nil)
        }
    }

    private func address(more target: String) -> String { address("signInViaPopup", ["redirectUrl": target]) }

    @Test("parameters that are missing or of another kind of client are told to the developer")
    func rubbish() async throws {
        let cases: [([String: String?], String)] = [
            (["authType": "steal"], "INVALID_REQ_TYPE"), (["authType": nil], "INVALID_REQ_TYPE"),
            (["appName": nil], "INVALID_REQ_TYPE"), (["redirectUrl": nil], "INVALID_REQ_TYPE"),
            (["providerId": "google.com"], "OPERATION_NOT_ALLOWED"),
            (["providerId": "nobody"], "OPERATION_NOT_ALLOWED"),
            (["ibi": "com.example.app"], "OPERATION_NOT_ALLOWED"),
            (["apn": "com.example.app"], "OPERATION_NOT_ALLOWED"),
            (["tid": "tenant"], "UNSUPPORTED_TENANT_OPERATION"),
        ]
        for (more, name) in cases {
            let reply = try await Browser().get(address("signInViaPopup", more), at: deployment.client)
            expectPage(reply, status: 400)
            #expect(reply.text.contains(name), "\(more): \(reply.text)")
        }
        let host = try await deployment.client.send("GET", address(), headers: [("Host", "evil.example")])
        #expect(host.status == 400 && host.text.contains("INVALID_HOSTING_LINK_DOMAIN"), "\(host.text)")
        #expect(
            try await Browser().get(address("signInViaPopup", ["apiKey": "unknown"]), at: deployment.client).status
                == 400
        )
    }

    @Test("T-70: state and code of one browser end in no other, and another browser finds no sessionId")
    func anotherBrowser() async throws {
        let (attacker, victim) = (Browser(), Browser())
        let planted = try await callback(as: try await visitor(), in: attacker)
        _ = try await victim.get(address(), at: deployment.client)
        let refused = try await deployment.comeBack(to: planted, in: victim)
        expectPage(refused, status: 400)
        #expect(refused.text.contains("another browser"))
        var garbled = planted
        garbled.query = garbled.query.map { $0.name == "state" ? ($0.name, "old") : $0 }
        expectPage(try await deployment.comeBack(to: garbled, in: attacker), status: 400)
        garbled.query.removeAll { $0.name == "state" }
        expectPage(try await deployment.comeBack(to: garbled, in: attacker), status: 400)
        // The last address of the attacker's login, in the victim's browser and in none.
        let returned = try await deployment.comeBack(to: planted, in: attacker)
        let last = try Address(try #require(returned.header("Location")))
        let event = try event(try await victim.get(last, at: deployment.client))
        try await client.expect("INVALID_IDP_RESPONSE", of: "accounts:signInWithIdp", call(event))
        expectPage(try await Browser().get(last, at: deployment.client), status: 400)
    }

    @Test("a code is of one application")
    func application() async throws {
        var other = client
        other.key = Canary.serverAPIKey
        let event = try event(try await end(as: try await visitor(), in: Browser()))
        let reply = try await other.send("accounts:signInWithIdp", call(event))
        #expect(FirebaseClient.error(reply) == "INVALID_IDP_RESPONSE", "\(reply.text)")
        _ = try await client.call("accounts:signInWithIdp", call(event))
    }

    @Test("any page may show the frame, which knows the application's origins alone and so tells no others")
    func frame() async throws {
        for base in ["/emulator/auth", "/__/auth"] {
            let reply = try await deployment.client.get("\(base)/iframe?apiKey=\(client.key)&appName=%3Cb%3E&v=12.18.0")
            #expect(reply.status == 200)
            let policy = reply.header("Content-Security-Policy") ?? ""
            #expect(policy.contains("frame-ancestors *") && !policy.contains("unsafe"), "\(policy)")
            let content = try content(reply)
            #expect(content["key"]?.string == "\(client.key):<b>" && !reply.text.contains("<b>"))
            #expect(content["origins"] == .array([.string(page)]))
        }
    }

    @Test("the pages for an emulator take no paths from an application whose id is emulator")
    func applicationNamedEmulator() async throws {
        let reply = try await deployment.client.get("/emulator/\(client.key)/users/isvalidusertoken/none")
        let error = try #require(JSON.object(reply.text))
        #expect(error["code"] != nil && error["error"] == nil, "Backendless's form, not Google's: \(reply.text)")
    }

    @Test("createAuthUri begins a login that ends at one of returnUrls, for a client that keeps the sessionId")
    func authURI() async throws {
        func begin(_ more: String) async throws -> HTTPReply {
            try await client.send("accounts:createAuthUri", #"{"providerId": "facebook.com"\#(more)}"#)
        }
        for (more, error) in [
            ("", "MISSING_CONTINUE_URI"), (#", "continueUri": "https://evil.example""#, "UNAUTHORIZED_DOMAIN"),
            (#", "continueUri": "https://app.example.com/done/""#, "UNAUTHORIZED_DOMAIN"),
        ] {
            let reply = try await begin(more)
            #expect(reply.status == 400 && FirebaseClient.error(reply) == error, "\(reply.text)")
        }
        let reply = try await begin(#", "continueUri": "https://app.example.com/done", "oauthScope": "email""#)
        let begun = try #require(JSON.object(reply.text), "\(reply.text)")
        let person = try await visitor()
        let dialog = try Address(try #require(begun["authUri"]?.string))
        let callback = try await deployment.answer(dialog, as: person)
        let returned = try await deployment.comeBack(to: callback, in: Browser())
        let location = try #require(returned.header("Location"))
        func body(_ session: String) -> String {
            #"{"requestUri": \#(JSON.quoted(location)), "returnSecureToken": true, "sessionId": "\#(session)"}"#
        }
        let session = try #require(begun["sessionId"]?.string)
        let signedIn = try await client.call("accounts:signInWithIdp", body(session))
        #expect(signedIn["federatedId"]?.string == "http://facebook.com/\(person.id)")
        try await client.expect("INVALID_IDP_RESPONSE", of: "accounts:signInWithIdp", body(session))
    }
}
