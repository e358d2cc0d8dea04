import Crypto
import Domain
import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Login by a password",
    .serialized,
    .deployed(Document(mapping: #"{"email": "email"}"#), environment: ["FEDERATION_TRUSTED_PROXIES": "1"])
)
struct PasswordLoginTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    /// Tries to log in from a source as reported by the trusted proxy, by default a new one each time.
    private func attempt(
        _ login: String,
        _ password: String = "wrong wrong wrong",
        from source: String = "10.\(Int.random(in: 0...255)).\(Int.random(in: 0...255)).\(Int.random(in: 1...254))",
        at endpoint: String = "users/login"
    ) async throws -> HTTPReply {
        let body = JSONValue.object(["login": .string(login), "password": .string(password)]).text
        return try await deployment.send("POST", endpoint, body, headers: [("X-Forwarded-For", source)])
    }

    private func forgetAttempts() async throws { try await deployment.database.psql("delete from demo.attempts") }

    @Test(
        "the address in any case and the password in either of Unicode's forms open a session; the reply holds no password"
    )
    func login() async throws {
        let password = "caf\u{e9} with green tea"
        let body = #"{"email": "Ann.canary@Example.com", "password": "\#(password)", "name": "Ann"}"#
        #expect(try await deployment.send("POST", "users/register", body).status == 200)
        let reply = try await attempt("ANN.canary@example.COM", "cafe\u{301} with green tea")
        let session = try deployment.signedIn(reply)
        #expect(session.user["email"]?.string == "Ann.canary@Example.com")
        #expect(session.user["lastLogin"]?.integer != nil)
        #expect(session.user["password"] == nil)
        #expect(session.user["___class"]?.string == "Users")
        #expect(reply.header("Cache-Control") == "no-store")
        #expect(try await deployment.isValid(session.token))

        let again = try deployment.signedIn(
            try await deployment.send(
                "POST",
                "users/login",
                #"{"login": "ann.canary@example.com", "password": "\#(password)"}"#,
                token: session.token
            )
        )
        #expect(again.token != session.token)
        #expect(try await !deployment.isValid(session.token), "the client's own former session ends")
        let dead = [("user-token", session.token)]
        let stale = try await deployment.client.post(
            deployment.path("users/login"),
            json: #"{"login": "ann.canary@example.com", "password": "\#(password)"}"#,
            headers: dead
        )
        #expect(stale.status == 200, "a dead token is no reason to refuse")
    }

    @Test("T-42: what is missing is asked for; no other text, number or empty password lets anybody in")
    func malformed() async throws {
        let person = try await deployment.newcomer(#"{"email": "facebook.canary@example.com"}"#)
        let facebook = try await deployment.loggedIn(person)
        #expect(facebook.user["email"]?.string == "facebook.canary@example.com")
        let login = #""login": "facebook.canary@example.com""#
        for body in [
            "{}", "{\(login)}", #"{\#(login), "password": null}"#, #"{\#(login), "password": ""}"#,
            #"{"password": "x"}"#,
        ] {
            try expectProblem(try await deployment.send("POST", "users/login", body), "login_incomplete", "\(body)")
        }
        let refused = [
            #"{\#(login), "password": "null"}"#, #"{\#(login), "password": " "}"#,
            #"{\#(login), "password": "x"}"#,
            #"{"login": 12345, "password": "\#(Deployment.password)"}"#,
            #"{"login": "\#(facebook.objectID)", "password": "\#(Deployment.password)"}"#,
            #"{\#(login), "password": "\#(String(repeating: "x", count: 257))"}"#,
        ]
        for body in refused {
            try expectProblem(try await deployment.send("POST", "users/login", body), "login_invalid", "\(body)")
        }
        for body in [#"{\#(login), "password": 7}"#, #"{"login": true, "password": "x"}"#, "[]"] {
            try expectProblem(try await deployment.send("POST", "users/login", body), "malformed_request", "\(body)")
        }
        let stored = "select count(*) from demo.passwords where object_id = '\(facebook.objectID)'"
        #expect(try await deployment.value(stored) == "0")
        try await forgetAttempts()
    }

    @Test("T-80: of guesses that come at once a handful get through; the right password then waits, Facebook does not")
    func parallel() async throws {
        let person = try await deployment.newcomer()
        _ = try await deployment.register("guessed.canary@example.com")
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    // A busy machine accepts fewer at once; attempts refused with 503 are not checked.
                    while true {
                        let status = try await attempt("guessed.canary@example.com").status
                        if status != 503 { return status }
                        try await Task.sleep(for: .milliseconds(100))
                    }
                }
            }
            return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect((5...7).contains(statuses[401] ?? 0), "\(statuses)")
        #expect((statuses[401] ?? 0) + (statuses[429] ?? 0) == 40, "\(statuses)")
        try await deployment.database.psql(
            "update demo.attempts set blocked_until = now() + interval '20 s' where failures >= 5"
        )
        let refused = try await attempt("guessed.canary@example.com", Deployment.password)
        try expectProblem(refused, "too_many_attempts")
        let wait = try #require(refused.header("Retry-After").flatMap { Int($0) })
        #expect((1...20).contains(wait))
        #expect(try await deployment.login(person).status == 200, "another login method stays open")
        try await deployment.database.psql("update demo.attempts set blocked_until = now()")
        #expect(try await attempt("guessed.canary@example.com", Deployment.password).status == 200)
        #expect(try await deployment.value("select count(*) from demo.attempts where failures >= 5") == "0")
    }

    @Test(
        "T-80: a source is what the trusted proxy says, an IPv6 one the whole /64 in every spelling, whatever else is written"
    )
    func source() async throws {
        try await forgetAttempts()
        #expect(try await attempt("a.canary@example.com", from: "2001:db8:1:2::1").status == 401)
        try await deployment.database.psql("update demo.attempts set failures = 310")
        #expect(try await attempt("b.canary@example.com", from: "2001:DB8:1:2:ffff::9").status == 401)
        let spellings = [
            "2001:db8:1:2::77", "198.51.100.1, 2001:0db8:0001:0002:0000:0000:0000:0001", "[2001:db8:1:2::5]:443",
            "10.0.0.1,2001:db8:1:2:0:0:1.2.3.4",
        ]
        for (number, spelling) in spellings.enumerated() {
            try expectProblem(
                try await attempt("c\(number).canary@example.com", from: spelling),
                "too_many_attempts",
                "\(spelling)"
            )
        }
        #expect(try await attempt("d.canary@example.com", from: "2001:db8:1:3::1").status == 401, "the next /64")
        try await forgetAttempts()
    }

    @Test("T-81: spellings of one address share one count")
    func spellings() async throws {
        _ = try await deployment.register("bob.canary@example.com")
        let spellings = [
            "bob.canary@example.com", "Bob.Canary@example.com", "BOB.CANARY@EXAMPLE.COM", "bob.canary@Example.com",
        ]
        for spelling in spellings { #expect(try await attempt(spelling).status == 401) }
        let failures = "select max(failures) from demo.attempts"
        #expect(try await deployment.value(failures) == "4")
        #expect(try await attempt("bOB.canary@example.com").status == 401)
        try await deployment.database.psql(
            "update demo.attempts set blocked_until = now() + interval '20 s' where failures >= 5"
        )
        for spelling in spellings { #expect(try await attempt(spelling).status == 429, "\(spelling)") }
        try await forgetAttempts()
    }

    @Test("T-82: own successes clear nothing of other logins, and of the source no other failure")
    func successes() async throws {
        _ = try await deployment.register("eve.canary@example.com")
        _ = try await deployment.register("victim.canary@example.com")
        for _ in 1...4 {
            #expect(try await attempt("victim.canary@example.com", from: "203.0.113.9").status == 401)
            let own = try await attempt("eve.canary@example.com", Deployment.password, from: "203.0.113.9")
            #expect(own.status == 200)
        }
        let counts = try await deployment.value("select count(*) from demo.attempts where failures = 4")
        #expect(counts == "2", "the source's and the victim's")
        try await forgetAttempts()
    }

    // The test measures processor time, most of which is the hash: elapsed time on a busy machine says little.
    @Test("T-83: an unknown login, one without a password and a wrong password answer alike, and take the same work")
    func enumeration() async throws {
        _ = try await deployment.register("known.canary@example.com")
        let person = try await deployment.newcomer(#"{"email": "social.canary@example.com"}"#)
        _ = try await deployment.loggedIn(person)
        let logins = ["known.canary@example.com", "nobody.canary@example.com", "social.canary@example.com"]
        var bodies: Set<String> = []
        var work = [Duration](repeating: .zero, count: logins.count)
        for _ in 0..<5 {
            for (index, login) in logins.enumerated().shuffled() {
                let before = try ProcessUsage(of: deployment.service.process.pid).processorTime
                for _ in 0..<8 {
                    try await forgetAttempts()
                    let reply = try await attempt(login)
                    #expect(reply.status == 401)
                    let id = JSON.object(reply.text)?["errorData"]?.object?["requestId"]?.string ?? "?"
                    bodies.insert(reply.text.replacing(id, with: ""))
                }
                work[index] += try ProcessUsage(of: deployment.service.process.pid).processorTime - before
            }
        }
        let (low, high) = (work.min() ?? .zero, work.max() ?? .zero)
        #expect(high < low * 1.5, "processor time for 40 each: \(work)")
        #expect(bodies.count == 1, "\(bodies)")
        try await forgetAttempts()
    }

    @Test("T-85: every path to a password meets the same limit")
    func paths() async throws {
        _ = try await deployment.register("path.canary@example.com")
        let session = try await deployment.logIn("path.canary@example.com")
        for _ in 1...5 { #expect(try await attempt("path.canary@example.com").status == 401) }
        try await deployment.database.psql(
            "update demo.attempts set blocked_until = now() + interval '25 s' where failures >= 5"
        )
        for path in ["users/login", "users/login?x=1"] {
            let reply = try await attempt("path.canary@example.com", Deployment.password, at: path)
            try expectProblem(reply, "too_many_attempts", "\(path)")
        }
        for path in [
            "users/login/", "/users/login", "users//login", "users///login", "users%2Flogin", "users%2flogin",
            "./users/login",
            "users/./login", "users/%2e/login", "x/../users/login", "users/x/%2e%2e/login", "users/login/.",
            "users/login/x/..",
            "users\\login", "users%5clogin", "users/login;x", "users/login%20", "users/%6Cogin", "Users/login",
        ] {
            let reply = try await attempt("path.canary@example.com", Deployment.password, at: path)
            try expectProblem(reply, oneOf: ["not_found", "method_not_allowed", "malformed_request"], "\(path)")
        }
        let verified = try await deployment.send(
            "POST",
            "users/verifypassowrd",
            #"{"password": "\#(Deployment.password)"}"#,
            token: session.token
        )
        try expectProblem(verified, "too_many_attempts")
        let update = try await deployment.send(
            "PUT",
            "users/\(session.objectID)",
            #"{"password": "another four canary words", "currentPassword": "\#(Deployment.password)"}"#,
            token: session.token
        )
        try expectProblem(update, "too_many_attempts")
        #expect(try await deployment.client.send("HEAD", deployment.path("users/login")).status == 405)
        try await forgetAttempts()
    }

    @Test("verifying says whether the password is right, to its own session alone")
    func verifying() async throws {
        _ = try await deployment.register("verify.canary@example.com")
        let session = try await deployment.logIn("verify.canary@example.com")
        func verify(_ password: String, token: String?) async throws -> HTTPReply {
            try await deployment.send("POST", "users/verifypassowrd", #"{"password": "\#(password)"}"#, token: token)
        }
        #expect(try await verify(Deployment.password, token: session.token).text == #"{"valid":true}"#)
        #expect(try await verify("something else here", token: session.token).text == #"{"valid":false}"#)
        #expect(try await verify("", token: session.token).text == #"{"valid":false}"#)
        try expectProblem(try await verify(Deployment.password, token: nil), "session_invalid")
        let facebook = try await deployment.loggedIn(try await deployment.newcomer())
        #expect(try await verify(Deployment.password, token: facebook.token).text == #"{"valid":false}"#)
        try await forgetAttempts()
    }

    @Test("a disabled user who knows the password is told so, and nobody else is")
    func disabled() async throws {
        let user = try await deployment.register("off.canary@example.com")
        let id = user["objectId"]?.string ?? ""
        try await deployment.database.psql("update demo.users set user_status = 'DISABLED' where object_id = '\(id)'")
        try expectProblem(try await attempt("off.canary@example.com", Deployment.password), "account_disabled")
        try expectProblem(try await attempt("off.canary@example.com"), "login_invalid")
        #expect(try await deployment.value("select count(*) from demo.sessions where object_id = '\(id)'") == "0")
    }

    @Test(
        "a hash of former parameters is made anew at the next login; one that lies at another user's row opens nothing"
    )
    func rehash() async throws {
        let old = try await deployment.register("old.canary@example.com")
        let other = try await deployment.register("other.canary@example.com")
        let (id, otherID) = (old["objectId"]?.string ?? "", other["objectId"]?.string ?? "")
        // "password" under 256 KiB, of the reference implementation's test vectors.
        let weak = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
        let key = SymmetricKey(data: Data("canary-master-key-of-32-bytes-!!".utf8))
        let place = Data("passwords\ndemo\n\(id)\nhash".utf8)
        let encrypted = try #require(try AES.GCM.seal(Data(weak.utf8), using: key, authenticating: place).combined)
        let hex = Hexadecimal.encode(encrypted)
        try await deployment.database.psql("update demo.passwords set hash = '\\x\(hex)' where object_id = '\(id)'")
        #expect(try await attempt("old.canary@example.com", "password").status == 200)
        let stored = "select octet_length(hash) from demo.passwords where object_id = '\(id)'"
        #expect(try await deployment.value(stored) != String(encrypted.count), "97 characters are encrypted, not 84")
        #expect(try await attempt("old.canary@example.com", "password").status == 200)

        try await deployment.database.psql(
            """
            update demo.passwords set hash = (select hash from demo.passwords where object_id = '\(id)')
            where object_id = '\(otherID)'
            """
        )
        #expect(try await attempt("other.canary@example.com", "password").status == 500)
        try await forgetAttempts()
    }
}

@Suite(
    "Logins by a password that nobody computes",
    .serialized,
    .deployed(
        Document(mapping: #"{"email": "email"}"#),
        environment: ["FEDERATION_PASSWORD_HASHES": "1", "FEDERATION_PASSWORD_QUEUE": "1"]
    )
)
struct PasswordOverloadTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("T-80: a guess that there is no room for is refused, and counted for nobody")
    func takenBack() async throws {
        let replies = try await withThrowingTaskGroup(of: HTTPReply.self) { group in
            for number in 0..<24 {
                let body = #"{"login": "nobody\#(number).canary@example.com", "password": "wrong wrong wrong"}"#
                group.addTask { try await deployment.send("POST", "users/login", body) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let computed = replies.count { $0.status == 401 }
        #expect((1..<replies.count).contains(computed))
        for reply in replies where reply.status != 401 { try expectProblem(reply, "overloaded") }
        // Each computed guess counts for the source and for its login.
        #expect(try await deployment.value("select max(failures) from demo.attempts") == "\(computed)")
        #expect(try await deployment.value("select sum(failures) from demo.attempts") == "\(2 * computed)")
    }

    @Test("T-80: guesses and accounts that the database had no time for are counted for nobody either")
    func unreadable() async throws {
        let before = try await deployment.value("select sum(failures) from demo.attempts") ?? "0"
        let bodies = [
            ("users/login", #"{"login": "late.canary@example.com", "password": "wrong wrong wrong"}"#),
            ("users/register", #"{"email": "late.canary@example.com", "password": "right right right"}"#),
            ("users/register/guest", "{}"),
        ]
        let replies = try await deployment.database.whileLocked("lock table demo.passwords, demo.users") {
            try await withThrowingTaskGroup(of: HTTPReply.self) { group in
                for (path, body) in bodies { group.addTask { try await deployment.send("POST", path, body) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        #expect(replies.map(\.status) == [503, 503, 503])
        #expect(try await deployment.value("select sum(failures) from demo.attempts") == before)
    }
}
