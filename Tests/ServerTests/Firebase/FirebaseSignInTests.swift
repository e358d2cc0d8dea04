import Crypto
import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Sign-in of Firebase's clients",
    .serialized,
    .deployed(
        Document(
            keyVariable: "OTHER_API_KEY",
            settings: "{\(FirebaseClient.settings)}",
            properties: """
                {"photoUrl": {"type": "STRING", "clientMappable": true}, "givenName": {"type": "STRING"},
                 "team": {"type": "STRING"}}
                """,
            mapping: #"{"email": "email", "name": "name", "picture.data.url": "photoUrl"}"#
        ),
        Document(application: "silent", hasServerKey: true),
        environment: Issuers.environment
    )
)
struct FirebaseSignInTests {
    let deployment: Deployment
    let client: FirebaseClient

    init() throws {
        deployment = try Deployment.current
        client = FirebaseClient(deployment: deployment)
    }

    private func visitor(_ email: String? = nil) async throws -> Visitor {
        let email = email ?? "fb\(UInt32.random(in: 0 ... .max)).canary@example.com"
        return try await deployment.newcomer(#"{"email": "\#(email)", "name": "Ann Canary"}"#)
    }

    @Test(
        "Facebook's access token signs in, is looked up, and is the same user by Backendless' protocol",
        arguments: [
            false, true,
        ]
    )
    func facebook(isFormer: Bool) async throws {
        var client = client
        client.isFormer = isFormer
        let visitor = try await visitor()
        let first = try await client.signIn(visitor)
        #expect(first["kind"]?.string == "identitytoolkit#VerifyAssertionResponse")
        #expect(first["providerId"]?.string == "facebook.com")
        #expect(first["federatedId"]?.string == "http://facebook.com/\(visitor.id)")
        #expect(first["oauthAccessToken"]?.string == visitor.token)
        #expect(first["isNewUser"]?.bool == true && first["expiresIn"]?.string == "3600")
        let profile = try #require(first["rawUserInfo"]?.string.flatMap { JSON.object($0) })
        #expect(profile["id"]?.string == visitor.id)
        for absent in ["needConfirmation", "errorMessage", "mfaPendingCredential"] { #expect(first[absent] == nil) }
        let claims = first.claims
        #expect(claims["iss"]?.string == "https://securetoken.google.com/canary-project")
        #expect(claims["aud"]?.string == "canary-project" && claims["sub"] == first["localId"])
        #expect(claims["name"]?.string == "Ann Canary" && claims["email_verified"]?.bool == false)
        let firebase = try #require(claims["firebase"]?.object)
        #expect(firebase["sign_in_provider"]?.string == "facebook.com")
        #expect(
            firebase["identities"]?.object?["facebook.com"] == .array([.string(visitor.id)]),
            "\(firebase)"
        )
        let user = try await client.lookUp(first)
        #expect(user["localId"] == first["localId"] && user["displayName"]?.string == "Ann Canary")
        let provider = try #require(user["providerUserInfo"]?.array?.first?.object)
        #expect(provider["rawId"]?.string == visitor.id && provider["federatedId"]?.string == visitor.id)
        #expect(user["createdAt"]?.string != nil && user["lastLoginAt"]?.string != nil)
        let again = try await client.signIn(visitor)
        #expect(again["localId"] == first["localId"] && again["isNewUser"] == nil)
        let backendless = try await deployment.loggedIn(visitor)
        #expect(backendless.objectID == first["localId"]?.string && !backendless.created)
        let users = "select count(distinct object_id) from demo.identities where subject = '\(visitor.id)'"
        #expect(try await deployment.value(users) == "1")
    }

    @Test("the first token says that an address is confirmed if the issuer owns it and the operator says so")
    func confirmedAddress() async throws {
        let issuers = Issuers(deployment: deployment)
        try await issuers.make("owner", "", #""confirmEmail": true, "emailDomains": ["owner.example"]"#)
        for (subject, domain, isVerified, isConfirmed) in [
            ("c1", "owner.example", true, true), ("c2", "owner.example", false, false),
            ("c3", "other.example", true, false),
        ] {
            let address = "\(subject).canary@\(domain)"
            let claims = #"{"sub": "\#(subject)", "email": "\#(address)", "email_verified": \#(isVerified)}"#
            let token = try await issuers.token("owner", #""claims": \#(claims)"#)
            let first = try await client.call(
                "accounts:signInWithIdp",
                #"{"requestUri": "http://localhost", "postBody": "id_token=\#(token)&providerId=oidc.owner"}"#
            )
            #expect(first["isNewUser"]?.bool == true && first["email"]?.string == address, "\(first)")
            #expect(first.claims["email_verified"]?.bool == isConfirmed, "\(address)")
            #expect(try await client.lookUp(first)["emailVerified"]?.bool == isConfirmed, "\(address)")
        }
    }

    @Test("Limited Login needs the raw nonce, whose hash the token has")
    func limitedLogin() async throws {
        let visitor = try await visitor()
        // The SHA-256 of "raw canary nonce" in hex, as the SDK for iOS sends it to Facebook.
        let nonce = Hexadecimal.encode(SHA256.hash(data: Array("raw canary nonce".utf8)))
        func body(_ more: String) async throws -> String {
            let token = try await deployment.idToken(of: visitor, #""nonce": "\#(nonce)""#)
            return """
                {"requestUri": "http://localhost", "returnSecureToken": true,
                 "postBody": "id_token=\(token)&providerId=facebook.com\(more)"}
                """
        }
        // Whoever has copied the token knows the hash in it, and not the nonce.
        for more in ["", "&nonce=", "&nonce=other", "&nonce=\(nonce)"] {
            try await client.expect("MISSING_OR_INVALID_NONCE", of: "accounts:signInWithIdp", try await body(more))
        }
        let copied = try await deployment.idToken(of: visitor, #""nonce": "\#(nonce)""#)
        let reply = try await client.facebook(copied)
        #expect(FirebaseClient.error(reply) == "MISSING_OR_INVALID_NONCE", "an ID token as access token: \(reply.text)")
        let signedIn = try await client.call("accounts:signInWithIdp", try await body("&nonce=raw%20canary%20nonce"))
        #expect(signedIn["oauthIdToken"]?.string != nil && signedIn["oauthAccessToken"] == nil)
    }

    @Test("a password signs up, in, and out of nothing that reveals an account")
    func password() async throws {
        let email = "Pw\(UInt32.random(in: 0 ... .max)).Canary@example.com"
        let body = #"{"returnSecureToken": true, "email": "\#(email)", "password": "canary-8-letters"}"#
        let created = try await client.call("accounts:signUp", body)
        #expect(created["kind"]?.string == "identitytoolkit#SignupNewUserResponse")
        #expect(created["email"]?.string == email.lowercased())
        try await client.expect("EMAIL_EXISTS", of: "accounts:signUp", body)
        let signedIn = try await client.call("accounts:signInWithPassword", body)
        #expect(signedIn["localId"] == created["localId"] && signedIn["registered"]?.bool == true)
        #expect(signedIn["displayName"]?.string == "")
        let user = try await client.lookUp(signedIn)
        #expect(user["passwordHash"]?.string == "UkVEQUNURUQ=" && user["emailVerified"]?.bool == false)
        #expect(signedIn.claims["firebase"]?.object?["sign_in_provider"]?.string == "password")
        for (json, error) in [
            (#"{"email": "\#(email)", "password": "wrong"}"#, "INVALID_LOGIN_CREDENTIALS"),
            (#"{"email": "nobody.canary@example.com", "password": "wrong"}"#, "INVALID_LOGIN_CREDENTIALS"),
            (#"{"email": "\#(email)"}"#, "MISSING_PASSWORD"), (#"{"password": "x"}"#, "MISSING_EMAIL"),
            (#"{"email": "no address", "password": "x"}"#, "INVALID_EMAIL"),
        ] {
            try await client.expect(error, of: "accounts:signInWithPassword", json)
        }
        try await client.expect(
            "WEAK_PASSWORD",
            of: "accounts:signUp",
            #"{"email": "weak.canary@example.com", "password": "short"}"#
        )
        let hidden = try await client.call(
            "accounts:createAuthUri",
            #"{"identifier": "\#(email)", "continueUri": "http://localhost"}"#
        )
        #expect(hidden["registered"] == nil && hidden["signinMethods"] == nil && hidden["sessionId"]?.string != nil)
    }

    @Test("a guest becomes a user by a link of Facebook, or by a password, and keeps the localId")
    func guest() async throws {
        let guest = try await client.guest()
        #expect(guest.claims["provider_id"]?.string == "anonymous")
        let user = try await client.lookUp(guest)
        #expect(user["email"] == nil && user["passwordHash"] == nil && user["providerUserInfo"] == .array([]))
        let visitor = try await visitor()
        let linked = try await client.signIn(visitor, #""idToken": "\#(guest.idToken)""#)
        #expect(linked["localId"] == guest["localId"] && !linked.refreshToken.isEmpty)
        #expect(linked.claims["firebase"]?.object?["identities"]?.object?["facebook.com"] != nil)
        #expect(linked.claims["firebase"]?.object?["sign_in_provider"]?.string == "facebook.com")
        #expect(linked.claims["provider_id"] == nil, "the user is no guest any more")
        let second = try await client.guest()
        let upgraded = try await client.call(
            "accounts:signUp",
            """
            {"idToken": "\(second.idToken)", "email": "up\(UInt32.random(in: 0 ... .max)).canary@example.com",
             "password": "canary-8-letters"}
            """
        )
        #expect(upgraded["localId"] == second["localId"])
        #expect(upgraded.claims["firebase"]?.object?["sign_in_provider"]?.string == "password")
    }

    @Test("D6, T-35: an identity or an address of somebody else is never taken over, and the client learns what to do")
    func conflicts() async throws {
        let owner = try await visitor()
        _ = try await client.signIn(owner)
        let guest = try await client.guest()
        let link = #""idToken": "\#(guest.idToken)""#
        let refused = try await client.facebook(owner.token, link)
        #expect(refused.status == 400 && FirebaseClient.error(refused) == "FEDERATED_USER_ID_ALREADY_LINKED")
        let told = try await client.signIn(owner, #"\#(link), "returnIdpCredential": true"#)
        #expect(told["errorMessage"]?.string == "FEDERATED_USER_ID_ALREADY_LINKED" && told["idToken"] == nil)
        #expect(told["oauthAccessToken"]?.string == owner.token)
        // The address of an account, at Facebook: the user must log in to that account, and link.
        let email = "planted\(UInt32.random(in: 0 ... .max)).canary@example.com"
        let account = try await client.call(
            "accounts:signUp",
            #"{"email": "\#(email)", "password": "canary-8-letters"}"#
        )
        let planted = try await visitor(email)
        let asked = try await client.signIn(planted)
        #expect(asked["needConfirmation"]?.bool == true && asked["idToken"] == nil && asked["refreshToken"] == nil)
        #expect(asked["email"]?.string == email && asked["oauthAccessToken"]?.string == planted.token)
        let linked = try await client.signIn(planted, #""idToken": "\#(account.idToken)""#)
        #expect(linked["localId"] == account["localId"] && linked["needConfirmation"] == nil)
    }

    @Test(
        "a Limited Login that asks about an account can be linked by the same token; a provider's user gets a password"
    )
    func linkAfterConflict() async throws {
        let email = "limited\(UInt32.random(in: 0 ... .max)).canary@example.com"
        let account = try await client.call(
            "accounts:signUp",
            #"{"email": "\#(email)", "password": "canary-8-letters"}"#
        )
        let planted = try await visitor(email)
        let nonce = Hexadecimal.encode(SHA256.hash(data: Array("raw".utf8)))
        let token = try await deployment.idToken(of: planted, #""nonce": "\#(nonce)""#)
        func body(_ more: String) -> String {
            """
            {"requestUri": "http://localhost", "postBody": "id_token=\(token)&providerId=facebook.com&nonce=raw"\(more)}
            """
        }
        let asked = try await client.call("accounts:signInWithIdp", body(""))
        #expect(asked["needConfirmation"]?.bool == true && asked["nonce"]?.string == "raw")
        let linked = try await client.call("accounts:signInWithIdp", body(#", "idToken": "\#(account.idToken)""#))
        #expect(linked["localId"] == account["localId"])
        try await client.expect("INVALID_IDP_RESPONSE", of: "accounts:signInWithIdp", body(""))
        let other = try await client.signIn(try await visitor())
        let added = "added\(UInt32.random(in: 0 ... .max)).canary@example.com"
        let credential = #""email": "\#(added)", "password": "canary-8-letters""#
        let upgraded = try await client.call("accounts:signUp", #"{"idToken": "\#(other.idToken)", \#(credential)}"#)
        #expect(upgraded["localId"] == other["localId"])
        let signedIn = try await client.call("accounts:signInWithPassword", "{\(credential)}")
        #expect(signedIn["localId"] == other["localId"])
    }

    @Test("an update of which a part cannot be read unlinks nothing")
    func unreadableUpdate() async throws {
        let user = try await client.signIn(try await visitor())
        let email = "kept\(UInt32.random(in: 0 ... .max)).canary@example.com"
        let password = #""email": "\#(email)", "password": "canary-8-letters""#
        let signedIn = try await client.call("accounts:signUp", #"{"idToken": "\#(user.idToken)", \#(password)}"#)
        for (members, error) in [
            (#""deleteProvider": ["facebook.com"], "displayName": {}"#, "INVALID_ARGUMENT"),
            (#""deleteProvider": ["facebook.com", "what"]"#, "INVALID_PROVIDER_ID"),
        ] {
            try await client.expect(
                error,
                of: "accounts:update",
                #"{"idToken": "\#(signedIn.idToken)", \#(members)}"#
            )
        }
        #expect(try await client.lookUp(signedIn)["providerUserInfo"]?.array?.count == 2)
    }

    @Test("reauthentication creates nobody, and does not log anybody out")
    func reauthentication() async throws {
        let stranger = try await visitor()
        let before = try await deployment.value("select count(*) from demo.users")
        let reply = try await client.facebook(stranger.token, #""autoCreate": false"#)
        #expect(reply.status == 400 && FirebaseClient.error(reply) == "EMAIL_NOT_FOUND")
        #expect(try await deployment.value("select count(*) from demo.users") == before)
        let known = try await client.signIn(stranger)
        let again = try await client.signIn(stranger, #""autoCreate": false"#)
        #expect(again["localId"] == known["localId"])
    }

    @Test("calls that are wrong have the names of errors that the SDKs know, and write nothing")
    func rubbish() async throws {
        let idp = "accounts:signInWithIdp"
        try await deployment.expectNothingWritten {
            for (call, json, error) in [
                (idp, #"{"postBody": "providerId=facebook.com&access_token=x"}"#, "MISSING_REQUEST_URI"),
                (idp, #"{"requestUri": "x", "postBody": "a=b"}"#, "INVALID_REQUEST_URI"),
                (idp, #"{"requestUri": "http://localhost"}"#, "INVALID_CREDENTIAL_OR_PROVIDER_ID"),
                (idp, #"{"requestUri": "http://localhost", "postBody": "a=b"}"#, "INVALID_CREDENTIAL_OR_PROVIDER_ID"),
                (
                    idp, #"{"requestUri": "http://localhost", "postBody": "providerId=google.com&id_token=x"}"#,
                    "OPERATION_NOT_ALLOWED"
                ),
                (
                    idp, #"{"requestUri": "http://localhost", "postBody": "providerId=facebook.com&access_token=x"}"#,
                    "INVALID_IDP_RESPONSE"
                ),
                ("accounts:lookup", "{}", "MISSING_ID_TOKEN"),
                ("accounts:lookup", #"{"idToken": "eyJh.e30.AAAA"}"#, "INVALID_ID_TOKEN"),
                ("accounts:update", #"{"displayName": "x"}"#, "INVALID_REQ_TYPE"),
                ("accounts:update", #"{"customAttributes": "{}"}"#, "INSUFFICIENT_PERMISSION"),
                ("accounts:delete", "{}", "MISSING_ID_TOKEN"), ("accounts:lookup", "[]", "INVALID_ARGUMENT"),
                ("accounts:lookup", #"{"idToken": {}}"#, "INVALID_ARGUMENT"),
            ] {
                try await client.expect(error, of: call, json)
            }
        }
        let unknown = try await client.send("accounts:doesNotExist", "{}")
        #expect(FirebaseClient.error(unknown) == "NOT_FOUND")
        #expect(unknown.status == 404 && JSON.object(unknown.text)?["error"]?.object?["code"]?.integer == 404)
        var other = client
        other.key = Canary.serverAPIKey
        try await other.expect("CONFIGURATION_NOT_FOUND", of: "accounts:signUp", "{}")
        other.key = ""
        let keyless = try await other.send("accounts:signUp", "{}")
        #expect(
            keyless.status == 400 && keyless.text.contains("INVALID_ARGUMENT") && keyless.text.contains("keyInvalid")
        )
        let large = try await client.send(
            "accounts:lookup",
            #"{"idToken": "\#(String(repeating: "a", count: 200_000))"}"#
        )
        #expect(large.status == 413, "\(large.status)")
    }
}
