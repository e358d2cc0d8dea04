import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Administration by Firebase's Admin SDKs",
    .serialized,
    .deployed(
        Document(
            keyVariable: "OTHER_API_KEY",
            settings: "{\(FirebaseClient.settings)}",
            properties: """
                {"photoUrl": {"type": "STRING", "clientMappable": true}, "phoneNumber": {"type": "STRING"}}
                """,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        Document(application: "other", settings: #"{"firebase": {"projectId": "other-project"}}"#),
        environment: ["FEDERATION_PUBLIC_URL": "https://users.example.com"]
    )
)
struct FirebaseAdminTests {
    let deployment: Deployment
    let client: FirebaseClient

    init() throws {
        deployment = try Deployment.current
        client = FirebaseClient(deployment: deployment)
    }

    private var uid: String { "uid-\(UInt32.random(in: 0 ... .max))" }

    private func signIn(_ token: String) async throws -> HTTPReply {
        try await client.send(
            "accounts:signInWithCustomToken",
            #"{"token": "\#(token)", "returnSecureToken": true}"#
        )
    }

    private func signedIn(_ token: String) async throws -> JSONObject {
        let reply = try await signIn(token)
        try #require(reply.status == 200, "\(reply.text)")
        return try #require(JSON.object(reply.text))
    }

    // MARK: Service accounts

    @Test("a key file has Google's form; the private key is shown once and stored nowhere; the audit log tells")
    func keyFile() async throws {
        let backend = try await FirebaseBackend(deployment)
        #expect(backend.file["type"]?.string == "service_account")
        #expect(backend.file["project_id"]?.string == "canary-project")
        #expect(backend.email.hasSuffix("@canary-project.iam.gserviceaccount.com"))
        #expect(backend.file["token_uri"]?.string == FirebaseBackend.tokenURL)
        #expect(backend.file["private_key"]?.string?.hasPrefix("-----BEGIN PRIVATE KEY-----\n") == true)
        #expect(backend.file["universe_domain"]?.string == "googleapis.com")
        let admin = try await deployment.admin()
        let listed = try await admin.get("applications/demo/serviceAccounts")
        let item = listed["items"]?.array?.compactMap(\.object).first { $0["name"]?.string == backend.name }
        #expect(item?["keyId"]?.string == backend.keyID && item?["key"] == nil)
        let row = try await deployment.value(
            "select a::text from federation.service_accounts a where name = '\(backend.name)'"
        )
        #expect(row?.contains("\"n\"") == true && row?.contains("\"d\"") == false && row?.contains("PRIVATE") == false)
        let again = try await admin.send(
            "POST",
            "applications/demo/serviceAccounts",
            #"{"name": "\#(backend.name)"}"#
        )
        #expect(again.status == 409)
        try await admin.ask("DELETE", "applications/demo/serviceAccounts/\(backend.name)")
        #expect(try await admin.send("DELETE", "applications/demo/serviceAccounts/\(backend.name)").status == 404)
        let actions = try await deployment.database.psql(
            "select action from federation.audit_log where target = '\(backend.name)' order by id"
        )
        #expect(actions == [["service-account.create"], ["service-account.withdraw"]])
    }

    @Test("a service account needs a name of Google's form, and an application with a project")
    func accountRules() async throws {
        let admin = try await deployment.admin()
        for name in ["a", "Backend", "backend_1", "1backend", String(repeating: "a", count: 31)] {
            let reply = try await admin.send(
                "POST",
                "applications/demo/serviceAccounts",
                #"{"name": "\#(name)"}"#
            )
            #expect(reply.status == 400, "\(name): \(reply.text)")
        }
        let without = try await admin.send("POST", "applications/witness/serviceAccounts", #"{"name": "backend"}"#)
        #expect(without.status == 409 && without.text.contains("firebase.projectId"), "\(without.text)")
    }

    @Test("the command line writes the key file alone")
    func commandLine() async throws {
        var ann = CommandLineOperator(database: deployment.database)
        ann.environment["FEDERATION_PUBLIC_URL"] = "https://users.example.com"
        let text = try await ann.succeed("set applications/demo/serviceAccounts/from-the-line")
        let file = try #require(JSON.object(text))
        #expect(file["client_email"]?.string == "from-the-line@canary-project.iam.gserviceaccount.com")
        let names = try await ann.items("list applications/demo/serviceAccounts").map { $0["name"]?.string }
        #expect(names.contains("from-the-line"))
        try await ann.fail("delete applications/demo/serviceAccounts/from-the-line", with: 64)
        try await ann.succeed("delete applications/demo/serviceAccounts/from-the-line --confirm from-the-line")
    }

    // MARK: Access tokens

    @Test("an assertion is exchanged for an access token; others get errors in the form of OAuth")
    func exchange() async throws {
        let backend = try await FirebaseBackend(deployment)
        // The SDK for Node.js names no key.
        let short = try await backend.exchange(try backend.sign(backend.assertion(), header: #"{"alg":"RS256"}"#))
        #expect(short.status == 200, "\(short.text)")
        let google: JSONObject = ["aud": .string("https://oauth2.googleapis.com/token")]
        #expect(try await backend.exchange(try backend.sign(backend.assertion(google))).status == 200)
        let now = FirebaseBackend.now
        let foreign = try await FirebaseBackend(deployment, of: "other")
        let refused = [
            try backend.sign(backend.assertion(["aud": .string(FirebaseBackend.toolkit)])),
            try backend.sign(backend.assertion(["sub": .string("ann@example.com")])),
            try backend.sign(backend.assertion(["iat": .integer(now), "exp": .integer(now + 7200)])),
            try backend.sign(backend.assertion(["iat": .integer(now - 3500), "exp": .integer(now - 10)])),
            try backend.sign(backend.assertion(["iat": .integer(now + 600), "exp": .integer(now + 1200)])),
            try backend.sign(backend.assertion(["exp": .null])),
            try backend.sign(backend.assertion(["iss": .string(foreign.email), "sub": .string(foreign.email)])),
            try backend.sign(backend.assertion(), header: #"{"alg":"none"}"#),
            try backend.sign(backend.assertion(), header: #"{"alg":"RS256","kid":"\#(foreign.keyID)"}"#),
            try backend.sign(backend.custom("ann")), "x", "",
        ]
        for assertion in refused {
            let reply = try await backend.exchange(assertion)
            let error = JSON.object(reply.text)?["error"]?.string
            #expect(reply.status == 400, "\(reply.text)")
            #expect(error == (assertion.isEmpty ? "invalid_request" : "invalid_grant"), "\(reply.text)")
        }
        let other = try await backend.exchange(try backend.sign(backend.assertion()), grant: "refresh_token")
        #expect(JSON.object(other.text)?["error"]?.string == "unsupported_grant_type")
    }

    @Test("nothing but an access token of the project's own service account administers users")
    func unauthorized() async throws {
        let backend = try await FirebaseBackend(deployment)
        let foreign = try await FirebaseBackend(deployment, of: "other")
        let user = try await signedIn(try backend.sign(backend.custom(uid)))
        let cookie = try await backend.call(
            ":createSessionCookie",
            #"{"idToken": "\#(user.idToken)", "validDuration": 300}"#
        )["sessionCookie"]?.string
        let token = try await backend.accessToken()
        let wrong = [
            "", "Bearer owner", "Bearer", "Bearer \(Canary.otherAPIKey)", "Bearer \(user.idToken)",
            "Bearer \(user.refreshToken)", "Bearer \(cookie ?? "")", "Bearer \(try backend.sign(backend.custom("a")))",
            "Bearer \(try backend.sign(backend.assertion()))", "Bearer \(token)x", "Bearer fedsa_", "Token \(token)",
            "Basic \(Data("x:owner".utf8).base64EncodedString())", "Basic x", "Bearer \(token.dropLast(8))AAAAAAAA",
        ]
        for authorization in wrong {
            let reply = try await backend.send("/accounts:lookup", #"{"localId": ["x"]}"#, authorization: authorization)
            #expect(reply.status == 401 && FirebaseClient.error(reply) == "UNAUTHENTICATED", "\(reply.text)")
            let error = JSON.object(reply.text)?["error"]?.object
            #expect(error?["status"]?.string == "UNAUTHENTICATED", "\(reply.text)")
        }
        for (caller, project) in [(foreign, "canary-project"), (backend, "other-project"), (backend, "unknown-one")] {
            let reply = try await caller.send("/accounts:lookup", #"{"localId": ["x"]}"#, project: project)
            #expect(reply.status == 403 && FirebaseClient.error(reply) == "PERMISSION_DENIED", "\(reply.text)")
        }
        let page = try await backend.send(
            "/accounts:lookup",
            #"{"localId": ["x"]}"#,
            headers: [("Origin", "https://app.example.com")]
        )
        #expect(page.status == 403, "\(page.text)")
        // The key of the API opens nothing here.
        let keyed = try await deployment.client.send(
            "POST",
            "/identitytoolkit.googleapis.com/v1/projects/canary-project/accounts:lookup?key=\(Canary.otherAPIKey)",
            headers: [("Content-Type", "application/json")],
            body: Array(#"{"localId": ["x"]}"#.utf8)
        )
        #expect(keyed.status == 401)
        // The SDK for Python sends a password that its emulator's address has.
        let basic = "Basic " + Data("x:\(token)".utf8).base64EncodedString()
        #expect(try await backend.send("/accounts:lookup", #"{"localId": ["x"]}"#, authorization: basic).status == 200)
    }

    @Test("a withdrawn service account is refused at once: its access token, its assertions, its custom tokens")
    func withdrawn() async throws {
        let backend = try await FirebaseBackend(deployment)
        let token = try await backend.accessToken()
        let custom = try backend.sign(backend.custom(uid))
        try await deployment.admin().ask("DELETE", "applications/demo/serviceAccounts/\(backend.name)")
        let reply = try await backend.send("/accounts:lookup", "{}", authorization: "Bearer \(token)")
        #expect(reply.status == 401, "\(reply.text)")
        #expect(try await backend.exchange(try backend.sign(backend.assertion())).status == 400)
        #expect(FirebaseClient.error(try await signIn(custom)) == "INVALID_CUSTOM_TOKEN")
    }

    // MARK: Custom tokens

    @Test(
        "a custom token logs in, makes an unknown user, and its claims are in the session's tokens",
        arguments: [false, true]
    )
    func customToken(isFormer: Bool) async throws {
        let backend = try await FirebaseBackend(deployment)
        let uid = uid
        let claims: JSONObject = ["claims": .object(["plan": .string("gold"), "level": .integer(3)])]
        let token = try backend.sign(backend.custom(uid, claims), header: #"{"alg":"RS256","typ":"JWT"}"#)
        var client = client
        client.isFormer = isFormer
        let first = try await client.call("accounts:signInWithCustomToken", #"{"token": "\#(token)"}"#)
        #expect(first["isNewUser"]?.bool == true)
        let opened = """
            select count(*) from demo.refresh_tokens r join demo.sessions s on s.token_hash = r.session
            join demo.firebase_users f using (object_id) where f.uid = '\(uid)' and r.rotated = s.created
            """
        #expect(try await deployment.value(opened) == "1", "one statement opens the session and its refresh tokens")
        #expect(first["kind"]?.string == "identitytoolkit#VerifyCustomTokenResponse")
        #expect(first.claims["sub"]?.string == uid && first.claims["plan"]?.string == "gold")
        #expect(first.claims["firebase"]?.object?["sign_in_provider"]?.string == "custom")
        #expect((first.claims["auth_time"]?.integer ?? 0) > FirebaseBackend.now - 60)
        #expect(try await client.lookUp(first)["localId"]?.string == uid)
        let refreshed = try #require(JSON.object(try await client.refresh(first.refreshToken).text))
        #expect(refreshed.claims["level"]?.integer == 3 && refreshed.claims["sub"]?.string == uid)
        let second = try await signedIn(try backend.sign(backend.custom(uid)))
        #expect(second["isNewUser"] == nil && second.claims["sub"]?.string == uid && second.claims["plan"] == nil)
        // No credential was shown, so the session cannot delete the account.
        try await client.expect(
            "CREDENTIAL_TOO_OLD_LOGIN_AGAIN",
            of: "accounts:delete",
            #"{"idToken": "\#(second.idToken)"}"#
        )
    }

    @Test("an object id is a uid, too; many first logins at once make one user")
    func uids() async throws {
        let backend = try await FirebaseBackend(deployment)
        let guest = try await client.guest()
        let id = try #require(guest["localId"]?.string)
        let signedIn = try await signedIn(try backend.sign(backend.custom(id)))
        #expect(signedIn["isNewUser"] == nil && signedIn.claims["sub"]?.string == id)
        let token = try backend.sign(backend.custom(uid))
        let replies = try await atOnce(6) { _ in try await self.signedIn(token) }
        #expect(Set(replies.map { $0.claims["sub"]?.string }).count == 1)
        #expect(replies.count { $0["isNewUser"]?.bool == true } == 1)
    }

    @Test("other tokens are no custom tokens: unsigned, foreign, expired, with reserved claims, ID tokens, cookies")
    func refusedCustomTokens() async throws {
        let backend = try await FirebaseBackend(deployment)
        let foreign = try await FirebaseBackend(deployment, of: "other")
        let user = try await signedIn(try backend.sign(backend.custom(uid)))
        let now = FirebaseBackend.now
        let long = String(repeating: "x", count: 1001)
        let cookie = try await backend.call(
            ":createSessionCookie",
            #"{"idToken": "\#(user.idToken)", "validDuration": 300}"#
        )["sessionCookie"]?.string
        func claims(_ name: String, _ value: JSONValue) -> JSONObject { ["claims": .object([name: value])] }
        let refused: [(String, String)] = [
            (try foreign.sign(foreign.custom(uid)), "CREDENTIAL_MISMATCH"),
            (try foreign.sign(backend.custom(uid)), "INVALID_CUSTOM_TOKEN"),
            (try backend.sign(backend.custom(uid), header: #"{"alg":"none","typ":"JWT"}"#), "INVALID_CUSTOM_TOKEN"),
            (user.idToken, "INVALID_CUSTOM_TOKEN"), (cookie ?? "", "INVALID_CUSTOM_TOKEN"),
            (try backend.sign(backend.assertion()), "INVALID_CUSTOM_TOKEN"),
            (try await backend.accessToken(), "INVALID_CUSTOM_TOKEN"), ("x", "INVALID_CUSTOM_TOKEN"),
            (try backend.sign(backend.custom(uid, ["aud": .string("canary-project")])), "INVALID_CUSTOM_TOKEN"),
            (try backend.sign(backend.custom(uid, ["sub": .string("x@example.com")])), "INVALID_CUSTOM_TOKEN"),
            (try backend.sign(backend.custom(uid, ["uid": .null])), "INVALID_CUSTOM_TOKEN"),
            (try backend.sign(backend.custom("")), "INVALID_CUSTOM_TOKEN"),
            (try backend.sign(backend.custom(String(long.prefix(129)))), "INVALID_CUSTOM_TOKEN"),
            (try backend.sign(backend.custom(uid, ["exp": .integer(now + 7200)])), "INVALID_CUSTOM_TOKEN"),
            (
                try backend.sign(backend.custom(uid, ["iat": .integer(now - 3500), "exp": .integer(now - 10)])),
                "INVALID_CUSTOM_TOKEN"
            ),
            (try backend.sign(backend.custom(uid, claims("sub", .string("x")))), "FORBIDDEN_CLAIM"),
            (try backend.sign(backend.custom(uid, claims("firebase", .object([:])))), "FORBIDDEN_CLAIM"),
            (try backend.sign(backend.custom(uid, claims("x", .string(long)))), "CLAIMS_TOO_LARGE"),
        ]
        for (token, error) in refused {
            let reply = try await signIn(token)
            #expect(reply.status == 400 && FirebaseClient.error(reply) == error, "\(error): \(reply.text)")
        }
        try await client.expect("MISSING_CUSTOM_TOKEN", of: "accounts:signInWithCustomToken", "{}")
        let before = try await deployment.value("select count(*) from demo.users")
        _ = try await signIn(try backend.sign(backend.custom(uid, claims("iss", .string("x")))))
        #expect(try await deployment.value("select count(*) from demo.users") == before)
    }

    // MARK: Users

    @Test("a backend creates, finds, changes and deletes a user")
    func life() async throws {
        let backend = try await FirebaseBackend(deployment)
        let uid = uid
        let email = "\(uid).canary@example.com"
        let made = try await backend.call(
            "/accounts",
            """
            {"localId": "\(uid)", "email": "\(email)", "password": "canary-8-letters", "displayName": "Ann",
             "photoUrl": "https://example.com/a.png", "phoneNumber": "+15550001", "emailVerified": true}
            """
        )
        #expect(made["localId"]?.string == uid)
        try await backend.expect("DUPLICATE_LOCAL_ID", of: "/accounts", #"{"localId": "\#(uid)"}"#)
        try await backend.expect(
            "EMAIL_EXISTS",
            of: "/accounts",
            #"{"email": "\#(email)", "password": "canary-8-letters"}"#
        )
        let user = try await backend.user(uid)
        #expect(user["email"]?.string == email && user["emailVerified"]?.bool == true)
        #expect(user["displayName"]?.string == "Ann" && user["phoneNumber"]?.string == "+15550001")
        for name in [
            #""email": ["\#(email.uppercased())"]"#, #""phoneNumber": ["+15550001"]"#,
            #""localId": ["\#(uid)", "\#(uid)", "nobody"], "email": ["\#(email)"]"#,
        ] {
            let found = try await backend.users("{\(name)}")
            #expect(found.map { $0["localId"]?.string } == [uid], "\(name)")
        }
        #expect(try await backend.call("/accounts:lookup", #"{"localId": ["nobody"]}"#)["users"] == nil)
        let body = #"{"email": "\#(email)", "password": "canary-8-letters", "returnSecureToken": true}"#
        let signedIn = try await client.call("accounts:signInWithPassword", body)
        #expect(signedIn["localId"]?.string == uid)
        let changed = try await backend.call(
            "/accounts:update",
            """
            {"localId": "\(uid)", "displayName": "Bea", "deleteAttribute": ["PHOTO_URL"], "deleteProvider": ["phone"],
             "customAttributes": "{\\"admin\\": true}", "emailVerified": false}
            """
        )
        #expect(changed["displayName"]?.string == "Bea" && changed["photoUrl"] == nil)
        let now = try await backend.user(uid)
        #expect(now["phoneNumber"] == nil && now["emailVerified"]?.bool == false)
        #expect(now["customAttributes"]?.string == #"{"admin":true}"#)
        let refreshed = try #require(JSON.object(try await client.refresh(signedIn.refreshToken).text))
        #expect(refreshed.claims["admin"]?.bool == true && refreshed.claims["name"]?.string == "Bea")
        try await backend.call("/accounts:update", #"{"localId": "\#(uid)", "disableUser": true}"#)
        try await client.expect("USER_DISABLED", of: "accounts:signInWithPassword", body)
        #expect(FirebaseClient.error(try await signIn(try backend.sign(backend.custom(uid)))) == "USER_DISABLED")
        #expect(try await backend.user(uid)["disabled"]?.bool == true)
        try await backend.call("/accounts:update", #"{"localId": "\#(uid)", "disableUser": false}"#)
        try await client.call("accounts:signInWithPassword", body)
        let deleted = try await backend.call("/accounts:delete", #"{"localId": "\#(uid)"}"#)
        #expect(deleted["kind"]?.string == "identitytoolkit#DeleteAccountResponse")
        try await backend.expect("USER_NOT_FOUND", of: "/accounts:delete", #"{"localId": "\#(uid)"}"#)
        let actors = try await deployment.database.psql(
            """
            select distinct actor from federation.audit_log
            where actor like 'service-account:%' and action like 'user.%'
            """
        )
        #expect(actors.contains(["service-account:\(backend.name)"]))
    }

    @Test("the audit log has an entry for each change of a backend, and one of a reading if nothing was changed")
    func auditedChanges() async throws {
        let backend = try await FirebaseBackend(deployment)
        let uid = uid
        func update(_ members: String) async throws {
            try await backend.call("/accounts:update", #"{"localId": "\#(uid)"\#(members)}"#)
        }
        try await backend.call("/accounts", #"{"localId": "\#(uid)"}"#)
        try await update(#", "displayName": "Bea", "customAttributes": "{\"a\": 1}", "disableUser": true"#)
        try await update(#", "disableUser": true"#)
        try await update("")
        // The user has no address to confirm.
        try await update(#", "emailVerified": true"#)
        let entries = try await deployment.database.psql(
            """
            select action from federation.audit_log join demo.firebase_users f on target = upper(f.object_id::text)
            where f.uid = '\(uid)' order by id
            """
        )
        #expect(
            entries == ["create", "update", "update", "disable", "read", "read", "read"].map { ["user.\($0)"] },
            "\(entries)"
        )
    }

    @Test("what is refused changes nothing")
    func refusedChanges() async throws {
        let backend = try await FirebaseBackend(deployment)
        let uid = uid
        try await backend.call("/accounts", #"{"localId": "\#(uid)", "displayName": "Ann"}"#)
        func expect(_ error: String, _ members: String) async throws {
            try await backend.expect(
                error,
                of: "/accounts:update",
                #"{"localId": "\#(uid)", "displayName": "Eve", \#(members)}"#
            )
            #expect(try await backend.user(uid)["displayName"]?.string == "Ann", "\(error)")
        }
        try await expect("FORBIDDEN_CLAIM", #""customAttributes": "{\"iss\": 1}""#)
        try await expect("INVALID_CLAIMS", #""customAttributes": "[1]""#)
        let long = String(repeating: "x", count: 1000)
        try await expect("CLAIMS_TOO_LARGE", #""customAttributes": "{\"x\": \"\#(long)\"}""#)
        try await expect("INVALID_PROVIDER_ID", #""deleteProvider": ["what"]"#)
        try await expect("INVALID_ARGUMENT", #""deleteAttribute": ["WHAT"]"#)
        try await expect("INVALID_ARGUMENT", #""validSince": "soon""#)
        try await expect("INVALID_ARGUMENT", #""phoneNumber": "+15550003", "deleteProvider": ["phone"]"#)
        try await expect("INVALID_ARGUMENT", #""mfa": {"enrollments": "none"}"#)
        try await expect("OPERATION_NOT_ALLOWED", #""mfa": {"enrollments": [{"phoneInfo": "+15550002"}]}"#)
        try await backend.expect("MISSING_LOCAL_ID", of: "/accounts:update", "{}")
        try await backend.expect("USER_NOT_FOUND", of: "/accounts:update", #"{"localId": "nobody"}"#)
        try await backend.expect("INVALID_LOCAL_ID", of: "/accounts", #"{"localId": "\#(long)"}"#)
        try await backend.expect(
            "WEAK_PASSWORD",
            of: "/accounts",
            #"{"email": "w.canary@example.com", "password": "x"}"#
        )
        try await backend.expect("INVALID_EMAIL", of: "/accounts", #"{"email": "what"}"#)
        let id = try #require(try await client.guest()["localId"]?.string)
        try await backend.expect("DUPLICATE_LOCAL_ID", of: "/accounts", #"{"localId": "\#(id)"}"#)
    }

    @Test("a backend imports users with hashes of other systems; each record that is refused is named")
    func userImport() async throws {
        let backend = try await FirebaseBackend(deployment)
        let (uid, email) = (uid, "import\(UInt32.random(in: 0 ... .max)).canary@example.com")
        let hash = Base64URL.encode(Array("$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW".utf8))
        let ann = #"{"localId": "\#(uid)", "email": "\#(email)", "displayName": "Ann", "passwordHash": "\#(hash)"}"#
        func imported(_ users: [String], _ algorithm: String = "BCRYPT") async throws -> JSONObject {
            try await backend.call(
                "/accounts:batchCreate",
                #"{"hashAlgorithm": "\#(algorithm)", "users": [\#(users.joined(separator: ", "))]}"#
            )
        }
        let reply = try await imported([ann, #"{"localId": "\#(uid)"}"#, #"{"email": "no@example.com"}"#])
        let errors = reply["error"]?.array?.compactMap(\.object) ?? []
        #expect(errors.compactMap { $0["index"]?.integer } == [1, 2], "\(reply)")
        let body = #"{"email": "\#(email)", "password": "U*U"}"#
        #expect(try await client.call("accounts:signInWithPassword", body)["localId"]?.string == uid)
        #expect(try await backend.user(uid)["displayName"]?.string == "Ann")
        // The same again changes nothing.
        #expect(try await imported([ann])["error"] == nil)
        for (members, error) in [
            (#""users": []"#, "MISSING_USER_ACCOUNT"),
            (#""users": [\#(ann)]"#, "INVALID_HASH_ALGORITHM"),
            (#""users": [\#(ann)], "hashAlgorithm": "HMAC_SHA256""#, "INVALID_HASH_ALGORITHM"),
            (#""users": [\#(ann)], "hashAlgorithm": "PBKDF2_SHA256""#, "INVALID_HASH_PARAMETERS"),
            (#""users": [\#(ann)], "hashAlgorithm": "SHA256", "rounds": 5"#, "INVALID_HASH_PARAMETERS"),
            (#""users": [\#(ann)], "hashAlgorithm": "SCRYPT", "rounds": 8"#, "INVALID_HASH_PARAMETERS"),
        ] {
            try await backend.expect(error, of: "/accounts:batchCreate", "{\(members)}")
        }
        let many = (0...1000).map { #"{"localId": "m\#($0)"}"# }.joined(separator: ",")
        try await backend.expect("MISSING_USER_ACCOUNT", of: "/accounts:batchCreate", "{\"users\": [\(many)]}")
    }

    @Test("a project belongs to one application; two spellings of one uid are two users; lists have texts alone")
    func oneOfEach() async throws {
        let taken = try await deployment.admin().send(
            "PATCH",
            "applications/other",
            #"{"settings": {"firebase": {"projectId": "canary-project"}}}"#
        )
        #expect(taken.status == 409, "\(taken.text)")
        let backend = try await FirebaseBackend(deployment)
        let start = uid
        let uids = [start + "\u{E9}", start + "e\u{301}"]
        for uid in uids { try await backend.call("/accounts", #"{"localId": "\#(uid)"}"#) }
        let list = uids.map { "\"\($0)\"" }.joined(separator: ", ")
        #expect(try await backend.users(#"{"localId": [\#(list)]}"#).count == 2)
        let reply = try await backend.call("/accounts:batchDelete", #"{"localIds": [\#(list)], "force": true}"#)
        #expect(reply["errors"] == nil)
        #expect(try await backend.users(#"{"localId": [\#(list)]}"#).isEmpty)
        try await backend.expect("INVALID_ARGUMENT", of: "/accounts:batchDelete", #"{"localIds": ["a", 1]}"#)
        try await backend.expect("INVALID_ARGUMENT", of: "/accounts:lookup", #"{"federatedUserId": "a"}"#)
    }

    @Test("a backend gets the links of mails that it sends itself, and the audit log tells")
    func links() async throws {
        let backend = try await FirebaseBackend(deployment)
        let email = "link\(UInt32.random(in: 0 ... .max)).canary@example.com"
        let user = try await client.call(
            "accounts:signUp",
            #"{"email": "\#(email)", "password": "canary-8-letters"}"#
        )
        func link(_ type: String, _ more: String = "") async throws -> (link: String, code: String) {
            let wish = #"{"requestType": "\#(type)", "email": "\#(email)", "returnOobLink": true\#(more)}"#
            let made = try await backend.call("/accounts:sendOobCode", wish)
            let (link, code) = (made["oobLink"]?.string ?? "", made["oobCode"]?.string ?? "")
            #expect(link.hasPrefix("https://users.example.com/__/auth/action?mode="))
            #expect(link.contains("&oobCode=\(code)&apiKey=demo&"))
            return (link, code)
        }
        let verification = try await link("VERIFY_EMAIL", #", "continueUrl": "http://localhost:3000/""#)
        #expect(verification.link.contains("&continueUrl=http%3A%2F%2Flocalhost%3A3000%2F"))
        let path = verification.link.replacing("https://users.example.com", with: "")
        #expect(try await deployment.client.send("GET", path).status == 303)
        try await client.call("accounts:update", #"{"oobCode": "\#(verification.code)"}"#)
        #expect(try await client.lookUp(user)["emailVerified"]?.bool == true)
        let new = "new.\(email)"
        let change = try await link("VERIFY_AND_CHANGE_EMAIL", #", "newEmail": "\#(new)""#)
        let facts = try await client.call("accounts:resetPassword", #"{"oobCode": "\#(change.code)"}"#)
        #expect(facts["newEmail"]?.string == new && facts["email"]?.string == email)
        let reset = try await link("PASSWORD_RESET")
        try await client.call(
            "accounts:resetPassword",
            #"{"oobCode": "\#(reset.code)", "newPassword": "another canary one"}"#
        )
        try await client.expect("TOKEN_EXPIRED", of: "accounts:lookup", #"{"idToken": "\#(user.idToken)"}"#)
        let entries = "select count(*) from federation.audit_log where action = 'user.mailedLink' and target = "
        #expect(try await deployment.value(entries + "'\(user["localId"]?.string ?? "")'") == "3")
        for (members, error) in [
            (#""requestType": "PASSWORD_RESET", "email": "no@example.com", "returnOobLink": true"#, "EMAIL_NOT_FOUND"),
            (#""requestType": "PASSWORD_RESET", "email": "\#(email)""#, "INVALID_ARGUMENT"),
            (#""requestType": "EMAIL_SIGNIN", "email": "\#(email)", "returnOobLink": true"#, "OPERATION_NOT_ALLOWED"),
            (
                #"""
                "requestType": "VERIFY_EMAIL", "email": "\#(email)", "returnOobLink": true,
                "continueUrl": "https://e.example"
                """#,
                "UNAUTHORIZED_DOMAIN"
            ),
        ] {
            try await backend.expect(error, of: "/accounts:sendOobCode", "{\(members)}")
        }
    }

    @Test("validSince ends the sessions that were opened before, and no later one")
    func revocation() async throws {
        let backend = try await FirebaseBackend(deployment)
        let uid = uid
        let first = try await signedIn(try backend.sign(backend.custom(uid)))
        let now = FirebaseBackend.now
        try await backend.call("/accounts:update", #"{"localId": "\#(uid)", "validSince": "\#(now - 100)"}"#)
        _ = try await client.lookUp(first)
        // A time to come counts as now.
        try await backend.call("/accounts:update", #"{"localId": "\#(uid)", "validSince": \#(now + 5000)}"#)
        try await client.expect("TOKEN_EXPIRED", of: "accounts:lookup", #"{"idToken": "\#(first.idToken)"}"#)
        #expect(FirebaseClient.error(try await client.refresh(first.refreshToken)) == "TOKEN_EXPIRED")
        let since = try #require(Int64(try await backend.user(uid)["validSince"]?.string ?? ""))
        #expect((now...FirebaseBackend.now + 1).contains(since))
        _ = try await client.lookUp(try await signedIn(try backend.sign(backend.custom(uid))))
    }

    @Test("a merge gives the uid and the claims to the survivor, and its undoing gives them back")
    func merge() async throws {
        let backend = try await FirebaseBackend(deployment)
        let uid = uid
        let merged = try await signedIn(try backend.sign(backend.custom(uid)))
        try await backend.call("/accounts:update", #"{"localId": "\#(uid)", "customAttributes": "{\"a\": 1}"}"#)
        let survivor = try #require(
            try await backend.call("/accounts", #"{"email": "\#(uid).canary@example.com"}"#)["localId"]?.string
        )
        let id = try #require(
            try await deployment.value("select object_id from demo.firebase_users where uid = '\(uid)'")
        )
        let admin = try await deployment.admin()
        try await admin.ask(
            "POST",
            "applications/demo/users/\(survivor)/merge",
            #"{"merged": "\#(id)", "reason": "test"}"#
        )
        #expect(try await backend.user(uid)["email"]?.string == "\(uid).canary@example.com")
        #expect(try await backend.user(survivor)["localId"]?.string == uid)
        #expect(try await backend.user(uid)["customAttributes"]?.string == #"{"a":1}"#)
        try await client.expect("TOKEN_EXPIRED", of: "accounts:lookup", #"{"idToken": "\#(merged.idToken)"}"#)
        let again = try await signedIn(try backend.sign(backend.custom(id.uppercased())))
        #expect(again["isNewUser"] == nil && again.claims["sub"]?.string == uid, "the former object id")
        try await admin.ask("POST", "applications/demo/merged/\(id)/undo", #"{"reason": "test"}"#)
        #expect(try await backend.user(uid)["customAttributes"]?.string == #"{"a":1}"#)
        let left = try await backend.user(survivor)
        #expect(left["localId"]?.string == survivor && left["customAttributes"] == nil)
    }

    @Test("an identity is linked, found by its id at the provider, and unlinked")
    func identities() async throws {
        let backend = try await FirebaseBackend(deployment)
        let uid = uid
        try await backend.call("/accounts", #"{"localId": "\#(uid)"}"#)
        let subject = "\(UInt32.random(in: 1_000_000 ... .max))"
        let link = #""linkProviderUserInfo": {"providerId": "facebook.com", "rawId": "\#(subject)"}"#
        try await backend.call("/accounts:update", #"{"localId": "\#(uid)", \#(link)}"#)
        let named = #"{"federatedUserId": [{"providerId": "facebook.com", "rawId": "\#(subject)"}]}"#
        #expect(try await backend.users(named).map { $0["localId"]?.string } == [uid])
        let other = self.uid
        try await backend.call("/accounts", #"{"localId": "\#(other)"}"#)
        try await backend.expect(
            "FEDERATED_USER_ID_ALREADY_LINKED",
            of: "/accounts:update",
            #"{"localId": "\#(other)", \#(link)}"#
        )
        // One call replaces the identity by another one of the same provider.
        let successor = "\(UInt32.random(in: 1_000_000 ... .max))"
        let replacing = link.replacing(subject, with: successor) + #", "deleteProvider": ["facebook.com"]"#
        try await backend.call("/accounts:update", #"{"localId": "\#(uid)", \#(replacing)}"#)
        #expect(try await backend.users(named).isEmpty)
        let renamed = named.replacing(subject, with: successor)
        #expect(try await backend.users(renamed).map { $0["localId"]?.string } == [uid])
        try await backend.call("/accounts:update", #"{"localId": "\#(uid)", "deleteProvider": ["facebook.com"]}"#)
        #expect(try await backend.users(renamed).isEmpty)
        let email = "\(uid).canary@example.com"
        let password = #""email": "\#(email)", "password": "canary-8-letters""#
        try await backend.call("/accounts:update", #"{"localId": "\#(uid)", \#(password)}"#)
        try await client.call("accounts:signInWithPassword", "{\(password)}")
        try await backend.call("/accounts:update", #"{"localId": "\#(uid)", "deleteProvider": ["password"]}"#)
        try await client.expect("INVALID_LOGIN_CREDENTIALS", of: "accounts:signInWithPassword", "{\(password)}")
    }

    @Test("an identity that comes while deleteProvider waits for the user is removed, too")
    func comingIdentity() async throws {
        let backend = try await FirebaseBackend(deployment)
        let (uid, former) = (uid, self.uid)
        for user in [uid, former] { try await backend.call("/accounts", #"{"localId": "\#(user)"}"#) }
        let facebook = #"{"providerId": "facebook.com", "rawId": "\#(UInt32.random(in: 1_000_000 ... .max))"}"#
        try await backend.call(
            "/accounts:update",
            #"{"localId": "\#(former)", "linkProviderUserInfo": \#(facebook)}"#
        )
        let users = "select object_id from demo.firebase_users where uid"
        let change = try await deployment.database.whileLocked(
            """
            select from demo.users where object_id = (\(users) = '\(uid)') for update;
            update demo.identities set object_id = (\(users) = '\(uid)') where object_id = (\(users) = '\(former)')
            """
        ) {
            let change = Task {
                try await backend.call(
                    "/accounts:update",
                    #"{"localId": "\#(uid)", "deleteProvider": ["facebook.com"]}"#
                )
            }
            try await eventually("the change waits for the user") {
                let waiting = """
                    select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
                        and query like 'select from %users where object_id%for update%'
                    """
                return try await !deployment.database.psql(waiting).isEmpty
            }
            return change
        }
        _ = try await change.value
        #expect(try await backend.users(#"{"federatedUserId": [\#(facebook)]}"#).isEmpty)
    }

    @Test("users are listed in pages, queried in an order, and deleted in bulk")
    func many() async throws {
        let backend = try await FirebaseBackend(deployment)
        try await deployment.database.psql(
            """
            insert into demo.users (object_id, user_status, social_account, created)
            select gen_random_uuid(), 'ENABLED', 'BACKENDLESS', timestamptz '2000-01-01' + make_interval(secs => n)
            from generate_series(1, 2500) n
            """
        )
        var (ids, token): ([String], String?) = ([], "")
        while let page = token {
            let reply = try await backend.call("/accounts:batchGet?maxResults=1000&nextPageToken=\(page)", nil)
            let users = try #require(reply["users"]?.array)
            #expect(users.count <= 1000)
            ids += users.compactMap { $0.object?["localId"]?.string }
            token = reply["nextPageToken"]?.string
        }
        let count = try await deployment.value("select count(*) from demo.users")
        #expect(String(ids.count) == count && Set(ids).count == ids.count)
        for query in ["maxResults=1001", "maxResults=0", "maxResults=x", "nextPageToken=x"] {
            let reply = try await backend.send("/accounts:batchGet?\(query)", nil)
            #expect(FirebaseClient.error(reply) == "INVALID_PAGE_SELECTION", "\(query)")
        }
        let total = try await backend.call("/accounts:query", #"{"returnUserInfo": false}"#)
        #expect(total["recordsCount"]?.string == count)
        for order in ["ASC", "DESC"] {
            let sorted = try await backend.call(
                "/accounts:query",
                #"{"sortBy": "CREATED_AT", "order": "\#(order)", "limit": 3, "offset": 1}"#
            )
            let expected = try await deployment.database.psql(
                """
                select coalesce(f.uid, upper(u.object_id::text))
                from demo.users u left join demo.firebase_users f using (object_id)
                order by u.created \(order), u.object_id limit 3 offset 1
                """
            )
            let found = sorted["userInfo"]?.array?.map { [$0.object?["localId"]?.string] }
            #expect(found == expected, "\(order)")
        }
        let object = ids.first { $0.utf8.count == 36 && !$0.hasPrefix("uid") } ?? ""
        let one = try await backend.call("/accounts:query", #"{"expression": [{"userId": "\#(object)"}]}"#)
        #expect(one["userInfo"]?.array?.count == 1)
        let some = ids.filter { $0.utf8.count == 36 }.prefix(3).map { "\"\($0)\"" }.joined(separator: ", ")
        let kept = try await backend.call("/accounts:batchDelete", #"{"localIds": [\#(some)], "force": false}"#)
        #expect(kept["errors"]?.array?.count == 3)
        let gone = try await backend.call(
            "/accounts:batchDelete",
            #"{"localIds": [\#(some), "nobody"], "force": true}"#
        )
        #expect(gone["errors"] == nil)
        #expect(try await backend.users(#"{"localId": [\#(some)]}"#).isEmpty)
        try await backend.expect("LOCAL_ID_LIST_EXCEEDS_LIMIT", of: "/accounts:batchDelete", #"{"localIds": []}"#)
        try await deployment.database.psql("delete from demo.users where last_login is null")
    }

    // MARK: Session cookies

    @Test("a session cookie has the claims of the ID token, is verified by published keys, and is no ID token")
    func sessionCookie() async throws {
        let backend = try await FirebaseBackend(deployment)
        let user = try await signedIn(try backend.sign(backend.custom(uid, ["claims": .object(["a": .integer(1)])])))
        let reply = try await backend.call(
            ":createSessionCookie",
            #"{"idToken": "\#(user.idToken)", "validDuration": "1209600"}"#
        )
        let cookie = try #require(reply["sessionCookie"]?.string)
        let claimed: JSONObject = ["idToken": .string(cookie)]
        let claims = claimed.claims
        #expect(claims["iss"]?.string == "https://session.firebase.google.com/canary-project")
        #expect(claims["sub"] == user.claims["sub"] && claims["a"]?.integer == 1 && claims["jti"] == nil)
        let life = (claims["exp"]?.integer ?? 0) - (claims["iat"]?.integer ?? 0)
        #expect(life == 1_209_600 && claims["auth_time"] == user.claims["auth_time"])
        for path in [
            "/www.googleapis.com/identitytoolkit/v3/relyingparty/publicKeys",
            "/identitytoolkit.googleapis.com/v1/sessionCookiePublicKeys",
        ] {
            let keys = try #require(JSON.object(try await deployment.client.get(path).text))
            #expect(keys[claimed.keyID]?.string?.hasPrefix("-----BEGIN CERTIFICATE-----") == true, "\(path)")
        }
        try await client.expect("INVALID_ID_TOKEN", of: "accounts:lookup", #"{"idToken": "\#(cookie)"}"#)
        try await backend.expect(
            "INVALID_ID_TOKEN",
            of: ":createSessionCookie",
            #"{"idToken": "\#(cookie)", "validDuration": 300}"#
        )
        for duration in ["299", "1209601", "\"x\"", "null"] {
            try await backend.expect(
                "INVALID_DURATION",
                of: ":createSessionCookie",
                #"{"idToken": "\#(user.idToken)", "validDuration": \#(duration)}"#
            )
        }
        let id = try #require(user.claims["sub"]?.string)
        try await backend.call("/accounts:update", #"{"localId": "\#(id)", "validSince": \#(FirebaseBackend.now)}"#)
        try await backend.expect(
            "TOKEN_EXPIRED",
            of: ":createSessionCookie",
            #"{"idToken": "\#(user.idToken)", "validDuration": 300}"#
        )
    }

    @Test("the keys of session cookies are published for two weeks after they are replaced, those of ID tokens are not")
    func cookieKeys() async throws {
        // The list has the keys of all applications, so the token tells which key is this application's.
        let before = try await client.guest().keyID
        let admin = try await deployment.admin()
        let path = "/identitytoolkit.googleapis.com/v1/sessionCookiePublicKeys"
        let tokens = "/www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
        func ids(_ path: String) async throws -> [String] {
            try #require(JSON.object(try await deployment.client.get(path).text)).members.map(\.key)
        }
        #expect(try await ids(path).contains(before))
        try await admin.ask("POST", "token-keys/rotate", #"{"application": "demo"}"#)
        try await deployment.database.psql(
            "update federation.token_keys set retired = retired - interval '13 days' where id = '\(before)'"
        )
        try await admin.ask("POST", "token-keys/rotate", #"{"application": "demo"}"#)
        #expect(try await ids(path).contains(before))
        #expect(try await !ids(tokens).contains(before))
        try await deployment.database.psql(
            "update federation.token_keys set retired = retired - interval '2 days' where id = '\(before)'"
        )
        try await admin.ask("POST", "token-keys/rotate", #"{"application": "demo"}"#)
        #expect(try await !ids(path).contains(before))
    }
}
