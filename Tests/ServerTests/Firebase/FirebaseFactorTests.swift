import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Second factors of Firebase's clients",
    .serialized,
    .deployed(
        Document(
            keyVariable: "OTHER_API_KEY",
            settings: #"{\#(FirebaseClient.settings), "secondFactor": {"policy": "optional", "factors": ["totp"]}}"#,
            mapping: #"{"email": "email", "name": "name"}"#
        ),
        environment: ["FEDERATION_PUBLIC_URL": "https://users.example.com"]
    )
)
struct FirebaseFactorTests {
    let deployment: Deployment
    let client: FirebaseClient

    init() throws {
        deployment = try Deployment.current
        client = FirebaseClient(deployment: deployment)
    }

    private func call(_ path: String, _ json: String) async throws -> HTTPReply {
        try await client.send("accounts/\(path)", json, version: "v2")
    }

    /// Enrols an authenticator app by the calls of the SDK.
    private func enrol(_ signedIn: JSONObject) async throws -> (app: AuthenticatorApp, after: JSONObject) {
        let begun = try await call(
            "mfaEnrollment:start",
            #"{"idToken": "\#(signedIn.idToken)", "totpEnrollmentInfo": {}}"#
        )
        let info = try #require(JSON.object(begun.text)?["totpSessionInfo"]?.object, "\(begun.text)")
        #expect(info["verificationCodeLength"]?.integer == 6 && info["periodSec"]?.integer == 30)
        #expect(info["finalizeEnrollmentTime"]?.string?.hasSuffix("Z") == true)
        let app = try AuthenticatorApp([
            "id": .string("app"), "otpauth": .string("secret=" + (info["sharedSecretKey"]?.string ?? "")),
        ])
        let session = info["sessionInfo"]?.string ?? ""
        func finalize(_ code: String) async throws -> HTTPReply {
            try await call(
                "mfaEnrollment:finalize",
                """
                {"idToken": "\(signedIn.idToken)", "displayName": "app",
                 "totpVerificationInfo": {"sessionInfo": "\(session)", "verificationCode": "\(code)"}}
                """
            )
        }
        let wrong = try await finalize(app.wrongCode)
        #expect(wrong.status == 400 && FirebaseClient.error(wrong) == "INVALID_CODE", "\(wrong.text)")
        let done = try await finalize(app.code(-1))
        let after = try #require(JSON.object(done.text), "\(done.text)")
        #expect(done.status == 200 && after["totpAuthInfo"] != nil, "\(done.text)")
        return (app, after)
    }

