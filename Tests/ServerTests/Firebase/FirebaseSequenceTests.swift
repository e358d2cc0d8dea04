import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let mails = MailsFolder()
/// The origin of the web client's page.
private let page = "https://app.example.com"

/// The calls that an SDK makes in turn, with its bodies and headers: those of the SDK for the web, 12.18.0, as Chromium
/// and Node.js sent them, or those of the SDK for iOS, 12.19.0, as its sources write them.
///
/// `{name}` in a body stands for what is known: from the test, or from an earlier response. After the body stands what
/// the SDK reads of the response: `name` is a text, `name=value` has that value, and `!name` is absent. A number is a
/// place in a list.
private struct Conversation {
    private static let remembered = [
        "idToken": "idToken", "refreshToken": "refreshToken", "localId": "localId", "id_token": "idToken",
        "refresh_token": "refreshToken", "mfaPendingCredential": "pending",
    ]
    /// What the SDKs read wherever a response has tokens.
    static let tokens = ["idToken", "refreshToken", "expiresIn=3600"]
    static let signedIn = tokens + ["localId", "!errorMessage", "!needConfirmation", "!mfaPendingCredential"]
    static let same = tokens + ["localId={localId}"]
    static let facebook = ["providerId=facebook.com", "rawUserInfo", "oauthAccessToken={token}"]

    let isApple: Bool
    let client: FirebaseClient
    var known = [
        "email": "seq\(UInt32.random(in: 0 ... .max)).canary@example.com", "password": "canary-8-letters",
        "new": "another-canary-9", "page": page,
    ]

    init(isApple: Bool, _ client: FirebaseClient) {
        (self.isApple, self.client) = (isApple, client)
        known["client"] = isApple ? "CLIENT_TYPE_IOS" : "CLIENT_TYPE_WEB"
    }

    /// The members of the body that logs in by Facebook.
    var byFacebook: String {
        let (first, second) = ("access_token={token}", "providerId=facebook.com")
        let form = isApple ? "\(second)&\(first)" : "&\(first)&\(second)"
        let members = #""requestUri":"http://localhost","returnSecureToken":true,"postBody":"\#(form)""#
        return isApple ? members + #","returnIdpCredential":true,"autoCreate":true"# : members
    }

    /// Sends a call, requires success and what the SDK reads, and remembers the tokens.
    @discardableResult
    mutating func call(_ path: String, _ members: String, _ reads: [String]) async throws -> JSONObject {
        try read(try await send(path, "{\(members)}"), of: path, reads)
    }

    /// Sends a call and expects an error.
    func expect(_ error: String, of path: String, _ members: String) async throws {
        let reply = try await send(path, "{\(members)}")
        #expect(reply.status == 400 && FirebaseClient.error(reply) == error, "\(path): \(reply.text)")
    }

