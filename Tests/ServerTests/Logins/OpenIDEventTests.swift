import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Events and kept tokens of an OpenID issuer",
    .serialized,
    .deployed(
        Document(
            properties: #"{"givenName": {"type": "STRING"}, "team": {"type": "STRING"}}"#,
            mapping: #"{"email": "email"}"#
        ),
        environment: Issuers.environment
    )
)
struct OpenIDEventTests {
    let deployment: Deployment
    let issuers: Issuers

    private static let logout = "http://schemas.openid.net/event/backchannel-logout"
    private static let unlinked = "https://schemas.openid.net/secevent/oauth/event-type/tokens-revoked"

    init() throws {
        deployment = try Deployment.current
        issuers = Issuers(deployment: deployment)
    }

    private func signIn(_ issuer: String, _ subject: String, session: String? = nil) async throws -> LoginResult {
        let token = try await issuers.idToken(issuer, of: subject, session: session)
        return try deployment.signedIn(try await issuers.login(issuer, #"{"idToken": "\#(token)"}"#))
    }

    private func isAlive(_ login: LoginResult) async throws -> Bool {
        let reply = try await deployment.client.get(deployment.path("users/isvalidusertoken/\(login.token)"))
        return reply.text == "true"
    }

    private func event(_ issuer: String, _ claims: String, header: String = #"{"typ": "JWT"}"#) async throws -> String {
        try await issuers.token(issuer, #""claims": {"jti": "1", \#(claims)}, "header": \#(header)"#)
    }

    @Test("a back-channel logout ends the sessions of that identity alone; a repetition and a later login stand")
    func backChannelLogout() async throws {
        try await issuers.make("op")
        let (ann, bob) = (try await signIn("op", "ann"), try await signIn("op", "bob"))
        let token = try await event("op", #""sub": "ann", "sid": "s1", "events": {"\#(Self.logout)": {}}"#)
        let form = "logout_token=\(token)"
        let reply = try await issuers.report("op", form, type: "application/x-www-form-urlencoded")
        #expect(reply.status == 200, "\(reply.text)")
        #expect(try await !isAlive(ann))
        #expect(try await isAlive(bob))
        let typed = try await event(
            "op",
            #""sub": "bob", "events": {"\#(Self.logout)": {}}"#,
            header: #"{"typ": "logout+jwt"}"#
        )
        #expect(
            try await issuers.report("op", "logout_token=\(typed)", type: "application/x-www-form-urlencoded").status
                == 200
        )
        #expect(try await !isAlive(bob))
        // Later than the event by its clock, which has seconds.
        let past = try await deployment.value("select floor(extract(epoch from now()))::bigint - 5")
        let again = try await signIn("op", "cid")
        let old = try await event(
            "op",
            #""sub": "cid", "iat": \#(past ?? "0"), "events": {"\#(Self.logout)": {}}"#
        )
        for _ in 0..<2 { #expect(try await issuers.report("op", old).status == 200) }
        #expect(try await isAlive(again), "a session that is newer than the event stays")
    }

    @Test("a logout that names a session at the issuer ends the sessions of that session alone")
    func logoutOfOneSession() async throws {
        for name in ["desk", "shop"] { try await issuers.make(name) }
        func logOut(_ claims: String) async throws {
            let token = try await event("desk", #"\#(claims), "events": {"\#(Self.logout)": {}}"#)
            let reply = try await issuers.report(
                "desk",
                "logout_token=\(token)",
                type: "application/x-www-form-urlencoded"
            )
            #expect(reply.status == 200, "\(reply.text)")
        }
        let first = try await signIn("desk", "ann", session: "s1")
        let second = try await signIn("desk", "ann", session: "s2")
        // The same id at another issuer is another session.
        let elsewhere = try await signIn("shop", "ann", session: "s1")
        let body = try await issuers.codeBody("desk", #"{"sub": "ann", "sid": "s1"}"#)
        let byCode = try deployment.signedIn(try await issuers.login("desk", body))
        for _ in 0..<2 { try await logOut(#""sid": "s1""#) }
        for ended in [first, byCode] { #expect(try await !isAlive(ended)) }
        for alive in [second, elsewhere] { #expect(try await isAlive(alive)) }
        try await logOut(#""sid": "s2", "sub": "bob""#)
        #expect(try await isAlive(second), "the session is of another user")
        let unnamed = try await signIn("desk", "ann")
        try await logOut(#""sid": "s2", "sub": "ann""#)
        #expect(try await !isAlive(second))
        #expect(try await !isAlive(unnamed), "nobody knows of which session the login was")
        #expect(try await isAlive(elsewhere))
        // The logout comes before the login: the token of that session logs nobody in, another one does.
        let late = try await issuers.idToken("desk", of: "new", session: "s3")
        let other = try await issuers.idToken("desk", of: "new", session: "s4")
        let soon = (Int(try await deployment.value("select floor(extract(epoch from now()))::bigint") ?? "") ?? 0) + 2
        try await eventually("the token is older than the event") {
            Int(try await deployment.value("select floor(extract(epoch from now()))::bigint") ?? "") ?? 0 >= soon
        }
        try await logOut(#""sid": "s3""#)
        try expectProblem(try await issuers.login("desk", #"{"idToken": "\#(late)"}"#), "credential_revoked")
        _ = try deployment.signedIn(try await issuers.login("desk", #"{"idToken": "\#(other)"}"#))
    }

    @Test("an event that revokes the access marks the identity as revoked, and ends its sessions")
    func revoked() async throws {
        try await issuers.make("risc")
        let ann = try await signIn("risc", "ann")
        let subject = #"{"subject_type": "iss-sub", "iss": "\#(issuers.url(of: "risc"))", "sub": "ann"}"#
        let token = try await event(
            "risc",
            #""exp": null, "events": {"\#(Self.unlinked)": {"subject": \#(subject)}}"#,
            header: #"{"typ": "secevent+jwt"}"#
        )
        #expect(try await issuers.report("risc", token).status == 200)
        #expect(try await !isAlive(ann))
        let revoked = try await deployment.value(
            "select revoked is not null from demo.identities where provider = 'risc' and subject = 'ann'"
        )
        #expect(revoked == "t")
    }

    @Test("T-118: forged, foreign and confused events change nothing")
    func refused() async throws {
        try await issuers.make("guard")
        try await issuers.make("stranger")
        let ann = try await signIn("guard", "ann")
        let logout = #""sub": "ann", "events": {"\#(Self.logout)": {}}"#
        let now = Int(try await deployment.value("select floor(extract(epoch from now()))::bigint") ?? "") ?? 0
        var bodies = [
            try await event("stranger", logout), try await event("guard", #"\#(logout), "aud": "nobody""#),
            try await event("guard", #"\#(logout), "nonce": "n""#), try await event("guard", #""sub": "ann""#),
            try await event("guard", #"\#(logout), "iat": \#(now + 3600)"#),
            try await event("guard", #"\#(logout), "exp": \#(now - 3600)"#),
            try await event("guard", #""sid": "", "events": {"\#(Self.logout)": {}}"#),
            try await event("guard", logout, header: #"{"alg": "none"}"#),
            try await event("guard", logout, header: #"{"typ": "at+jwt"}"#),
            try await issuers.token("guard", #""key": "other", "claims": {"jti": "1", \#(logout)}"#),
            "", "logout_token=", "{}", #"{"payload": 1}"#, "a.b.c", String(repeating: "a", count: 70_000),
        ]
        bodies.append(try await issuers.token("guard", #""claims": {\#(logout)}"#))
        for body in bodies {
            let reply = try await issuers.report("guard", body)
            #expect((400...499).contains(reply.status), "\(reply.status): \(body.prefix(60))")
        }
        #expect(try await isAlive(ann))
        // The other way about: an event logs nobody in.
        let event = try await event("guard", logout)
        try expectProblem(try await issuers.login("guard", #"{"idToken": "\#(event)"}"#), "credential_invalid")
    }

    @Test("a refresh token is kept encrypted, checked, rotated, and revoked with the user")
    func keptTokens() async throws {
        try await issuers.make("kept", #""refreshTokens": true, "rotates": true"#, #""keepTokens": true"#)
        let body = try await issuers.codeBody("kept", #"{"sub": "k1", "given_name": "Ann"}"#)
        let login = try deployment.signedIn(try await issuers.login("kept", body))
        let kept = "select token_kind || ' ' || (token_expires is null) from demo.identities where provider = 'kept'"
        #expect(try await deployment.value(kept) == "refresh true")
        // A login by ID token brings no refresh token, and leaves the kept one.
        _ = try await signIn("kept", "k1")
        #expect(try await deployment.value(kept) == "refresh true")
        let before = try await deployment.value(
            "select encode(token, 'hex') from demo.identities where provider = 'kept'"
        )
        let admin = try await deployment.admin()
        try await admin.ask("POST", "applications/demo/users/\(login.objectID)/refresh")
        let after = try await deployment.value(
            "select encode(token, 'hex') from demo.identities where provider = 'kept'"
        )
        #expect(before != after, "the issuer has rotated the token")
        #expect(
            try await issuers.tokens("kept").filter { $0.hasPrefix("refresh") } == [
                "refresh replaced", "refresh active",
            ]
        )
        try await admin.ask("DELETE", "applications/demo/users/\(login.objectID)?confirm=\(login.objectID)")
        #expect(
            try await issuers.tokens("kept").filter { $0.hasPrefix("refresh") } == [
                "refresh replaced", "refresh revoked",
            ]
        )
    }

    @Test("a rotated refresh token is kept although neither the new ID token nor the profile can be read")
    func rotatedToken() async throws {
        try await issuers.make("turned", #""refreshTokens": true, "rotates": true"#, #""keepTokens": true"#)
        let body = try await issuers.codeBody("turned", #"{"sub": "t1"}"#)
        let login = try deployment.signedIn(try await issuers.login("turned", body))
        let admin = try await deployment.admin()
        let path = "applications/demo/users/\(login.objectID)/refresh"
        // The issuer has a new key, which it does not publish in time, and a firewall before userinfo.
        try await deployment.simulator.ask("POST", "openid/issuers/turned/rotate", "{}")
        for (place, status) in [("keys", 500), ("userinfo", 403)] {
            try await deployment.simulator.ask(
                "POST",
                "faults",
                #"{"effect": "reply", "status": \#(status), "json": {}, "path": "oidc/turned/\#(place)"}"#
            )
        }
        for _ in 0..<2 {
            let reply = try await admin.send("POST", path)
            #expect(reply.status >= 500, "\(reply.text)")
        }
        try await deployment.simulator.ask("DELETE", "faults")
        let refresh = try await issuers.tokens("turned").filter { $0.hasPrefix("refresh") }
        #expect(refresh == ["refresh replaced", "refresh replaced", "refresh active"])
        let kept = "select token is not null and revoked is null from demo.identities where provider = 'turned'"
        #expect(try await deployment.value(kept) == "t")
    }

    @Test("concurrent refreshes of one identity send a refresh token one after the other")
    func concurrentRefreshes() async throws {
        try await issuers.make("busy", #""refreshTokens": true, "rotates": true"#, #""keepTokens": true"#)
        let body = try await issuers.codeBody("busy", #"{"sub": "b1", "given_name": "Ann"}"#)
        let login = try deployment.signedIn(try await issuers.login("busy", body))
        try await deployment.simulator.ask(
            "PUT",
            "openid/issuers/busy",
            """
            {"clients": {"web": "secret-of-web"}, "refreshTokens": true, "rotates": true,
             "userinfo": {"sub": "b1", "given_name": "Anna"}}
            """
        )
        try await deployment.simulator.ask(
            "POST",
            "faults",
            #"{"effect": "delay", "milliseconds": 300, "path": "oidc/busy/token"}"#
        )
        let replies = try await atOnce(4) { _ in try await refresh("busy", login, at: deployment.client) }
        try await deployment.simulator.heal()
        #expect(replies.map(\.status) == [200, 200, 200, 200], "\(replies.map(\.text))")
        #expect(replies.allSatisfy { JSON.object($0.text)?["givenName"]?.string == "Anna" }, "\(replies.map(\.text))")
        let states = try await issuers.tokens("busy").filter { $0.hasPrefix("refresh") }
        #expect(states.last == "refresh active", "\(states)")
        #expect(states.dropLast().allSatisfy { $0 == "refresh replaced" }, "\(states)")
        #expect(try await refresh("busy", login, at: deployment.client).status == 200)
    }

    @Test("F-37: an instance that is killed while it reads the profile has stored the rotated refresh token")
    func killedWhileRefreshing() async throws {
        try await issuers.make("cut", #""refreshTokens": true, "rotates": true"#, #""keepTokens": true"#)
        let body = try await issuers.codeBody("cut", #"{"sub": "c1", "given_name": "Ann"}"#)
        let login = try deployment.signedIn(try await issuers.login("cut", body))
        let service = try await ServiceProcess.start(
            environment: Deployment.environment(database: deployment.database)
                .merging(deployment.simulator.environment) { _, new in new }
                .merging(Issuers.environment) { _, new in new }
        )
        try await deployment.simulator.ask(
            "POST",
            "faults",
            #"{"effect": "hang", "path": "oidc/cut/userinfo"}"#
        )
        async let cut = try? refresh("cut", login, at: service.client)
        try await eventually("the profile is being read") {
            let log = try await deployment.simulator.control.get("/requests?path=oidc/cut/userinfo").text
            return JSON.value(log)?.array?.isEmpty == false
        }
        try await service.process.kill()
        _ = await cut
        try await deployment.simulator.heal()
        #expect(try await refresh("cut", login, at: deployment.client).status == 200)
        #expect(
            try await issuers.tokens("cut").filter { $0.hasPrefix("refresh") } == [
                "refresh replaced", "refresh replaced", "refresh active",
            ]
        )
    }

    /// Has the profile of a session's user read again.
    private func refresh(_ issuer: String, _ login: LoginResult, at client: HTTPClient) async throws -> HTTPReply {
        try await client.send(
            "POST",
            deployment.path("users/identities/\(issuer)/refresh"),
            headers: [("user-token", login.token)],
            body: []
        )
    }

    @Test("a refresh token that the issuer no longer takes is dropped, and the identity stays")
    func deadToken() async throws {
        try await issuers.make("dead", #""refreshTokens": true"#, #""keepTokens": true"#)
        let body = try await issuers.codeBody("dead", #"{"sub": "d1"}"#)
        let login = try deployment.signedIn(try await issuers.login("dead", body))
        let reply = try await deployment.simulator.control.get("/openid/tokens")
        let refresh = try #require(JSON.value(reply.text)?.array).compactMap(\.object).first { token in
            token["issuer"]?.string == "dead" && token["kind"]?.string == "refresh"
        }
        let token = try #require(refresh?["token"]?.string)
        let revoked = try await deployment.simulator.graph.send(
            "POST",
            "/oidc/dead/revoke",
            headers: [
                ("Content-Type", "application/x-www-form-urlencoded"),
                ("Authorization", "Basic d2ViOnNlY3JldC1vZi13ZWI="),
            ],
            body: Array("token=\(token)".utf8)
        )
        try #require(revoked.status == 200)
        let admin = try await deployment.admin()
        _ = try await admin.send("POST", "applications/demo/users/\(login.objectID)/refresh")
        let row = try await deployment.value(
            "select (token is null) || ' ' || (revoked is null) from demo.identities where provider = 'dead'"
        )
        #expect(row == "true true")
    }
}
