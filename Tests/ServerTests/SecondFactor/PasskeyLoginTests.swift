import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Passkeys as a login method",
    .serialized,
    .deployed(
        Document(settings: settings(isLogin: true)),
        Document(application: "factors", settings: settings(isLogin: false))
    )
)
struct PasskeyLoginTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Decodes the challenge of WebAuthn options.
    private func challenge(_ options: JSONObject?) throws -> [UInt8] {
        try #require(options?["challenge"]?.string.flatMap { Base64URL.decode($0.utf8) })
    }

    /// Enrols a passkey.
    ///
    /// - Returns: The passkey, and the id of its factor.
    private func enrol(
        of session: LoginResult,
        in document: Document? = nil
    ) async throws -> (key: SoftAuthenticator, id: String) {
        let begun = try await deployment.send(
            "POST",
            "users/factors",
            #"{"kind": "passkey"}"#,
            token: session.token,
            to: document
        )
        let draft = try #require(JSON.object(begun.text))
        let options = draft["publicKey"]?.object
        let key = SoftAuthenticator(
            key: try SoftAuthenticator.Key(.es256),
            relyingPartyID: "example.com",
            origin: "https://app.example.com",
            userHandle: options?["user"]?.object?["id"]?.string.flatMap { Base64URL.decode($0.utf8) }
        )
        let confirmed = try await deployment.send(
            "POST",
            "users/factors/\(try #require(draft["id"]?.string))/confirm",
            #"{"credential": \#(key.register(challenge: try challenge(options)))}"#,
            token: session.token,
            to: document
        )
        let factor = try #require(JSON.object(confirmed.text))
        return (key, try #require(factor["id"]?.string, "\(confirmed.text)"))
    }

    private func logIn(by key: inout SoftAuthenticator) async throws -> LoginResult {
        let begun = try await deployment.send("POST", "users/passkey/start")
        let object = try #require(JSON.object(begun.text))
        let pending = try #require(object["pending"]?.string, "\(begun.text)")
        let credential = try key.assert(challenge: try challenge(object["publicKey"]?.object))
        let body = #"{"pending": "\#(pending)", "credential": \#(credential)}"#
        return try deployment.signedIn(try await deployment.send("POST", "users/passkey/finish", body))
    }

    private func unlink(_ session: LoginResult, in document: Document? = nil) async throws -> HTTPReply {
        try await deployment.send("DELETE", "users/identities/facebook", token: session.token, to: document)
    }

    private func remove(_ factor: String, by session: LoginResult) async throws -> HTTPReply {
        try await deployment.send("DELETE", "users/factors/\(factor)", token: session.token)
    }

    private func loginMethods(of session: LoginResult, in document: Document? = nil) async throws -> [JSONObject] {
        let reply = try await deployment.get("users/identities", token: session.token, of: document)
        return (JSON.value(reply.text)?.array ?? []).compactMap(\.object)
    }

    @Test("a passkey that has logged in is a way in: the last identity may go, and then the passkey stays")
    func lastWayIn() async throws {
        let byFacebook = try await deployment.loggedIn(try await deployment.newcomer())
        var (key, id) = try await enrol(of: byFacebook)
        // The passkey has not logged in yet, so it does not count as a login method.
        try expectProblem(try await unlink(byFacebook), "last_login_method")
        let session = try await logIn(by: &key)
        #expect(session.objectID == byFacebook.objectID)
        let methods = try await loginMethods(of: session)
        #expect(methods.map { $0["provider"]?.string } == ["facebook", "passkey"])
        #expect(methods.map { $0["current"] } == [.bool(false), .bool(true)])
        #expect(methods.last?["subject"]?.string == id)
        #expect(methods.last?.keys == methods.first?.keys)
        try expectProblem(try await unlink(byFacebook), "last_login_method")

        #expect(try await unlink(session).status == 204)
        #expect(try await loginMethods(of: session).map { $0["provider"]?.string } == ["passkey"])
        try expectProblem(try await remove(id, by: session), "last_login_method")
        #expect(try await logIn(by: &key).objectID == session.objectID)

        // Another passkey is a login method once it has logged in.
        var (other, otherID) = try await enrol(of: session)
        try expectProblem(try await remove(id, by: session), "last_login_method")
        let byOther = try await logIn(by: &other)
        #expect(try await remove(id, by: byOther).status == 204)
        try expectProblem(try await remove(otherID, by: byOther), "last_login_method")
        #expect(try await logIn(by: &other).objectID == session.objectID)
    }

    @Test("beside an identity a passkey can go")
    func besideIdentity() async throws {
        let session = try await deployment.loggedIn(try await deployment.newcomer())
        var (key, id) = try await enrol(of: session)
        let byPasskey = try await logIn(by: &key)
        #expect(try await remove(id, by: byPasskey).status == 204)
        #expect(try await loginMethods(of: byPasskey).map { $0["provider"]?.string } == ["facebook"])
        // A removed passkey is no login method, even in the session that it opened.
        try expectProblem(try await unlink(byPasskey), "last_login_method")
    }

    @Test("where nobody logs in by a passkey it is a second factor and no more")
    func secondFactor() async throws {
        let document = deployment.documents[1]
        let session = try await deployment.loggedIn(try await deployment.newcomer(), to: document)
        let (_, id) = try await enrol(of: session, in: document)
        #expect(try await loginMethods(of: session, in: document).map { $0["provider"]?.string } == ["facebook"])
        try expectProblem(try await unlink(session, in: document), "last_login_method")
        let removed = try await deployment.send(
            "DELETE",
            "users/factors/\(id)",
            token: session.token,
            to: document
        )
        #expect(removed.status == 204)
        try expectProblem(
            try await deployment.send("POST", "users/passkey/start", to: document),
            "factor_not_offered"
        )
    }
}

private func settings(isLogin: Bool) -> String {
    #"""
    {"secondFactor": {"policy": "optional", "factors": ["passkey"], "passkeys": {
        "rpId": "example.com", "origins": ["https://app.example.com"], "login": \#(isLogin)}}}
    """#
}