    @Test("a backend sees the factors of a user, keeps those that it names, and removes the others")
    func backend() async throws {
        let email = "mfa\(UInt32.random(in: 0 ... .max)).canary@example.com"
        let body = #"{"email": "\#(email)", "password": "canary-8-letters"}"#
        let signedIn = try await client.call("accounts:signUp", body)
        _ = try await enrol(signedIn)
        let backend = try await FirebaseBackend(deployment)
        let id = try #require(signedIn["localId"]?.string)
        let factor = try #require(try await backend.user(id)["mfaInfo"]?.array?.first?.object)
        let kept = #"{"mfaEnrollmentId": "\#(factor["mfaEnrollmentId"]?.string ?? "")"}"#
        try await backend.call("/accounts:update", #"{"localId": "\#(id)", "mfa": {"enrollments": [\#(kept)]}}"#)
        #expect(try await client.call("accounts:signInWithPassword", body)["mfaPendingCredential"] != nil)
        // A login with a custom token asks for no second factor: the backend is responsible for it.
        let token = try backend.sign(backend.custom(id))
        #expect(try await client.call("accounts:signInWithCustomToken", #"{"token": "\#(token)"}"#)["idToken"] != nil)
        try await backend.call("/accounts:update", #"{"localId": "\#(id)", "mfa": {"enrollments": null}}"#)
        #expect(try await backend.user(id)["mfaInfo"] == nil)
        #expect(try await client.call("accounts:signInWithPassword", body)["idToken"] != nil)
    }

    @Test("an app is enrolled, asked for at the next login by password and by Facebook, and withdrawn")
    func totp() async throws {
        let email = "mfa\(UInt32.random(in: 0 ... .max)).canary@example.com"
        let body = #"{"email": "\#(email)", "password": "canary-8-letters"}"#
        let signedIn = try await client.call("accounts:signUp", body)
        let visitor = try await deployment.newcomer(#"{"first_name": "Ann"}"#)
        _ = try await client.signIn(visitor, #""idToken": "\#(signedIn.idToken)""#)
        let (app, after) = try await enrol(signedIn)
        let factor = try #require(try await client.lookUp(after)["mfaInfo"]?.array?.first?.object)
        #expect(factor["totpInfo"] != nil && factor["phoneInfo"] == nil && factor["enrolledAt"]?.string != nil)
        let pending = try await client.call("accounts:signInWithPassword", body)
        #expect(pending["idToken"] == nil && pending["refreshToken"] == nil && pending["expiresIn"] == nil)
        let hint = try #require(pending["mfaInfo"]?.array?.first?.object)
        // The SDKs read the time when they ask for the code. The user's name for the factor is not told yet.
        #expect(hint["mfaEnrollmentId"] == factor["mfaEnrollmentId"] && hint["totpInfo"] != nil)
        #expect(hint["enrolledAt"] == factor["enrolledAt"] && hint["displayName"] == nil)
        let byFacebook = try await client.signIn(visitor)
        #expect(byFacebook["idToken"] == nil && byFacebook["mfaPendingCredential"]?.string != nil)
        #expect(byFacebook["oauthAccessToken"]?.string == visitor.token)
        let credential = try #require(pending["mfaPendingCredential"]?.string)
        func finish(_ credential: String, _ code: String) async throws -> HTTPReply {
            try await call(
                "mfaSignIn:finalize",
                """
                {"mfaPendingCredential": "\(credential)", "mfaEnrollmentId": "\(hint["mfaEnrollmentId"]?.string ?? "")",
                 "totpVerificationInfo": {"verificationCode": "\(code)"}}
                """
            )
        }
        #expect(FirebaseClient.error(try await finish(credential, app.wrongCode)) == "INVALID_CODE")
        #expect(
            FirebaseClient.error(try await finish("x" + credential, app.code())) == "INVALID_MFA_PENDING_CREDENTIAL"
        )
        let code = app.code()
        let finished = try await finish(credential, code)
        let result = try #require(JSON.object(finished.text), "\(finished.text)")
        #expect(finished.status == 200 && result["expiresIn"] == nil, "\(finished.text)")
        #expect(result.claims["firebase"]?.object?["sign_in_second_factor"]?.string == "totp")
        let refreshed = try await client.refresh(result.refreshToken)
        let second = JSON.object(refreshed.text)?.claims["firebase"]?.object?["sign_in_second_factor"]?.string
        #expect(second == "totp", "a refresh keeps the second factor")
        // A mail to a new address needs a factor of the last five minutes; then only the mails are missing here.
        let change = """
            {"requestType": "VERIFY_AND_CHANGE_EMAIL", "idToken": "\(result.idToken)", "newEmail": "new.\(email)"}
            """
        let age = "update demo.sessions set factor_proved = now() - interval "
        try await deployment.database.psql(age + "'6 minutes' where factor_proved is not null")
        try await client.expect("CREDENTIAL_TOO_OLD_LOGIN_AGAIN", of: "accounts:sendOobCode", change)
        try await deployment.database.psql(age + "'0' where factor_proved is not null")
        try await client.expect("OPERATION_NOT_ALLOWED", of: "accounts:sendOobCode", change)
        // Neither the pending login nor the code counts a second time.
        #expect(try await finish(credential, code).status == 400)
        let withdrawn = try await call(
            "mfaEnrollment:withdraw",
            #"{"idToken": "\#(result.idToken)", "mfaEnrollmentId": "\#(hint["mfaEnrollmentId"]?.string ?? "")"}"#
        )
        let left = try #require(JSON.object(withdrawn.text), "\(withdrawn.text)")
        #expect(withdrawn.status == 200 && !left.refreshToken.isEmpty, "\(withdrawn.text)")
        #expect(try await client.lookUp(left)["mfaInfo"] == nil)
        #expect(try await client.call("accounts:signInWithPassword", body)["idToken"] != nil)
    }

    @Test("calls that are wrong have the names of errors that the SDKs know")
    func rubbish() async throws {
        let guest = try await client.guest()
        for (path, json, error) in [
            ("mfaSignIn:finalize", "{}", "MISSING_CODE"),
            (
                "mfaSignIn:finalize", #"{"totpVerificationInfo": {"verificationCode": "1"}}"#,
                "MISSING_MFA_ENROLLMENT_ID"
            ),
            (
                "mfaSignIn:start", #"{"mfaEnrollmentId": "\#(guest["localId"]?.string ?? "")"}"#,
                "MISSING_MFA_PENDING_CREDENTIAL"
            ),
            ("mfaEnrollment:start", "{}", "MISSING_ID_TOKEN"),
            ("mfaEnrollment:start", #"{"idToken": "\#(guest.idToken)"}"#, "OPERATION_NOT_ALLOWED"),
            (
                "mfaEnrollment:start",
                #"{"idToken": "\#(guest.idToken)", "phoneEnrollmentInfo": {"phoneNumber": "+41791234567"}}"#,
                "OPERATION_NOT_ALLOWED"
            ),
            (
                "mfaEnrollment:withdraw", #"{"idToken": "\#(guest.idToken)", "mfaEnrollmentId": "x"}"#,
                "MFA_ENROLLMENT_NOT_FOUND"
            ),
        ] {
            let reply = try await call(path, json)
            #expect(FirebaseClient.error(reply) == error, "\(path) \(json): \(reply.text)")
        }
    }
}
