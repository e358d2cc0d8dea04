import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()

@Suite(
    "Mailed links of Firebase's clients",
    .serialized,
    .deployed(
        Document(
            keyVariable: "OTHER_API_KEY",
            hasServerKey: true,
            settings: """
                {"firebase": {"projectId": "canary-project", "emailLinks": true},
                 "passwords": {"minLength": 8}, "allowedOrigins": ["https://app.example.com"],
                 "secondFactor": {"policy": "optional", "factors": ["totp", "email"]},
                 "registration": {"confirmEmail": false, "maxPerSourcePerHour": 1000}}
                """,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        environment: mails.environment
    )
)
struct FirebaseActionTests {
    private static let password = "a canary password"
    private static let other = "another canary one"
    private static let page = "https://app.example.com/finish?cart=7#top"

    let deployment: Deployment
    let client: FirebaseClient

    init() throws {
        deployment = try Deployment.current
        client = FirebaseClient(deployment: deployment)
    }

    private var address: String { "o\(UInt32.random(in: 0 ... .max)).canary@example.com" }

    private func user(_ email: String) async throws -> JSONObject {
        try await client.call("accounts:signUp", #"{"email": "\#(email)", "password": "\#(Self.password)"}"#)
    }

    /// Asks for a mail, and returns the parameters of the link in it.
    private func link(_ type: String, to email: String, _ members: String) async throws -> [String: String] {
        let reply = try await client.call("accounts:sendOobCode", #"{"requestType": "\#(type)", \#(members)}"#)
        #expect(reply["kind"]?.string == "identitytoolkit#GetOobConfirmationCodeResponse")
        return try await mails.actionLink(to: email)
    }

    private func code(_ type: String, to email: String, _ members: String) async throws -> String {
        try #require(try await link(type, to: email, members)["oobCode"])
    }

    private func isVerified(_ email: String) async throws -> Bool {
        try await deployment.value("select email_verified from demo.users where email = '\(email)'") == "t"
    }

    // MARK: Addresses

    @Test("a code confirms the address of the user who asked for it, once; looking at it uses nothing up")
    func verification() async throws {
        let email = address
        let user = try await user(email)
        let link = try await link("VERIFY_EMAIL", to: email, #""idToken": "\#(user.idToken)""#)
        #expect(link["mode"] == "verifyEmail" && link["apiKey"] == client.key && link["lang"] == "en")
        let code = try #require(link["oobCode"])
        for _ in 0..<2 {
            let facts = try await client.call("accounts:resetPassword", #"{"oobCode": "\#(code)"}"#)
            #expect(facts["requestType"]?.string == "VERIFY_EMAIL" && facts["email"]?.string == email)
        }
        #expect(try await !isVerified(email))
        try await client.expect(
            "INVALID_OOB_CODE",
            of: "accounts:resetPassword",
            #"{"oobCode": "\#(code)", "newPassword": "\#(Self.other)"}"#
        )
        let confirmed = try await client.call("accounts:update", #"{"oobCode": "\#(code)"}"#)
        #expect(confirmed["email"]?.string == email && confirmed["emailVerified"]?.bool == true)
        #expect(try await client.lookUp(user)["emailVerified"]?.bool == true)
        try await client.expect("INVALID_OOB_CODE", of: "accounts:update", #"{"oobCode": "\#(code)"}"#)
        // The code of another purpose, and the link of a registration, confirm nothing.
        let reset = try await self.code("PASSWORD_RESET", to: email, #""email": "\#(email)""#)
        try await client.expect("INVALID_OOB_CODE", of: "accounts:update", #"{"oobCode": "\#(reset)"}"#)
    }

    @Test("a new address counts once its mail was opened; the former address gets a link back")
    func newAddress() async throws {
        let (former, new, taken) = (address, address, address)
        let user = try await user(former)
        _ = try await self.user(taken)
        try await deployment.database.psql("update demo.users set email_verified = true where email = '\(former)'")
        let wish = #""idToken": "\#(user.idToken)", "newEmail": "\#(new)""#
        let code = try await code("VERIFY_AND_CHANGE_EMAIL", to: new, wish)
        let facts = try await client.call("accounts:resetPassword", #"{"oobCode": "\#(code)"}"#)
        #expect(facts["email"]?.string == former && facts["newEmail"]?.string == new)
        #expect(try await client.lookUp(user)["email"]?.string == former)
        _ = try await client.call("accounts:update", #"{"oobCode": "\#(code)"}"#)
        let changed = try await client.lookUp(user)
        #expect(changed["email"]?.string == new && changed["emailVerified"]?.bool == true)
        #expect(try await mails.next(to: former).contains("/undo-change?token="))
        _ = try await client.call(
            "accounts:signInWithPassword",
            #"{"email": "\#(new)", "password": "\#(Self.password)"}"#
        )
        // Another account's address is refused only when the mail is opened, and then changes nothing.
        let theirs = #""idToken": "\#(user.idToken)", "newEmail": "\#(taken)""#
        let refused = try await self.code("VERIFY_AND_CHANGE_EMAIL", to: taken, theirs)
        try await client.expect("EMAIL_EXISTS", of: "accounts:update", #"{"oobCode": "\#(refused)"}"#)
        #expect(try await client.lookUp(user)["email"]?.string == new)
        try await deployment.database.psql("update demo.sessions set proved = now() - interval '1 hour'")
        try await client.expect(
            "CREDENTIAL_TOO_OLD_LOGIN_AGAIN",
            of: "accounts:sendOobCode",
            #"{"requestType": "VERIFY_AND_CHANGE_EMAIL", \#(wish)}"#
        )
    }

    // MARK: Passwords

    @Test("a code sets a new password, and ends the sessions; an unknown address gets the same response")
    func passwordReset() async throws {
        let email = address
        let user = try await user(email)
        let unknown = address
        let reply = try await client.call(
            "accounts:sendOobCode",
            #"{"requestType": "PASSWORD_RESET", "email": "\#(unknown)"}"#
        )
        #expect(reply["email"]?.string == unknown)
        let code = try await code("PASSWORD_RESET", to: email, #""email": "\#(email)""#)
        let facts = try await client.call("accounts:resetPassword", #"{"oobCode": "\#(code)"}"#)
        #expect(facts["requestType"]?.string == "PASSWORD_RESET" && facts["email"]?.string == email)
        let weak = #"{"oobCode": "\#(code)", "newPassword": "short"}"#
        try await client.expect("WEAK_PASSWORD", of: "accounts:resetPassword", weak)
        let new = #"{"oobCode": "\#(code)", "newPassword": "\#(Self.other)"}"#
        let done = try await client.call("accounts:resetPassword", new)
        #expect(done["email"]?.string == email && done["kind"]?.string == "identitytoolkit#ResetPasswordResponse")
        try await client.expect("INVALID_OOB_CODE", of: "accounts:resetPassword", new)
        try await client.expect("TOKEN_EXPIRED", of: "accounts:lookup", #"{"idToken": "\#(user.idToken)"}"#)
        _ = try await client.call(
            "accounts:signInWithPassword",
            #"{"email": "\#(email)", "password": "\#(Self.other)"}"#
        )
        #expect(try mails.take(to: unknown).isEmpty)
    }

    // MARK: Login by a mailed link

    @Test("the reader of a mail becomes a user, and logs in once by each link")
    func login() async throws {
        let email = address
        let wish = #""email": "\#(email)", "continueUrl": "\#(Self.page)", "canHandleCodeInApp": true"#
        let link = try await link("EMAIL_SIGNIN", to: email, wish)
        #expect(link["mode"] == "signIn" && link["continueUrl"] == Self.page)
        let code = try #require(link["oobCode"])
        let facts = try await client.call("accounts:resetPassword", #"{"oobCode": "\#(code)"}"#)
        #expect(facts["requestType"]?.string == "EMAIL_SIGNIN" && facts["email"] == nil)
        let call = "accounts:signInWithEmailLink"
        let request = #"{"email": "\#(email)", "oobCode": "\#(code)"}"#
        try await client.expect("INVALID_EMAIL", of: call, #"{"email": "\#(address)", "oobCode": "\#(code)"}"#)
        let first = try await client.call(call, request)
        #expect(first["isNewUser"]?.bool == true && first["email"]?.string == email)
        #expect(first.claims["email_verified"]?.bool == true)
        #expect(first.claims["firebase"]?.object?["sign_in_provider"]?.string == "password")
        #expect(try await client.lookUp(first)["localId"] == first["localId"])
        let opened = """
            select count(*) from demo.sessions s join demo.refresh_tokens r on r.session = s.token_hash
            where s.object_id = '\(first["localId"]?.string ?? "")' and r.rotated = s.created
            """
        #expect(try await deployment.value(opened) == "1", "one statement opens the session and its refresh tokens")
        try await client.expect("INVALID_OOB_CODE", of: call, request)
        let second = try await self.code("EMAIL_SIGNIN", to: email, wish)
        let again = try await client.call(call, #"{"email": "\#(email)", "oobCode": "\#(second)"}"#)
        #expect(again["localId"] == first["localId"] && again["isNewUser"] == nil)
        // No password opens the account.
        try await client.expect(
            "INVALID_LOGIN_CREDENTIALS",
            of: "accounts:signInWithPassword",
            #"{"email": "\#(email)", "password": "\#(Self.password)"}"#
        )
    }

    @Test("of simultaneous uses of a link one logs in, and a link stays valid if the database does not write the login")
    func used() async throws {
        let email = address
        let wish = #""email": "\#(email)", "continueUrl": "http://localhost/""#
        let call = "accounts:signInWithEmailLink"
        for isNew in [true, false] {
            let code = try await code("EMAIL_SIGNIN", to: email, wish)
            let request = #"{"email": "\#(email)", "oobCode": "\#(code)"}"#
            if !isNew {
                try await deployment.database.psql(
                    """
                    create function demo.refuse() returns trigger language plpgsql as
                        $$ begin raise exception 'the disk is full' using errcode = '53100'; end $$;
                    create trigger refuse before insert on demo.sessions for each row execute function demo.refuse()
                    """
                )
                let refused = try await client.send(call, request)
                try await deployment.database.psql("drop function demo.refuse() cascade")
                #expect(refused.status == 503, "\(refused.text)")
            }
            let replies = try await atOnce(4) { _ in try await client.send(call, request) }
            #expect(replies.count { $0.status == 200 } == 1, "new: \(isNew)")
            for reply in replies where reply.status != 200 {
                #expect(FirebaseClient.error(reply) == "INVALID_OOB_CODE", "\(reply.text)")
            }
        }
        #expect(try await deployment.value("select count(*) from demo.users where email = '\(email)'") == "1")
    }

    @Test("T-32: an account that somebody planted at an address is the reader's alone, by the first link")
    func planted() async throws {
        let email = address
        let thief = try await user(email)
        let wish = #""email": "\#(email)", "continueUrl": "http://localhost:3000/""#
        let code = try await code("EMAIL_SIGNIN", to: email, wish)
        let owner = try await client.call(
            "accounts:signInWithEmailLink",
            #"{"email": "\#(email)", "oobCode": "\#(code)"}"#
        )
        #expect(owner["localId"] == thief["localId"] && owner["isNewUser"] == nil)
        try await client.expect("TOKEN_EXPIRED", of: "accounts:lookup", #"{"idToken": "\#(thief.idToken)"}"#)
        try await client.expect(
            "INVALID_LOGIN_CREDENTIALS",
            of: "accounts:signInWithPassword",
            #"{"email": "\#(email)", "password": "\#(Self.password)"}"#
        )
        #expect(try await isVerified(email))
    }

    @Test("a link opens no account that has got another address since, and none after a new password or a revocation")
    func older() async throws {
        let (email, other) = (address, address)
        let wish = #""email": "\#(email)", "continueUrl": "http://localhost/""#
        let thief = try await user(email)
        let code = try await code("EMAIL_SIGNIN", to: email, wish)
        try await client.call("accounts:update", #"{"idToken": "\#(thief.idToken)", "email": "\#(other)"}"#)
        let owner = try await client.call(
            "accounts:signInWithEmailLink",
            #"{"email": "\#(email)", "oobCode": "\#(code)"}"#
        )
        #expect(owner["localId"] != thief["localId"])
        for change in [
            "update demo.passwords set changed = now() + interval '3 seconds' where login = '\(email)'",
            """
            insert into demo.firebase_users (object_id, valid_since) values
                ('\(owner["localId"]?.string ?? "")', now() + interval '3 seconds')
            """,
        ] {
            try await deployment.database.psql("update demo.passwords set changed = now() - interval '1 minute'")
            let code = try await self.code("EMAIL_SIGNIN", to: email, wish)
            try await deployment.database.psql(change)
            try await client.expect(
                "INVALID_OOB_CODE",
                of: "accounts:signInWithEmailLink",
                #"{"email": "\#(email)", "oobCode": "\#(code)"}"#
            )
        }
    }

    @Test("a server's API key gets into no mail")
    func serverKey() async throws {
        let reply = try await deployment.client.send(
            "POST",
            "/identitytoolkit.googleapis.com/v1/accounts:sendOobCode",
            headers: [("Content-Type", "application/json"), ("x-goog-api-key", Canary.serverAPIKey)],
            body: Array(#"{"requestType": "PASSWORD_RESET", "email": "\#(address)"}"#.utf8)
        )
        #expect(FirebaseClient.error(reply) == "PERMISSION_DENIED", "\(reply.text)")
    }

    @Test("D6: a link does not open the account of a user whose provider named the address")
    func providersAddress() async throws {
        let email = address
        let visitor = try await deployment.newcomer(#"{"email": "\#(email)", "name": "Ann Canary"}"#)
        let user = try await client.signIn(visitor)
        let wish = #""email": "\#(email)", "continueUrl": "http://localhost/""#
        let code = try await code("EMAIL_SIGNIN", to: email, wish)
        let reader = try await client.call(
            "accounts:signInWithEmailLink",
            #"{"email": "\#(email)", "oobCode": "\#(code)"}"#
        )
        #expect(reader["localId"] != user["localId"] && reader["isNewUser"]?.bool == true)
    }

    @Test("a guest keeps the id by a link, and a user of a provider gets an address to log in by")
    func link() async throws {
        for isGuest in [true, false] {
            let (email, formerEmail) = (address, address)
            let former =
                isGuest
                ? try await client.guest()
                : try await client.signIn(try await deployment.newcomer(#"{"email": "\#(formerEmail)"}"#))
            let confirmed = "update demo.users set email_verified = true where email = '\(formerEmail)'"
            try await deployment.database.psql(confirmed)
            let wish = #""email": "\#(email)", "continueUrl": "http://localhost/""#
            let code = try await code("EMAIL_SIGNIN", to: email, wish)
            let linked = try await client.call(
                "accounts:signInWithEmailLink",
                #"{"email": "\#(email)", "oobCode": "\#(code)", "idToken": "\#(former.idToken)"}"#
            )
            #expect(linked["localId"] == former["localId"], "guest: \(isGuest)")
            let user = try await client.lookUp(linked)
            #expect(user["email"]?.string == email && user["emailVerified"]?.bool == true)
            if !isGuest {
                // The former address hears of it, and can undo it.
                #expect(try await mails.next(to: formerEmail).contains("/undo-change?token="))
            }
            let second = try await self.code("EMAIL_SIGNIN", to: email, wish)
            let signedIn = try await client.call(
                "accounts:signInWithEmailLink",
                #"{"email": "\#(email)", "oobCode": "\#(second)"}"#
            )
            #expect(signedIn["localId"] == former["localId"])
            // A link does not take the address of another user.
            let third = try await self.code("EMAIL_SIGNIN", to: email, wish)
            let guest = try await client.guest()
            try await client.expect(
                "EMAIL_EXISTS",
                of: "accounts:signInWithEmailLink",
                #"{"email": "\#(email)", "oobCode": "\#(third)", "idToken": "\#(guest.idToken)"}"#
            )
        }
    }

    @Test("a link is one factor: a code to the same mailbox is not the second")
    func secondFactor() async throws {
        let email = address
        _ = try await user(email)
        try await deployment.database.psql("update demo.users set email_verified = true where email = '\(email)'")
        let session = try await deployment.logIn(email, password: Self.password)
        _ = try await deployment.enrolApp(of: session)
        let wish = #""email": "\#(email)", "continueUrl": "http://localhost/""#
        let code = try await code("EMAIL_SIGNIN", to: email, wish)
        let reply = try await client.call(
            "accounts:signInWithEmailLink",
            #"{"email": "\#(email)", "oobCode": "\#(code)"}"#
        )
        #expect(reply["mfaPendingCredential"]?.string != nil && reply["idToken"] == nil)
        #expect(reply["mfaInfo"]?.array?.count == 1)
    }

    @Test(
        "what a call lacks, or may not ask for, has an error of its own",
        arguments: [
            (#"{}"#, "MISSING_REQ_TYPE"), (#"{"requestType": "RECOVER"}"#, "INVALID_REQ_TYPE"),
            (#"{"requestType": "PASSWORD_RESET"}"#, "MISSING_EMAIL"),
            (#"{"requestType": "PASSWORD_RESET", "email": "no"}"#, "INVALID_EMAIL"),
            (#"{"requestType": "VERIFY_EMAIL"}"#, "MISSING_ID_TOKEN"),
            (#"{"requestType": "VERIFY_AND_CHANGE_EMAIL"}"#, "MISSING_NEW_EMAIL"),
            (#"{"requestType": "EMAIL_SIGNIN", "email": "a@example.com"}"#, "MISSING_CONTINUE_URI"),
            (
                #"{"requestType": "EMAIL_SIGNIN", "email": "a@example.com", "continueUrl": "javascript:alert(1)"}"#,
                "INVALID_CONTINUE_URI"
            ),
            (
                #"{"requestType": "PASSWORD_RESET", "email": "a@example.com", "continueUrl": "https://evil.example"}"#,
                "UNAUTHORIZED_DOMAIN"
            ),
            (
                #"{"requestType": "PASSWORD_RESET", "email": "a@example.com", "returnOobLink": true}"#,
                "INSUFFICIENT_PERMISSION"
            ),
        ]
    )
    func refused(body: String, error: String) async throws {
        try await client.expect(error, of: "accounts:sendOobCode", body)
    }

    // MARK: Pages

    @Test("the link leads to the page of the service, which asks before it does anything, and then to the app")
    func pages() async throws {
        let email = address
        let user = try await user(email)
        let wish = #""idToken": "\#(user.idToken)", "continueUrl": "\#(Self.page)""#
        let link = try await link("VERIFY_EMAIL", to: email, wish)
        let query = link.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
        let reply = try await deployment.client.send("GET", "/__/auth/action?\(query)")
        #expect(reply.status == 303)
        let location = try #require(reply.header("Location"))
        #expect(location.hasPrefix("/demo/verify-email?token="))
        let browser = FormBrowser(deployment.client, at: "https://users.example.com")
        try await browser.open(location)
        #expect(browser.page.contains(email))
        #expect(try await !isVerified(email))
        let fields = PageForms.fields(in: browser.page[...])
        let done = try await deployment.browser.post(
            "/demo/verify-email",
            form: fields.map { ($0.key, $0.value) },
            at: deployment.client
        )
        #expect(done.status == 200 && done.text.contains("href=\"\(Self.page)\""), "\(done.text)")
        #expect(try await isVerified(email))
        for query in ["", "mode=signIn", "mode=verifyEmail&oobCode=x&apiKey=unknown", "mode=no&oobCode=x&apiKey=y"] {
            let reply = try await deployment.client.send("GET", "/__/auth/action?\(query)")
            #expect(reply.status >= 400 && reply.text.contains("<html"), "\(query): \(reply.status)")
        }
    }

    @Test("a login goes on at the app's page with all parameters; no other page gets the code")
    func redirect() async throws {
        let parameters = "mode=signIn&oobCode=c-1&apiKey=\(client.key)&lang=en&continueUrl="
        let own = try await deployment.client.send(
            "GET",
            "/__/auth/action?\(parameters)\(PercentEncoding.encode(Self.page))"
        )
        let location = try #require(own.header("Location"))
        #expect(own.status == 303 && location.hasSuffix("#top"))
        #expect(location.hasPrefix("https://app.example.com/finish?cart=7&mode=signIn&oobCode=c-1&"))
        for other in [
            "https://evil.example/", "https://app.example.com.evil.example/", "https://app.example.com@evil.example",
        ] {
            let reply = try await deployment.client.send(
                "GET",
                "/__/auth/action?\(parameters)\(PercentEncoding.encode(other))"
            )
            #expect(reply.status == 400 && reply.header("Location") == nil, "\(other)")
        }
    }
}