    /// Loads the user, as both SDKs do after each login and change.
    @discardableResult
    mutating func lookUp(_ reads: [String]) async throws -> JSONObject {
        // Both fail without exactly one user. iOS reads times only from texts.
        let always = ["users.0.localId={localId}", "users.0.createdAt", "users.0.lastLoginAt", "!users.1"]
        return try await call("accounts:lookup", #""idToken":"{idToken}""#, always + reads)
    }

    mutating func refresh() async throws {
        let body =
            isApple
            ? #"{"grantType":"refresh_token","refreshToken":"{refreshToken}"}"#
            : "grant_type=refresh_token&refresh_token={refreshToken}"
        try read(try await send("token", body), of: "token", ["access_token", "refresh_token", "expires_in=3600"])
    }

    /// Waits for a mail with a link, and remembers its code.
    mutating func open(_ mode: String) async throws {
        let link = try await mails.actionLink(to: known["email"] ?? "")
        #expect(link["mode"] == mode && link["apiKey"] == client.key && link["lang"] == "en-GB", "\(link)")
        known["code"] = link["oobCode"]
    }

    @discardableResult
    private mutating func read(_ reply: HTTPReply, of path: String, _ reads: [String]) throws -> JSONObject {
        try #require(reply.status == 200, "\(path): \(reply.text)")
        let json = try #require(JSON.object(reply.text), "\(path): \(reply.text)")
        for wish in reads.map(filled) {
            let parts = wish.split(separator: "=", maxSplits: 1)
            let value = json.value(at: wish.hasPrefix("!") ? wish.dropFirst() : parts[0])
            let text = value?.string ?? value?.bool.map { $0 ? "true" : "false" }
            let isRight =
                wish.hasPrefix("!")
                ? value == nil : parts.count == 2 ? text == String(parts[1]) : value?.string?.isEmpty == false
            #expect(isRight, "\(path): \(wish): \(reply.text)")
        }
        for (name, key) in Self.remembered { if let text = json[name]?.string { known[key] = text } }
        return json
    }

    private func send(_ path: String, _ body: String) async throws -> HTTPReply {
        let former = isApple ? FirebaseClient.formerNames[path] : nil
        let base =
            switch path {
            case "token": "/securetoken.googleapis.com/v1/token"
            case _ where path.contains("/"): "/identitytoolkit.googleapis.com/v2/\(path)"
            default: former.map { FirebaseClient.formerBase + $0 } ?? "/identitytoolkit.googleapis.com/v1/\(path)"
            }
        let isForm = path == "token" && !isApple
        let type = [("Content-Type", isForm ? "application/x-www-form-urlencoded" : "application/json")]
        let reply = try await client.deployment.client.send(
            "POST",
            "\(base)?key=\(client.key)",
            headers: type + headers,
            body: Array(filled(body).utf8)
        )
        // Without it, a browser hides the response, and an error, too.
        if !isApple { #expect(reply.header("Access-Control-Allow-Origin") == page, "\(path): \(reply.text)") }
        return reply
    }

    private var headers: [(String, String)] {
        isApple
            ? [
                ("X-Client-Version", "iOS/FirebaseSDK/12.19.0/FirebaseCore-iOS"), ("Accept-Language", "en"),
                ("X-Ios-Bundle-Identifier", "com.example.canary"), ("X-Firebase-GMPID", "1:2:ios:3"),
                ("X-Firebase-Locale", "en-GB"),
            ]
            : [
                ("X-Client-Version", "Chrome/JsCore/12.18.0/FirebaseCore-web"), ("Origin", page),
                ("X-Firebase-gmpid", "1:2:web:3"), ("X-Firebase-Client", "eyJ2ZXJzaW9uIjoyfQ"),
                ("X-Firebase-Locale", "en-GB"),
            ]
    }

    private func filled(_ text: String) -> String {
        known.reduce(text) { $0.replacing("{\($1.key)}", with: $1.value) }
    }
}

extension JSONObject {
    /// Returns the value at a path of names and places in lists, such as `users.0.email`.
    fileprivate func value(at path: Substring) -> JSONValue? {
        var value: JSONValue? = .object(self)
        for name in path.split(separator: ".") {
            if let place = Int(name) {
                value = value?.array?.dropFirst(place).first
            } else {
                value = value?.object?[String(name)]
            }
        }
        return value
    }
}

@Suite(
    "Calls of Firebase's SDKs in their order",
    .serialized,
    .deployed(
        Document(
            keyVariable: "OTHER_API_KEY",
            settings: """
                {"firebase": {"projectId": "canary-project", "emailLinks": true}, "passwords": {"minLength": 8},
                 "allowedOrigins": ["\(page)"], "secondFactor": {"policy": "optional", "factors": ["totp"]},
                 "registration": {"confirmEmail": false, "maxPerSourcePerHour": 1000}}
                """,
            properties: #"{"photoUrl": {"type": "STRING", "clientMappable": true}}"#,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        environment: mails.environment
    )
)
struct FirebaseSequenceTests {
    private static let user =
        #""email":"{email}","password":"{password}","clientType":"{client}","returnSecureToken":true"#
    private static let renewed = user.replacing("{password}", with: "{new}")
    private static let session = #""idToken":"{idToken}""#
    private static let code = #""oobCode":"{code}""#

    let deployment: Deployment
    let client: FirebaseClient

    init() throws {
        deployment = try Deployment.current
        client = FirebaseClient(deployment: deployment)
    }

    /// Begins a conversation of a user of Facebook, who has the conversation's e-mail address.
    private func begin(_ isApple: Bool) async throws -> Conversation {
        var sdk = Conversation(isApple: isApple, client)
        let visitor = try await deployment.newcomer(
            #"{"email": "\#(sdk.known["email"] ?? "")", "name": "Ann Canary"}"#
        )
        sdk.known["token"] = visitor.token
        sdk.known["subject"] = visitor.id
        return sdk
    }

    @Test("createUser, updateProfile, a forced refresh, delete", arguments: [false, true])
    func account(isApple: Bool) async throws {
        var sdk = Conversation(isApple: isApple, client)
        let kind = "kind=identitytoolkit#SignupNewUserResponse"
        try await sdk.call("accounts:signUp", Self.user, Conversation.signedIn + [kind])
        let provider = ["providerId=password", "rawId={email}", "federatedId={email}"]
        try await sdk.lookUp(
            provider.map { "users.0.providerUserInfo.0." + $0 }
                + ["users.0.email={email}", "users.0.emailVerified=false", "users.0.passwordHash"]
        )
        let update = Self.session + #","returnSecureToken":true,"displayName":"#
        let named = Conversation.same + ["email={email}", "displayName=Ann"]
        try await sdk.call("accounts:update", update + #""Ann""#, named + ["!photoUrl"])
        // The SDK for the web forgets what the response does not have.
        let photo = #"null,"photoUrl":"https://a.example/p""#
        try await sdk.call("accounts:update", update + photo, named + ["photoUrl=https://a.example/p"])
        try await sdk.refresh()
        try await sdk.lookUp(["users.0.displayName=Ann", "users.0.photoUrl=https://a.example/p"])
        try await sdk.call("accounts:delete", Self.session + (isApple ? #","localId":"{localId}""# : ""), ["kind"])
        try await sdk.expect("TOKEN_EXPIRED", of: "accounts:lookup", Self.session)
    }

    @Test("signIn by Facebook, reauthenticate, unlink, link; another user cannot link it", arguments: [false, true])
    func facebook(isApple: Bool) async throws {
        var sdk = try await begin(isApple)
        let found = Conversation.facebook
        let path = "accounts:signInWithIdp"
        try await sdk.call(path, sdk.byFacebook, Conversation.signedIn + found + ["isNewUser=true"])
        let provider = ["providerId=facebook.com", "rawId={subject}", "federatedId={subject}", "email={email}"]
        let providers = provider.map { "users.0.providerUserInfo.0." + $0 } + ["!users.0.providerUserInfo.1"]
        try await sdk.lookUp(providers + ["users.0.email={email}", "users.0.displayName=Ann Canary"])
        try await sdk.refresh()
        try await sdk.lookUp(providers)
        let again = sdk.byFacebook.replacing(#","autoCreate":true"#, with: "") + #","autoCreate":false"#
        try await sdk.call(path, again, Conversation.same + found + ["!isNewUser"])
        let update = Self.session + #","returnSecureToken":true,"#
        try await sdk.call("accounts:update", update + #""password":"{password}""#, Conversation.same)
        let left = ["providerUserInfo.0.providerId=password", "!providerUserInfo.1"]
        try await sdk.call("accounts:update", update + #""deleteProvider":["facebook.com"]"#, Conversation.same + left)
        let link = sdk.byFacebook + "," + Self.session
        try await sdk.call(path, link, Conversation.same + found)
        try await sdk.lookUp(["users.0.providerUserInfo.1.providerId=facebook.com"])
        try await sdk.call("accounts:signUp", #""returnSecureToken":true"#, Conversation.signedIn)
        guard isApple else { return try await sdk.expect("FEDERATED_USER_ID_ALREADY_LINKED", of: path, link) }
        // The error of the SDK for iOS has the address, and the credential by which the user can log in.
        let taken = ["errorMessage=FEDERATED_USER_ID_ALREADY_LINKED", "email={email}", "!idToken"]
        try await sdk.call(path, link, taken + found)
    }

    @Test("a form of iOS is not encoded, so it may have the user's name as it is")
    func form() async throws {
        var sdk = try await begin(true)
        let name = #"{token}&user={\"name\":{\"firstName\":\"Änne 5% & \"}}"#
        let login = sdk.byFacebook.replacing("{token}", with: name)
        try await sdk.call("accounts:signInWithIdp", login, Conversation.signedIn + Conversation.facebook)
    }

    @Test("Facebook's credential with the address of an account is linked after a login", arguments: [false, true])
    func conflict(isApple: Bool) async throws {
        var sdk = try await begin(isApple)
        try await sdk.call("accounts:signUp", Self.user, Conversation.signedIn)
        let refused = ["needConfirmation=true", "email={email}", "!idToken", "!refreshToken"]
        try await sdk.call("accounts:signInWithIdp", sdk.byFacebook, refused + Conversation.facebook)
        try await sdk.call("accounts:signInWithPassword", Self.user, Conversation.same + ["email={email}"])
        try await sdk.lookUp(["!users.0.providerUserInfo.1"])
        let link = sdk.byFacebook + "," + Self.session
        try await sdk.call("accounts:signInWithIdp", link, Conversation.same + Conversation.facebook)
        try await sdk.lookUp(["users.0.providerUserInfo.1.providerId=facebook.com"])
    }

    @Test("an anonymous user is upgraded by a password, or by Facebook", arguments: [false, true], [false, true])
    func guest(isApple: Bool, isFacebook: Bool) async throws {
        var sdk = try await begin(isApple)
        try await sdk.call("accounts:signUp", #""returnSecureToken":true"#, Conversation.signedIn)
        // The SDK for the web takes a user for anonymous who has neither a provider nor an address with a password.
        try await sdk.lookUp(["!users.0.email", "!users.0.passwordHash", "!users.0.providerUserInfo.0"])
        let link = Self.session + "," + (isFacebook ? sdk.byFacebook : Self.user)
        let reads = Conversation.same + (isFacebook ? Conversation.facebook : [])
        try await sdk.call(isFacebook ? "accounts:signInWithIdp" : "accounts:signUp", link, reads)
        let id = isFacebook ? "facebook.com" : "password"
        try await sdk.lookUp(["users.0.providerUserInfo.0.providerId=\(id)", "users.0.email={email}"])
        try await sdk.refresh()
    }

    @Test("mailed codes confirm the address, and set a new password", arguments: [false, true])
    func mailedCodes(isApple: Bool) async throws {
        var sdk = Conversation(isApple: isApple, client)
        try await sdk.call("accounts:signUp", Self.user, Conversation.signedIn)
        let settings = isApple ? #","iOSBundleId":"com.example.canary","canHandleCodeInApp":true"# : ""
        func mail(_ type: String, _ members: String) -> String {
            #""requestType":"\#(type)","clientType":"{client}","continueUrl":"{page}/done",\#(members)\#(settings)"#
        }
        // The SDK for the web loads the user anew if the address is another. Nobody but administrators gets the code.
        let sent = ["email={email}", "!oobCode"]
        try await sdk.call("accounts:sendOobCode", mail("VERIFY_EMAIL", Self.session), sent)
        try await sdk.open("verifyEmail")
        try await sdk.call("accounts:update", Self.code, ["email={email}"])
        try await sdk.lookUp(["users.0.emailVerified=true"])
        try await sdk.call("accounts:sendOobCode", mail("PASSWORD_RESET", #""email":"{email}""#), sent)
        try await sdk.open("resetPassword")
        let facts = ["requestType=PASSWORD_RESET", "email={email}", "!newEmail"]
        try await sdk.call("accounts:resetPassword", Self.code, facts)
        try await sdk.call("accounts:resetPassword", Self.code + #","newPassword":"{new}""#, facts)
        try await sdk.call("accounts:signInWithPassword", Self.renewed, Conversation.same + ["email={email}"])
        try await sdk.lookUp(["users.0.email={email}"])
    }

    @Test("a mailed link logs in, or upgrades an anonymous user", arguments: [false, true], [false, true])
    func mailedLogin(isApple: Bool, isLink: Bool) async throws {
        var sdk = Conversation(isApple: isApple, client)
        if isLink { try await sdk.call("accounts:signUp", #""returnSecureToken":true"#, Conversation.signedIn) }
        let mail = #""requestType":"EMAIL_SIGNIN","email":"{email}","clientType":"{client}""#
        let settings = #","continueUrl":"{page}/finish?cart=7#top","canHandleCodeInApp":true"#
        try await sdk.call("accounts:sendOobCode", mail + settings, ["email={email}"])
        try await sdk.open("signIn")
        let login = #""email":"{email}","# + Self.code + (isLink ? "," + Self.session : "")
        let user = isLink ? Conversation.same : Conversation.signedIn + ["isNewUser=true"]
        try await sdk.call("accounts:signInWithEmailLink", login, user + ["email={email}"])
        try await sdk.lookUp(["users.0.emailVerified=true", "users.0.providerUserInfo.0.providerId=password"])
    }

    @Test("a second factor is enrolled, resolves a login, and is withdrawn", arguments: [false, true])
    func secondFactor(isApple: Bool) async throws {
        var sdk = Conversation(isApple: isApple, client)
        try await sdk.call("accounts:signUp", Self.user, Conversation.signedIn)
        let begin = Self.session + #","totpEnrollmentInfo":{}"#
        let begun = try await sdk.call("accounts/mfaEnrollment:start", begin, ["totpSessionInfo.sessionInfo"])
        let info = try #require(begun["totpSessionInfo"]?.object)
        #expect(info["verificationCodeLength"]?.integer == 6 && info["periodSec"]?.integer == 30)
        // The SDK for iOS reads no time without a fraction of a second.
        #expect(info["finalizeEnrollmentTime"]?.string?.hasSuffix(".000Z") == true)
        let address = "secret=" + (info["sharedSecretKey"]?.string ?? "")
        let app = try AuthenticatorApp(["id": .string("app"), "otpauth": .string(address)])
        sdk.known["enrolment"] = info["sessionInfo"]?.string
        sdk.known["digits"] = app.code(-1)
        let totp = #","totpVerificationInfo":{"sessionInfo":"{enrolment}","verificationCode":"{digits}"}"#
        let end = Self.session + #","displayName":"My phone""# + totp
        try await sdk.call("accounts/mfaEnrollment:finalize", end, ["idToken", "refreshToken"])
        let named = ["users.0.mfaInfo.0.displayName=My phone", "!users.0.mfaInfo.0.phoneInfo"]
        let enrolled = try await sdk.lookUp(["users.0.mfaInfo.0.mfaEnrollmentId"] + named)
        #expect(enrolled.value(at: "users.0.mfaInfo.0.enrolledAt")?.string?.hasSuffix(".000Z") == true)
        let waits = ["mfaPendingCredential", "mfaInfo.0.mfaEnrollmentId", "!idToken", "!refreshToken"]
        let pending = try await sdk.call("accounts:signInWithPassword", Self.user, waits)
        #expect(pending.value(at: "mfaInfo.0.totpInfo") == .object([:]))
        sdk.known["factor"] = pending.value(at: "mfaInfo.0.mfaEnrollmentId")?.string
        sdk.known["digits"] = app.code()
        let byID = #""mfaEnrollmentId":"{factor}""#
        let answer = #","mfaPendingCredential":"{pending}","totpVerificationInfo":{"verificationCode":"{digits}"}"#
        try await sdk.call("accounts/mfaSignIn:finalize", byID + answer, ["idToken", "refreshToken"])
        try await sdk.lookUp(["users.0.mfaInfo.0.mfaEnrollmentId={factor}"])
        try await sdk.call("accounts/mfaEnrollment:withdraw", Self.session + "," + byID, ["idToken", "refreshToken"])
        try await sdk.lookUp(["!users.0.mfaInfo"])
    }
}
