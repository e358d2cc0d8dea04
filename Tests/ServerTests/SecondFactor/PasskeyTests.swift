import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let android = "android:apk-key-hash:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"

private func document(_ application: String, _ policy: String, _ passkeys: String) -> Document {
    Document(
        application: application,
        settings: #"""
            {"secondFactor": {\#(policy), "passkeys": {\#(passkeys)}}, "tokens": {"enabled": true},
             "registration": {"maxPerSourcePerHour": 1000}}
            """#,
        mapping: #"{"email": "email", "first_name": "name"}"#
    )
}

@Suite(
    "Passkeys",
    .serialized,
    .deployed(
        document(
            "demo",
            #""policy": "optional", "factors": ["totp", "recoveryCode", "passkey"]"#,
            #"""
            "rpId": "example.com", "origins": ["https://www.example.net", "https://app.example.com", "\#(android)"],
            "login": true, "androidPackages": ["com.example.demo", "com.example.demo.beta"],
            "appleApps": ["ABCDE12345.com.example.demo"]
            """#
        ),
        document(
            "strict",
            #""policy": "optional", "factors": ["passkey"]"#,
            #""rpId": "strict.example", "origins": ["https://strict.example"], "userVerification": "required", "appleApps": ["ABCDE12345.com.example.strict"]"#
        ),
        document(
            "other",
            #""policy": "optional", "factors": ["passkey"]"#,
            #""rpId": "example.com", "origins": ["https://app.example.com", "https://other.example"], "login": true"#
        ),
        document(
            "alone",
            #""policy": "off""#,
            #""rpId": "alone.example", "origins": ["https://alone.example"], "login": true"#
        )
    )
)
struct PasskeyTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private typealias Assertion = SoftAuthenticator.AssertionDraft

    /// A user with a passkey.
    private struct Holder {
        let visitor: Visitor
        let session: LoginResult
        var passkey: SoftAuthenticator
        let factor: String
    }

    private var strict: Document { deployment.documents[1] }
    private var other: Document { deployment.documents[2] }
    private var alone: Document { deployment.documents[3] }

    private func newcomer(to document: Document? = nil) async throws -> (Visitor, LoginResult) {
        let visitor = try await deployment.newcomer(#"{"first_name": "Before Canary"}"#)
        return (visitor, try await deployment.loggedIn(visitor, to: document))
    }

    /// Begins the registration of a passkey.
    private func begin(
        _ session: LoginResult,
        in document: Document? = nil
    ) async throws -> (draft: String, options: JSONObject) {
        let begun = try await deployment.beginFactor("passkey", of: session, in: document)
        let reply = try #require(JSON.object(begun.text), "\(begun.text)")
        #expect(reply.keys == ["id", "kind", "publicKey", "expires"])
        return (try #require(reply["id"]?.string), try #require(reply["publicKey"]?.object))
    }

    private func challenge(_ options: JSONObject) throws -> [UInt8] {
        try #require(options["challenge"]?.string.flatMap { Base64URL.decode($0.utf8) })
    }

    /// Returns an authenticator that follows the options, with the first origin of an application.
    private func authenticator(
        _ options: JSONObject,
        _ algorithm: SoftAuthenticator.Algorithm = .es256,
        in document: Document? = nil
    ) throws -> SoftAuthenticator {
        let origins = ["strict": "https://strict.example", "alone": "https://alone.example"]
        return SoftAuthenticator(
            key: try .init(algorithm),
            relyingPartyID: try #require(options["rp"]?.object?["id"]?.string),
            origin: origins[document?.application ?? "demo"] ?? "https://app.example.com",
            userHandle: try #require(options["user"]?.object?["id"]?.string.flatMap { Base64URL.decode($0.utf8) })
        )
    }

    private func holder(
        _ algorithm: SoftAuthenticator.Algorithm = .es256,
        counts: Bool = true,
        in document: Document? = nil
    ) async throws -> Holder {
        // Reset the guesses counted for the tests' common source.
        try await deployment.database.psql("delete from demo.attempts")
        let (visitor, session) = try await newcomer(to: document)
        let (draft, options) = try await begin(session, in: document)
        var passkey = try authenticator(options, algorithm, in: document)
        passkey.counts = counts
        let credential = passkey.register(challenge: try challenge(options))
        let answer = #""credential": \#(credential)"#
        let confirmed = try await deployment.confirmFactor(draft, answer, of: session, in: document)
        try #require(confirmed.status == 200, "\(confirmed.text)")
        let factor = try #require(JSON.object(confirmed.text)?["id"]?.string)
        return Holder(visitor: visitor, session: session, passkey: passkey, factor: factor)
    }

    /// Starts a login of the holder that waits for the passkey, and returns its challenge.
    private func putOff(
        _ holder: Holder,
        to document: Document? = nil
    ) async throws -> (waiting: PutOff, challenge: [UInt8]) {
        let waiting = try deployment.putOff(try await deployment.login(holder.visitor, to: document))
        let started = try await deployment.startFactor(waiting, holder.factor, in: document)
        let options = try #require(JSON.object(started.text)?["publicKey"]?.object, "\(started.text)")
        return (waiting, try challenge(options))
    }

    /// Starts a login with a passkey alone, and returns its challenge.
    private func startLogin(
        in document: Document? = nil,
        session: LoginResult? = nil
    ) async throws -> (waiting: PutOff, challenge: [UInt8]) {
        let reply = try await deployment.send("POST", "users/passkey/start", token: session?.token, to: document)
        let body = try #require(JSON.object(reply.text), "\(reply.text)")
        try #require(body.keys == ["pending", "publicKey", "expires"], "\(reply.text)")
        let options = try #require(body["publicKey"]?.object)
        #expect(options["allowCredentials"]?.array?.isEmpty == true)
        #expect(options["userVerification"]?.string == "required")
        return (PutOff(pending: body["pending"]?.string ?? "", factors: []), try challenge(options))
    }

    private func logIn(
        _ waiting: PutOff,
        _ credential: String,
        in document: Document? = nil,
        headers: [(String, String)] = [],
        at client: HTTPClient? = nil
    ) async throws -> HTTPReply {
        try await (client ?? deployment.client).post(
            deployment.path("users/passkey/finish", of: document),
            json: #"{"pending": "\#(waiting.pending)", "credential": \#(credential)}"#,
            headers: headers
        )
    }

    private func finish(
        _ waiting: PutOff,
        _ credential: String,
        in document: Document? = nil,
        at client: HTTPClient? = nil
    ) async throws -> HTTPReply {
        try await deployment.finishFactor(waiting, #""credential": \#(credential)"#, in: document, at: client)
    }

    /// Expects that an attempt is refused, opens no session and writes nothing.
    private func expectRefused(
        _ passkey: String?,
        _ reason: String = "second_factor_invalid",
        _ comment: Comment? = nil,
        except tables: Set<String> = [],
        sourceLocation: SourceLocation = #_sourceLocation,
        _ attempt: () async throws -> HTTPReply
    ) async throws {
        let counts = Set(deployment.documents.map { "\($0.application).attempts" })
        try await deployment.expectNothingWritten(except: counts.union(tables), sourceLocation: sourceLocation) {
            let reply = try await attempt()
            let data = try expectProblem(reply, reason, comment, sourceLocation: sourceLocation)
            #expect(data["passkey"]?.string == passkey, comment, sourceLocation: sourceLocation)
        }
    }

    private func claims(_ session: LoginResult) async throws -> JSONObject {
        let reply = try await deployment.get("users/token", token: session.token)
        let token = try #require(JSON.object(reply.text)?["token"]?.string, "\(reply.text)")
        let bytes = try #require(Base64URL.decode(token.split(separator: ".")[1].utf8))
        return try #require(JSON.object(String(decoding: bytes, as: UTF8.self)))
    }

    private func signCount(_ holder: Holder) async throws -> String? {
        try await deployment.value("select sign_count from demo.factors where id = '\(holder.factor)'")
    }

    @Test("a passkey of each algorithm finishes a login, once", arguments: SoftAuthenticator.Algorithm.allCases)
    func secondFactor(algorithm: SoftAuthenticator.Algorithm) async throws {
        var holder = try await holder(algorithm)
        let user = holder.session.objectID
        let options = try await begin(holder.session).options
        let excluded = options["excludeCredentials"]?.array?.compactMap { $0.object?["id"]?.string }
        #expect(excluded == [Base64URL.encode(holder.passkey.credentialID)])
        #expect(options["authenticatorSelection"]?.object?["residentKey"]?.string == "required")
        #expect(options["user"]?.object?["name"]?.string?.isEmpty == false)
        try await deployment.withSecondInstance { instance in
            let waiting = try deployment.putOff(try await deployment.login(holder.visitor))
            #expect(waiting.factors.map { $0["kind"]?.string } == ["passkey", "recoveryCode"])
            let started = try await deployment.startFactor(waiting, holder.factor, at: instance.client)
            let asked = try #require(JSON.object(started.text)?["publicKey"]?.object, "\(started.text)")
            #expect(asked["rpId"]?.string == "example.com" && asked["userVerification"]?.string == "preferred")
            #expect(asked["allowCredentials"]?.array?.compactMap { $0.object?["id"]?.string } == excluded)
            let credential = try holder.passkey.assert(challenge: try challenge(asked))
            let finished = try deployment.signedIn(try await finish(waiting, credential, at: instance.client))
            #expect(finished.objectID == user && !finished.created)
            #expect(try await deployment.shownFactor(of: user) == ["passkey", "t"])
            #expect(try await signCount(holder) == "1")
            let claims = try await claims(finished)
            #expect(claims["amr"]?.text == #"["fed","pop","mfa"]"# && claims["acr"]?.string == "aal2")
            for client in [deployment.client, instance.client] {
                try await expectRefused("cloned") { try await finish(waiting, credential, at: client) }
            }
            let fresh = try holder.passkey.assert(challenge: try challenge(asked))
            try await expectRefused(nil, "pending_login_invalid") { try await finish(waiting, fresh) }
        }
    }

    @Test("an assertion that is wrong in any part is refused, writes nothing, and leaves the login waiting")
    func wrongAssertions() async throws {
        var (holder, stranger) = (try await holder(), try await holder())
        let handle = stranger.passkey.userHandle
        let changes: [(String, (inout Assertion) -> Void)] = [
            ("wrong_origin", { $0.clientData.origin = "https://example.com" }),
            ("wrong_origin", { $0.clientData.origin = "https://app.example.com:8443" }),
            ("wrong_origin", { $0.clientData.origin = "http://app.example.com" }),
            ("wrong_relying_party", { $0.data.relyingPartyID = "app.example.com" }),
            ("wrong_challenge", { $0.clientData.challenge[0] ^= 1 }),
            ("wrong_type", { $0.clientData.type = "webauthn.create" }),
            ("embedded", { $0.clientData.crossOrigin = true }),
            ("user_absent", { $0.data.flags = [.userVerified] }),
            ("inconsistent_backup", { $0.data.flags = [.userPresent, .userVerified, .backupEligible] }),
            ("wrong_user", { $0.userHandle = handle }),
            ("cloned", { $0.data.signCount = 0 }),
            ("invalid_signature", { $0.rewriteSigned = { [$0[0] ^ 1] + $0.dropFirst() } }),
            // The credential belongs to no factor of this user.
            ("", { $0.credentialID = [1, 2, 3] }),
        ]
        for (name, change) in changes {
            try await deployment.database.psql("delete from demo.attempts")
            let (waiting, challenge) = try await putOff(holder)
            let credential = try holder.passkey.assert(challenge: challenge, change)
            try await expectRefused(name.isEmpty ? nil : name, "second_factor_invalid", "\(name)") {
                try await finish(waiting, credential)
            }
            guard name == "wrong_origin" || name == "cloned" else { continue }
            let right = try holder.passkey.assert(challenge: challenge)
            #expect(try await finish(waiting, right).status == 200, "\(name): the right one still counts")
        }
        // The stranger's assertion is valid, but for no factor of this user; and another login has another challenge.
        let (waiting, challenge) = try await putOff(holder)
        let theirs = try stranger.passkey.assert(challenge: challenge)
        try await expectRefused(nil) { try await finish(waiting, theirs) }
        let elsewhere = try await putOff(holder)
        let own = try holder.passkey.assert(challenge: elsewhere.challenge)
        try await expectRefused("wrong_challenge") { try await finish(waiting, own) }
        let byAndroid = try holder.passkey.assert(challenge: challenge) { $0.clientData.origin = android }
        #expect(try await finish(waiting, byAndroid).status == 200)
    }

    @Test("a person has to be verified where the application says so, and for every login by the passkey alone")
    func verification() async throws {
        var holder = try await holder()
        holder.passkey.flags = [.userPresent]
        let (waiting, challenge) = try await putOff(holder)
        let present = try holder.passkey.assert(challenge: challenge)
        #expect(try await finish(waiting, present).status == 200)
        let login = try await startLogin()
        let unverified = try holder.passkey.assert(challenge: login.challenge)
        try await expectRefused("user_unverified") { try await logIn(login.waiting, unverified) }

        var careful = try await self.holder(in: strict)
        careful.passkey.flags = [.userPresent]
        let asked = try await putOff(careful, to: strict)
        let refused = try careful.passkey.assert(challenge: asked.challenge)
        try await expectRefused("user_unverified") { try await finish(asked.waiting, refused, in: strict) }
        careful.passkey.flags = [.userPresent, .userVerified]
        let verified = try careful.passkey.assert(challenge: asked.challenge)
        #expect(try await finish(asked.waiting, verified, in: strict).status == 200)
        let (_, session) = try await newcomer(to: strict)
        let (draft, options) = try await begin(session, in: strict)
        var passkey = try authenticator(options, in: strict)
        passkey.flags = [.userPresent]
        let made = passkey.register(challenge: try self.challenge(options))
        try await expectRefused("user_unverified", "passkey_invalid") {
            try await deployment.confirmFactor(draft, #""credential": \#(made)"#, of: session, in: strict)
        }
    }

    @Test("a copy of a passkey is found by its counter; one that does not count is used again and again")
    func counter() async throws {
        var holder = try await holder()
        holder.passkey.signCount = 6
        let first = try await putOff(holder)
        #expect(try await finish(first.waiting, try holder.passkey.assert(challenge: first.challenge)).status == 200)
        #expect(try await signCount(holder) == "7")
        for count: UInt32 in [7, 3, 0] {
            let (waiting, challenge) = try await putOff(holder)
            let copy = try holder.passkey.assert(challenge: challenge) { $0.data.signCount = count }
            try await expectRefused("cloned", "second_factor_invalid", "\(count)") { try await finish(waiting, copy) }
        }
        #expect(try await signCount(holder) == "7")
        var synchronized = try await self.holder(counts: false)
        for _ in 1...2 {
            let (waiting, challenge) = try await putOff(synchronized)
            let credential = try synchronized.passkey.assert(challenge: challenge)
            #expect(try await finish(waiting, credential).status == 200)
        }
    }

    @Test("of two assertions with one count, and of one shown twice at once over two instances, one logs in")
    func simultaneous() async throws {
        var holder = try await holder()
        var synchronized = try await self.holder(counts: false)
        try await deployment.withSecondInstance { instance in
            func statuses(_ attempts: [(PutOff, String)], login: Bool = false) async throws -> [Int] {
                try await atOnce(attempts.count) { index in
                    let (waiting, credential) = attempts[index]
                    let client = index.isMultiple(of: 2) ? instance.client : deployment.client
                    return try await login
                        ? logIn(waiting, credential, at: client).status : finish(waiting, credential, at: client).status
                }
            }
            func expectOne(_ statuses: [Int], of holder: Holder, _ before: String?, _ comment: Comment) async throws {
                #expect(statuses.count { $0 == 200 } == 1, "\(comment): \(statuses)")
                let sessions = try await deployment.sessions(of: holder.session.objectID)
                #expect(sessions.flatMap { Int($0) } == before.flatMap { Int($0) }.map { $0 + 1 }, comment)
            }
            // The counter decides for a passkey that counts, the single-use login for one that does not.
            var before = try await deployment.sessions(of: holder.session.objectID)
            var attempts: [(PutOff, String)] = []
            for _ in 0..<6 {
                let (waiting, challenge) = try await putOff(holder)
                attempts.append(
                    (waiting, try holder.passkey.assert(challenge: challenge) { $0.data.signCount = 100 })
                )
            }
            try await expectOne(try await statuses(attempts), of: holder, before, "one count")
            let (waiting, challenge) = try await putOff(synchronized)
            let credential = try synchronized.passkey.assert(challenge: challenge)
            before = try await deployment.sessions(of: synchronized.session.objectID)
            let same = Array(repeating: (waiting, credential), count: 5)
            try await expectOne(try await statuses(same), of: synchronized, before, "one assertion")
            let login = try await startLogin()
            let shown = try synchronized.passkey.assert(challenge: login.challenge)
            before = try await deployment.sessions(of: synchronized.session.objectID)
            let logins = Array(repeating: (login.waiting, shown), count: 6)
            try await expectOne(try await statuses(logins, login: true), of: synchronized, before, "one login")
        }
    }

    @Test("a passkey that was not made as was asked for is not enrolled; one that is enrolled is nobody else's")
    func registrations() async throws {
        let holder = try await holder()
        let (_, session) = try await newcomer()
        let changes: [(String, (inout SoftAuthenticator.RegistrationDraft) -> Void)] = [
            ("wrong_origin", { $0.clientData.origin = "https://evil.example" }),
            ("wrong_relying_party", { $0.data.relyingPartyID = "evil.example" }),
            ("wrong_challenge", { $0.clientData.challenge[0] ^= 1 }),
            ("wrong_type", { $0.clientData.type = "webauthn.get" }),
            ("user_absent", { $0.data.flags.remove(.userPresent) }),
            ("embedded", { $0.clientData.crossOrigin = true }),
        ]
        let (draft, options) = try await begin(session)
        let passkey = try authenticator(options)
        for (name, change) in changes {
            let credential = passkey.register(challenge: try challenge(options), change)
            try await expectRefused(name, "passkey_invalid", "\(name)") {
                try await deployment.confirmFactor(draft, #""credential": \#(credential)"#, of: session)
            }
        }
        // Another user's credential id, with one's own key and with theirs.
        let id = holder.passkey.credentialID
        for key in [passkey.key, holder.passkey.key] {
            var taken = SoftAuthenticator(
                key: key,
                relyingPartyID: "example.com",
                origin: passkey.origin,
                userHandle: passkey.userHandle,
                credentialID: id
            )
            let credential = taken.register(challenge: try challenge(options))
            try await expectRefused(nil, "passkey_invalid") {
                try await deployment.confirmFactor(draft, #""credential": \#(credential)"#, of: session)
            }
            let login = try await startLogin()
            let shown = try taken.assert(challenge: login.challenge)
            try await expectRefused("wrong_user") { try await logIn(login.waiting, shown) }
        }
        let (second, more) = try await begin(holder.session)
        let again = holder.passkey.register(challenge: try challenge(more))
        try await expectRefused(nil, "passkey_invalid") {
            try await deployment.confirmFactor(second, #""credential": \#(again)"#, of: holder.session)
        }
        // Users of another application have passkeys of their own.
        let (_, elsewhere) = try await newcomer(to: other)
        let (third, theirs) = try await begin(elsewhere, in: other)
        let same = holder.passkey.register(challenge: try challenge(theirs))
        let answer = #""credential": \#(same)"#
        #expect(try await deployment.confirmFactor(third, answer, of: elsewhere, in: other).status == 200)
        // A code is no passkey response.
        try await expectRefused(nil, "malformed_request") {
            try await deployment.confirmFactor(draft, #""code": "123456""#, of: session)
        }
    }

    @Test("a passkey logs its user in, to whom nothing else is said, and ends the session that the client had")
    func login() async throws {
        var holder = try await holder()
        let user = holder.session.objectID
        let (waiting, challenge) = try await startLogin(session: holder.session)
        let credential = try holder.passkey.assert(challenge: challenge)
        let key = [("Idempotency-Key", "passkey-\(user)")]
        let first = try await logIn(waiting, credential, headers: key)
        let signedIn = try deployment.signedIn(first)
        #expect(signedIn.objectID == user && !signedIn.created)
        #expect(try await !deployment.isValid(holder.session.token))
        #expect(try await deployment.shownFactor(of: user) == ["passkey", "t"])
        let claims = try await claims(signedIn)
        #expect(claims["amr"]?.text == #"["pop","mfa"]"# && claims["acr"]?.string == "aal2")
        // A passkey is both factors: the session may change factors at once.
        #expect(try await deployment.beginFactor("totp", of: signedIn).status == 200)
        try await expectRefused("cloned") { try await logIn(waiting, credential) }
        let fresh = try holder.passkey.assert(challenge: challenge)
        try await expectRefused(nil, "pending_login_invalid") { try await logIn(waiting, fresh) }
        #expect(try await deployment.sessions(of: user) == "1")
    }

    @Test("who has lost the reply of a login by a passkey repeats it under its Idempotency-Key")
    func repetition() async throws {
        for counts in [false, true] {
            var holder = try await holder(counts: counts)
            let (waiting, challenge) = try await startLogin()
            let credential = try holder.passkey.assert(challenge: challenge)
            let key = [("Idempotency-Key", "login-\(holder.session.objectID)")]
            let first = try deployment.signedIn(try await logIn(waiting, credential, headers: key))
            let again = try deployment.signedIn(try await logIn(waiting, credential, headers: key))
            #expect(first.token == again.token && !first.token.isEmpty)
            let fresh = try holder.passkey.assert(challenge: challenge)
            try expectProblem(try await logIn(waiting, fresh, headers: key), "idempotency_key_reused")
            for headers in [[], [("Idempotency-Key", "another")]] {
                try expectProblem(
                    try await logIn(waiting, credential, headers: headers),
                    oneOf: ["pending_login_invalid", "second_factor_invalid"]
                )
            }
            #expect(try await deployment.sessions(of: holder.session.objectID) == "2")
        }
    }

    @Test("a login by a passkey is refused for whatever is wrong with it, and writes nothing")
    func wrongLogins() async throws {
        var (holder, stranger) = (try await holder(), try await holder())
        let handle = stranger.passkey.userHandle
        let changes: [(String, (inout Assertion) -> Void)] = [
            ("wrong_user", { $0.userHandle = nil }),
            ("wrong_user", { $0.userHandle = handle }),
            ("wrong_origin", { $0.clientData.origin = "https://evil.example" }),
            ("wrong_relying_party", { $0.data.relyingPartyID = "evil.example" }),
            ("wrong_challenge", { $0.clientData.challenge[0] ^= 1 }),
            ("cloned", { $0.data.signCount = 0 }),
            ("invalid_signature", { $0.rewriteSignature = { $0.dropLast() + [$0[$0.count - 1] ^ 1] } }),
            ("", { $0.credentialID = [9, 9, 9] }),
        ]
        let first = try await startLogin()
        let counted = try holder.passkey.assert(challenge: first.challenge)
        #expect(try await logIn(first.waiting, counted).status == 200)
        let (waiting, challenge) = try await startLogin()
        for (name, change) in changes {
            let credential = try holder.passkey.assert(challenge: challenge, change)
            try await expectRefused(name.isEmpty ? nil : name, "second_factor_invalid", "\(name)") {
                try await logIn(waiting, credential)
            }
        }
        let code = #"{"pending": "\#(waiting.pending)", "factorId": "\#(holder.factor)", "code": "123456"}"#
        try await expectRefused(nil, "malformed_request") {
            try await deployment.send("POST", "users/passkey/finish", code)
        }
        // A response for another login, another application, another API key.
        let another = try await startLogin()
        let elsewhere = try holder.passkey.assert(challenge: another.challenge)
        try await expectRefused("wrong_challenge") { try await logIn(waiting, elsewhere) }
        let right = try holder.passkey.assert(challenge: challenge)
        try await expectRefused(nil, "pending_login_invalid") { try await logIn(waiting, right, in: other) }
        let theirs = try await startLogin(in: other)
        let shown = try holder.passkey.assert(challenge: theirs.challenge)
        try await expectRefused(nil) { try await logIn(theirs.waiting, shown, in: other) }
        // The refusals used up nothing: the valid response still logs in.
        #expect(try deployment.signedIn(try await logIn(waiting, right)).objectID == holder.session.objectID)
    }

    @Test("no login by a passkey of who is disabled or gone, by one that was removed, or where there are none")
    func ended() async throws {
        let ends: [(String, String, (Holder) -> String)] = [
            (
                "account_disabled", "disabled",
                { "update demo.users set user_status = 'DISABLED' where object_id = '\($0.session.objectID)'" }
            ),
            (
                "second_factor_invalid", "deleted",
                { "delete from demo.users where object_id = '\($0.session.objectID)'" }
            ),
            (
                "second_factor_invalid", "removed",
                { "update demo.factors set removed = now() where id = '\($0.factor)'" }
            ),
        ]
        for (reason, what, sql) in ends {
            var holder = try await holder()
            let (waiting, challenge) = try await startLogin()
            try await deployment.database.psql(sql(holder))
            let credential = try holder.passkey.assert(challenge: challenge)
            // The login's statement uses up the pending login before it reads the user's status.
            try await expectRefused(nil, reason, "\(what)", except: ["demo.single_use"]) {
                try await logIn(waiting, credential)
            }
        }
        var holder = try await self.holder(in: strict)
        try expectProblem(
            try await deployment.send("POST", "users/passkey/start", to: strict),
            "factor_not_offered"
        )
        // The pending login of a second factor is bound to its user, whichever endpoint finishes it.
        let (waiting, challenge) = try await putOff(holder, to: strict)
        let credential = try holder.passkey.assert(challenge: challenge)
        let finished = try deployment.signedIn(try await logIn(waiting, credential, in: strict))
        #expect(finished.objectID == holder.session.objectID)
    }

    @Test("where no second factor is asked for, people log in by a passkey all the same, until that is turned off")
    func methodAlone() async throws {
        var holder = try await holder(in: alone)
        #expect(try await deployment.login(holder.visitor, to: alone).status == 200, "it is asked for nowhere")
        #expect(try await deployment.offeredKinds(to: holder.session, in: alone) == ["passkey"])
        let (waiting, challenge) = try await startLogin(in: alone)
        let credential = try holder.passkey.assert(challenge: challenge)
        let signedIn = try deployment.signedIn(try await logIn(waiting, credential, in: alone))
        #expect(signedIn.objectID == holder.session.objectID)
        let late = try await startLogin(in: alone)
        let shown = try holder.passkey.assert(challenge: late.challenge)
        var changed = alone
        changed.settings = changed.settings.replacing(#""login": true"#, with: #""login": false"#)
        try await changed.apply(to: deployment.database)
        try await eventually("the setting is known") {
            try await deployment.send("POST", "users/passkey/start", to: alone).status == 400
        }
        try await expectRefused(nil, "factor_not_offered") { try await logIn(late.waiting, shown, in: alone) }
    }

    @Test("a passkey whose holder is verified shows who somebody is; without that it is the second factor alone")
    func stepUp() async throws {
        var holder = try await holder()
        for verified in [false, true] {
            try await deployment.database.psql(
                """
                update demo.sessions set proved = now() - interval '6 minutes', factor_proved = null
                where object_id = '\(holder.session.objectID)'
                """
            )
            let waiting = try await deployment.stepUp(holder.session)
            let started = try await deployment.startFactor(waiting, holder.factor)
            let options = try #require(JSON.object(started.text)?["publicKey"]?.object, "\(started.text)")
            holder.passkey.flags = verified ? [.userPresent, .userVerified] : [.userPresent]
            let credential = try holder.passkey.assert(challenge: try challenge(options))
            let answer = #""credential": \#(credential)"#
            for session in [nil, try await newcomer().1] {
                try await expectRefused(nil, "pending_login_invalid") {
                    try await deployment.finishFactor(waiting, answer, session: session)
                }
            }
            let done = try await deployment.finishFactor(waiting, answer, session: holder.session)
            #expect(done.status == 200 && done.text.isEmpty, "\(done.text)")
            try expectProblem(
                try await deployment.finishFactor(waiting, answer, session: holder.session),
                oneOf: ["pending_login_invalid", "second_factor_invalid"]
            )
            let begun = try await deployment.beginFactor("totp", of: holder.session)
            if verified {
                #expect(begun.status == 200, "\(begun.text)")
            } else {
                try expectProblem(begun, "reauthentication_required")
            }
        }
    }

    @Test("the domain of passkeys names its apps, as telephones ask, and leads to where a password is changed")
    func appFiles() async throws {
        func file(_ name: String, of host: String) async throws -> HTTPReply {
            try await deployment.client.send("GET", "/.well-known/" + name, headers: [("Host", host)])
        }
        let links = try await file("assetlinks.json", of: "example.com:8443")
        #expect(links.status == 200 && links.header("Content-Type") == "application/json", "\(links.text)")
        #expect(links.header("Cache-Control") == "public, max-age=3600")
        let statements = try #require(JSON.value(links.text)?.array)
        let digest = try #require(Base64URL.decode(android.utf8.dropFirst("android:apk-key-hash:".utf8.count)))
        let fingerprint = digest.map { Hexadecimal.encode([$0]).uppercased() }.joined(separator: ":")
        #expect(statements.count == 2)
        for (statement, package) in zip(statements, ["com.example.demo", "com.example.demo.beta"]) {
            #expect(
                statement.text
                    == #"""
                    {"relation":["delegate_permission/common.get_login_creds"],"target":{"namespace":"android_app","package_name":"\#(package)","sha256_cert_fingerprints":["\#(fingerprint)"]}}
                    """#
            )
        }
        for (host, app) in ["example.com": "demo", "strict.example": "strict"] {
            let association = try await file("apple-app-site-association", of: host)
            #expect(association.text == #"{"webcredentials":{"apps":["ABCDE12345.com.example.\#(app)"]}}"#)
            #expect(association.header("Content-Type") == "application/json")
        }
        try expectProblem(try await file("assetlinks.json", of: "strict.example"), "not_found")
        try expectProblem(try await file("apple-app-site-association", of: "alone.example"), "not_found")
        for name in ["assetlinks.json", "apple-app-site-association", "change-password"] {
            try expectProblem(try await file(name, of: "elsewhere.example"), "not_found", "\(name)")
        }
        let probe = "resource-that-should-not-exist-whose-status-code-should-not-be-200"
        #expect(try await file(probe, of: "example.com").status == 404)
    }

    @Test("the domain of passkeys says where else they are used, of all applications that have it, and no other does")
    func relatedOrigins() async throws {
        func origins(of host: String, _ method: String = "GET") async throws -> HTTPReply {
            try await deployment.client.send(method, "/.well-known/webauthn", headers: [("Host", host)])
        }
        for (host, expected) in [
            "example.com": ["https://app.example.com", "https://other.example", "https://www.example.net"],
            "example.com:8443": ["https://app.example.com", "https://other.example", "https://www.example.net"],
            "strict.example": ["https://strict.example"],
        ] {
            let reply = try await origins(of: host)
            #expect(reply.status == 200 && reply.header("Content-Type") == "application/json", "\(reply.text)")
            let body = try #require(JSON.object(reply.text))
            #expect(body.keys == ["origins"] && body["origins"]?.array?.compactMap(\.string) == expected, "\(host)")
        }
        for host in ["app.example.com", "example.net", "xexample.com", "example.com.evil.example", "localhost"] {
            try expectProblem(try await origins(of: host), "not_found", "\(host)")
        }
    }
}
