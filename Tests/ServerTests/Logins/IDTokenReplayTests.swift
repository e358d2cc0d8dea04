@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "An ID token counts once",
    .serialized,
    .deployed(
        Document(properties: #"{"nick": {"type": "STRING", "clientMappable": true}}"#, mapping: #"{"email": "email"}"#),
        Document(application: "strict", options: #""nonce": "serverIssued""#, mapping: #"{"email": "email"}"#),
        environment: busy
    )
)
struct IDTokenReplayTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("T-16, T-25: the second use is refused and writes nothing, also when the first was of a disabled user")
    func replay() async throws {
        let ann = try await deployment.newcomer()
        let token = try await deployment.idToken(of: ann)
        let first = try deployment.signedIn(try await deployment.login(idToken: token))
        try await deployment.expectNothingWritten {
            for headers in [[], [("Idempotency-Key", "k")]] {
                try expectProblem(try await deployment.login(idToken: token, headers: headers), "credential_replayed")
            }
            try expectProblem(
                try await deployment.login(body: #"{"accessToken": "\#(token)"}"#),
                "credential_replayed"
            )
        }
        try await deployment.database.psql(
            "update demo.users set user_status = 'DISABLED' where object_id = '\(first.objectID)'"
        )
        let next = try await deployment.idToken(of: ann)
        try expectProblem(try await deployment.login(idToken: next), "account_disabled")
        try await deployment.database.psql(
            "update demo.users set user_status = 'ENABLED' where object_id = '\(first.objectID)'"
        )
        try expectProblem(try await deployment.login(idToken: next), "credential_replayed")
    }

    @Test("a login that fails before its write leaves the token good")
    func unused() async throws {
        let ann = try await deployment.newcomer()
        let token = try await deployment.idToken(of: ann)
        let mapping = #""fieldsMapping": {"email": "email2"}"#
        try expectProblem(try await deployment.login(idToken: token, mapping), "mapping_target_not_allowed")
        #expect(try await deployment.login(idToken: token).status == 200)
    }

    @Test(
        "T-25: the same Idempotency-Key and body within a minute is the same login: one session, one token, kept by nobody"
    )
    func repetition() async throws {
        let ann = try await deployment.newcomer(#"{"email": "ann.canary@example.com"}"#)
        let token = try await deployment.idToken(of: ann, #""nonce": "n""#)
        let key = [("Idempotency-Key", "5d1f7e0a-0001")]
        func login(_ headers: [(String, String)], _ members: String = "") async throws -> HTTPReply {
            try await deployment.login(idToken: token, nonce: "n", members, headers: headers)
        }
        let first = try deployment.signedIn(try await login(key))
        #expect(first.created)
        for _ in 0..<3 {
            let again = try deployment.signedIn(try await login(key))
            #expect(again.token == first.token && again.objectID == first.objectID)
            #expect(again.created, "the login that is repeated created the user")
        }
        let sessions = "select count(*) from demo.sessions where object_id = '\(first.objectID)'"
        #expect(try await deployment.value(sessions) == "1")
        #expect(try await deployment.get("users/isvalidusertoken/\(first.token)").text == "true")
        try await deployment.expectNothingWritten {
            for headers in [[], [("Idempotency-Key", "5d1f7e0a-0002")]] {
                try expectProblem(try await login(headers), "credential_replayed")
            }
            for other in [
                #""fieldsMapping": {"name": "nick"}"#, #""appId": "1234567890""#, #""trustedDevice": "canary""#,
            ] {
                try expectProblem(try await login(key, other), "idempotency_key_reused", "\(other)")
            }
        }
        try await deployment.database.psql("update demo.single_use set used = now() - interval '61 seconds'")
        try await deployment.expectNothingWritten { try expectProblem(try await login(key), "credential_replayed") }
    }

    @Test("a repetition does not claim the creation of a user who was there before")
    func repetitionOfAReturn() async throws {
        let ann = try await deployment.newcomer()
        _ = try await deployment.loggedIn(ann)
        let token = try await deployment.idToken(of: ann)
        for _ in 0..<2 {
            let reply = try await deployment.login(idToken: token, headers: [("Idempotency-Key", "k")])
            #expect(try !deployment.signedIn(reply).created)
        }
    }

    @Test("an Idempotency-Key is 1 to 255 printable characters; an access token may come again in any case")
    func keys() async throws {
        let ann = try await deployment.newcomer()
        for key in ["", String(repeating: "k", count: 256), "ключ", "a\tb"] {
            let reply = try await deployment.login(ann, headers: [("Idempotency-Key", key)])
            try expectProblem(reply, "malformed_request", "\(key)")
        }
        for key in ["k", "a b~!", String(repeating: "k", count: 255)] {
            let tokens = [
                try await deployment.loggedIn(ann, headers: [("Idempotency-Key", key)]).token,
                try await deployment.loggedIn(ann, headers: [("Idempotency-Key", key)]).token,
            ]
            #expect(tokens[0] != tokens[1])
        }
    }

    @Test("T-60: 50 uses of one ID token at once over two instances: one counts")
    func raceOfTokens() async throws {
        let ann = try await deployment.newcomer()
        try await deployment.withSecondInstance(environment: busy) { second in
            for _ in 0..<3 {
                let token = try await deployment.idToken(of: ann)
                let replies = try await atOnce(50) { index in
                    try await deployment.login(idToken: token, at: index % 2 == 0 ? nil : second)
                }
                #expect(replies.count { $0.status == 200 } == 1)
                for reply in replies where reply.status != 200 { try expectProblem(reply, "credential_replayed") }
            }
        }
    }

    @Test("T-60, T-62: 50 ID tokens with one nonce at once over two instances: one counts")
    func raceOfNonces() async throws {
        let strict = deployment.documents[1]
        let ann = try await deployment.newcomer()
        try await deployment.withSecondInstance(environment: busy) { second in
            let nonce = try await deployment.nonce(for: strict)
            var tokens: [String] = []
            for _ in 0..<50 { tokens.append(try await deployment.idToken(of: ann, #""nonce": "\#(nonce)""#)) }
            #expect(Set(tokens).count == 50)
            let replies = try await atOnce(50) { [tokens] index in
                try await deployment.login(idToken: tokens[index], to: strict, at: index % 2 == 0 ? nil : second)
            }
            #expect(replies.count { $0.status == 200 } == 1)
            for reply in replies where reply.status != 200 { try expectProblem(reply, "credential_invalid") }
        }
        #expect(try await deployment.value("select count(*) from strict.sessions") == "1")
        #expect(try await deployment.value("select count(*) from strict.users") == "1")
    }

    @Test("T-25, T-60: 50 repetitions of one login at once over two instances: one session for all")
    func raceOfRepetitions() async throws {
        let ann = try await deployment.newcomer()
        let token = try await deployment.idToken(of: ann)
        try await deployment.withSecondInstance(environment: busy) { second in
            let replies = try await atOnce(50) { index in
                try await deployment.login(
                    idToken: token,
                    headers: [("Idempotency-Key", "k")],
                    at: index % 2 == 0 ? nil : second
                )
            }
            let signedIn = try replies.map { try deployment.signedIn($0) }
            #expect(Set(signedIn.map(\.token)).count == 1)
            #expect(Set(signedIn.map(\.objectID)).count == 1)
            let sessions = "select count(*) from demo.sessions where object_id = '\(signedIn[0].objectID)'"
            #expect(try await deployment.value(sessions) == "1")
        }
    }

    private func atOnce(
        _ count: Int,
        _ call: @escaping @Sendable (Int) async throws -> HTTPReply
    ) async throws -> [HTTPReply] {
        try await withThrowingTaskGroup(of: HTTPReply.self) { group in
            for index in 0..<count { group.addTask { try await call(index) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}

/// Long limits: the tests check what is written, not how soon, even for a debug build on a busy machine.
private let busy = ["FEDERATION_LOGIN_MILLISECONDS": "30000", "FEDERATION_DATABASE_LEASE_MILLISECONDS": "10000"]
