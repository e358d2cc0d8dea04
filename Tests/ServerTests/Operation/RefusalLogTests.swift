import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Who is refused leaves a line in the log: from where, why, and a pseudonym of what was shown",
    .serialized,
    .deployed(
        Document(hasServerKey: true, settings: #"{"roles": ["Editor"]}"#, mapping: #"{"email": "email"}"#),
        environment: mails.environment.merging(["FEDERATION_TRUSTED_PROXIES": "1"]) { $1 }
    )
)
struct RefusalLogTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Sends a request from a unique address and returns the single line that it leaves in the log.
    private func line(
        _ comment: Comment = "",
        sourceLocation: SourceLocation = #_sourceLocation,
        of send: (_ source: [(String, String)]) async throws -> HTTPReply
    ) async throws -> JSONObject {
        let source = "10.\(Int.random(in: 0...255)).\(Int.random(in: 0...255)).\(Int.random(in: 1...254))"
        _ = try await send([("X-Forwarded-For", source)])
        try await eventually("a line of \(source): \(comment)") { !lines(from: source).isEmpty }
        let found = lines(from: source)
        #expect(found.count == 1, "\(comment): \(found)", sourceLocation: sourceLocation)
        let line = try #require(found.first, sourceLocation: sourceLocation)
        #expect(line["request"]?.string?.isEmpty == false, "\(line)", sourceLocation: sourceLocation)
        return line
    }

    private func lines(from source: String) -> [JSONObject] {
        logged.filter { $0["source"]?.string == source && $0["level"]?.string == "notice" }
    }

    private var logged: [JSONObject] {
        deployment.service.process.standardOutput.split(separator: "\n").compactMap { JSON.object(String($0)) }
    }

    private func isPseudonym(_ value: JSONValue?) -> Bool {
        value?.string.map { $0.utf8.count == 16 && $0.allSatisfy(\.isHexDigit) } ?? false
    }

    @Test("logins by a password, registrations and mailed links have one pseudonym for one address, in whatever case")
    func logins() async throws {
        _ = try await deployment.register("ann.canary@example.com")
        func logIn(_ login: String) async throws -> JSONObject {
            try await line("login of \(login)") { source in
                let body = #"{"login": "\#(login)", "password": "wrong canary words here"}"#
                return try await deployment.send("POST", "users/login", body, headers: source)
            }
        }
        let first = try await logIn("ann.canary@example.com")
        #expect(first["message"]?.string == "login" && first["outcome"]?.string == "login_invalid", "\(first)")
        #expect(isPseudonym(first["login"]), "\(first)")
        let ann = first["login"]
        #expect(try await logIn("ANN.Canary@example.com")["login"] == ann)
        let bob = try await logIn("bob.canary@example.com")["login"]
        #expect(isPseudonym(bob) && bob != ann)
        #expect(isPseudonym(try await logIn("no address of a canary")["login"]))

        let taken = try await line("registration") { source in
            let body = #"{"email": "ann.canary@example.com", "password": "\#(Deployment.password)"}"#
            return try await deployment.send("POST", "users/register", body, headers: source)
        }
        #expect(taken["message"]?.string == "registration" && taken["outcome"]?.string == "login_taken", "\(taken)")
        #expect(taken["login"] == ann)

        for login in ["bob.canary@example.com", "canary"] {
            let mailed = try await line("link") { source in
                try await deployment.send("GET", "users/restorepassword/\(login)", headers: source)
            }
            #expect(mailed["message"]?.string == "link asked for" && mailed["outcome"]?.string == "nobody", "\(mailed)")
            #expect(isPseudonym(mailed["login"]))
            if login != "canary" { #expect(mailed["login"] == bob) }
        }
    }

    @Test("logins by a provider, codes and links have a pseudonym of what was sent")
    func credentials() async throws {
        for body in [
            #"{"accessToken": "EAAcanary"}"#, #"{"loginCode": "canary"}"#, #"{"idToken": "canary.canary.canary"}"#,
        ] {
            var seen: Set<String> = []
            for _ in 1...2 {
                let line = try await line("\(body)") { source in
                    try await deployment.send("POST", "users/loginWithFacebook", body, headers: source)
                }
                #expect(line["message"]?.string == "login", "\(line)")
                #expect(line["outcome"]?.string?.hasPrefix("credential_") == true, "\(line)")
                #expect(isPseudonym(line["credential"]), "\(line)")
                seen.insert(line["credential"]?.string ?? "")
            }
            #expect(seen.count == 1)
        }
        let ann = try await deployment.loggedIn(try await deployment.newcomer())
        for (provider, reason) in [("twitter", "provider_not_configured"), ("nobody", "not_found")] {
            let line = try await line("link of \(provider)") { source in
                let (path, body) = ("users/identities/\(provider)", #"{"accessToken": "EAAcanary"}"#)
                return try await deployment.send("POST", path, body, token: ann.token, headers: source)
            }
            #expect(line["message"]?.string == "link" && line["outcome"]?.string == reason, "\(line)")
            #expect(line["user"]?.string == ann.objectID && line["provider"]?.string == provider, "\(line)")
        }
        let reset = try await line("reset") { source in
            let body = #"{"token": "canary", "password": "\#(Deployment.password)"}"#
            return try await deployment.send("POST", "users/resetpassword", body, headers: source)
        }
        #expect(reset["message"]?.string == "password reset" && reset["outcome"]?.string == "link_invalid", "\(reset)")
        let page = try await line("page") { source in
            try await deployment.client.get("/demo/reset-password?token=canary", headers: source)
        }
        #expect(page["message"]?.string == "refused" && page["reason"]?.string == "link_invalid", "\(page)")
        #expect(page["application"]?.string == "demo")
        let dialog = try await line("dialog") { source in
            try await deployment.send("GET", "users/oauth/facebook/start?dialog=canary", headers: source)
        }
        #expect(dialog["message"]?.string == "refused", "\(dialog)")
        #expect(dialog["reason"]?.string == "login_state_invalid")
    }

    @Test("keys, sessions and roles that do not count leave the route, and pseudonyms of key and session")
    func checks() async throws {
        _ = try await deployment.register("checked.canary@example.com")
        let ann = try await deployment.logIn("checked.canary@example.com")
        _ = try await deployment.register("other.canary@example.com")
        let other = try await deployment.logIn("other.canary@example.com")
        let dead = String(repeating: "canary0", count: 7).prefix(43)
        let base = "/{applicationId}/{apiKey}/users/"

        func refused(
            _ method: String,
            _ endpoint: String,
            _ body: String? = nil,
            token: String? = nil,
            key: String? = nil
        ) async throws -> JSONObject {
            let line = try await line("\(method) \(endpoint)") { source in
                try await deployment.send(method, endpoint, body, token: token, key: key, headers: source)
            }
            #expect(line["message"]?.string == "refused", "\(line)")
            return line
        }

        let check = try await refused("GET", "users/isvalidusertoken/\(dead)")
        #expect(check["reason"]?.string == "session_invalid" && check["application"]?.string == "demo", "\(check)")
        #expect(check["route"]?.string == base + "isvalidusertoken/{token}")
        #expect(isPseudonym(check["session"]))
        for (method, endpoint) in [
            ("GET", "users/\(ann.objectID)"), ("GET", "users/logout"), ("GET", "users/identities"),
        ] {
            let line = try await refused(method, endpoint, token: String(dead))
            #expect(line["reason"]?.string == "session_invalid")
            #expect(line["session"] == check["session"], "the same token has the same pseudonym, wherever it is sent")
        }
        #expect(try await refused("GET", "users/userroles")["session"] == nil, "nothing was shown")

        let keys = try await [1, 2].asyncMap { _ in
            try await refused("GET", "users/logout", key: "canary_old_key_0123456789")
        }
        #expect(keys[0]["reason"]?.string == "unknown_application" && keys[0]["application"] == nil, "\(keys[0])")
        #expect(isPseudonym(keys[0]["key"]) && keys[0]["key"] == keys[1]["key"])
        let page = try await line("page") { source in
            try await deployment.send(
                "GET",
                "users/logout",
                key: Canary.serverAPIKey,
                headers: source + [("Origin", "https://x.example")]
            )
        }
        #expect(page["cause"]?.string == "a browser sent the server's key server", "\(page)")

        for (method, endpoint, body, reason) in [
            ("PUT", "users/\(ann.objectID)/status", #"{"userStatus": "DISABLED"}"#, "server_key_required"),
            (
                "POST", "users/assignRole", #"{"user": "\#(ann.objectID)", "roleName": "Editor"}"#,
                "role_assignment_forbidden"
            ),
            ("GET", "users/role/Editor", nil, "server_key_required"),
            ("POST", "users/verifypassowrd", #"{"password": "wrong canary words here"}"#, "login_invalid"),
        ] as [(String, String, String?, String)] {
            let line = try await refused(method, endpoint, body, token: ann.token)
            #expect(line["reason"]?.string == reason, "\(line)")
            #expect(isPseudonym(line["session"]))
        }
        let read = try await line("another's record") { source in
            try await deployment.send("GET", "users/\(other.objectID)", token: ann.token, headers: source)
        }
        #expect(
            read["reason"]?.string == "not_found" && read["cause"]?.string?.contains(ann.objectID) == true,
            "\(read)"
        )
        let written = try await line("another's record") { source in
            try await deployment.send(
                "PUT",
                "users/\(other.objectID)",
                #"{"name": "x"}"#,
                token: ann.token,
                headers: source
            )
        }
        #expect(
            written["message"]?.string == "user update" && written["outcome"]?.string == "not_own_record",
            "\(written)"
        )
    }

    @Test("assertions of backends and links in Firebase's form leave the route, the reason and the application")
    func firebase() async throws {
        let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        let assertion = try await line("assertion") { source in
            try await deployment.client.send(
                "POST",
                "/oauth2.googleapis.com/token",
                headers: source + [("Content-Type", "application/x-www-form-urlencoded")],
                body: Array("grant_type=\(grant)&assertion=canary".utf8)
            )
        }
        #expect(assertion["message"]?.string == "refused", "\(assertion)")
        #expect(assertion["reason"]?.string == "credential_invalid", "\(assertion)")
        #expect(assertion["cause"]?.string == "assertion of a service account: no such signature", "\(assertion)")
        #expect(assertion["route"]?.string == "/oauth2.googleapis.com/token")

        for (key, application) in [("&apiKey=demo", "demo"), ("", nil)] as [(String, String?)] {
            let line = try await line("link \(key)") { source in
                try await deployment.client.get("/__/auth/action?mode=signIn&oobCode=canary\(key)", headers: source)
            }
            #expect(line["message"]?.string == "refused" && line["route"]?.string == "/__/auth/action", "\(line)")
            #expect(line["reason"]?.string == "link_invalid", "\(line)")
            #expect(line["application"]?.string == application, "\(line)")
        }
    }

    @Test("operators: without a token, with one that does not count, and with a role that is too low")
    func operators() async throws {
        func refusals(_ source: String) -> [JSONObject] {
            logged.filter { $0["message"]?.string == "operator refused" && $0["source"]?.string == source }
        }
        func refused(_ client: AdminClient, _ method: String, _ path: String) async throws -> JSONObject {
            let elsewhere = client.elsewhere
            _ = try await elsewhere.send(method, path)
            let source = elsewhere.http.source
            try await eventually("a line of \(source)") { !refusals(source).isEmpty }
            return try #require(refusals(source).first)
        }
        let nobody = try await refused(deployment.admin(token: nil), "GET", "applications")
        #expect(nobody["reason"]?.string == "operator_token_invalid" && nobody["token"] == nil, "\(nobody)")
        var tokens: Set<String> = []
        for _ in 1...2 {
            let wrong = try await refused(deployment.admin(token: "fedop_canary"), "GET", "applications")
            #expect(wrong["reason"]?.string == "operator_token_invalid" && isPseudonym(wrong["token"]), "\(wrong)")
            tokens.insert(wrong["token"]?.string ?? "")
        }
        #expect(tokens.count == 1)
        let low = try await refused(try await deployment.admin(.viewer), "DELETE", "applications/demo")
        #expect(low["reason"]?.string == "operator_forbidden" && low["operator"]?.string == "viewer", "\(low)")
        #expect(low["route"]?.string == "DELETE /admin/v1/applications/{application}")
    }

    @Test("however many are refused, each is a line or counted in one")
    func flood() async throws {
        let count = 600
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    for _ in 0..<count / 20 {
                        let reply = try await deployment.send("GET", "users/role/Editor")
                        try expectProblem(reply, "server_key_required")
                    }
                }
            }
            try await group.waitForAll()
        }
        // Other tests of the suite cause a few more.
        try await eventually("all are in the log") {
            let refused = logged.filter { $0["reason"]?.string == "server_key_required" }.count
            let leftOut = logged.filter {
                $0["of"]?.string == "refused" && $0["outcome"]?.string == "server_key_required"
            }
            return refused + leftOut.compactMap { $0["lines"]?.string.flatMap { Int($0) } }.reduce(0, +) >= count
        }
    }
}
