import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// A client that calls the service as the SDK of Firebase for the web does.
struct FirebaseClient {
    let deployment: Deployment
    /// A key of one application alone: the tests' other applications share ``Canary/apiKey``.
    var key = Canary.otherAPIKey
    /// Whether the client calls the paths of the former version, as the SDK for iOS does.
    var isFormer = false

    /// The project of the tests' application.
    static let project = "canary-project"
    static let settings = #""firebase": {"projectId": "canary-project"}, "passwords": {"minLength": 8}"#

    /// The path of the former version, before the name of a call.
    static let formerBase = "/www.googleapis.com/identitytoolkit/v3/relyingparty/"
    /// The former names of calls.
    static let formerNames = [
        "accounts:signUp": "signupNewUser", "accounts:signInWithPassword": "verifyPassword",
        "accounts:signInWithIdp": "verifyAssertion", "accounts:lookup": "getAccountInfo",
        "accounts:update": "setAccountInfo", "accounts:delete": "deleteAccount",
        "accounts:signInWithCustomToken": "verifyCustomToken", "accounts:signInWithEmailLink": "emailLinkSignin",
        "accounts:sendOobCode": "getOobConfirmationCode", "accounts:resetPassword": "resetPassword",
    ]

    /// Sends a call, and returns the response.
    func send(_ call: String, _ json: String, method: String = "POST", version: String = "v1") async throws -> HTTPReply
    {
        let former = isFormer ? Self.formerNames[call] : nil
        let base =
            former.map { Self.formerBase + $0 } ?? "/identitytoolkit.googleapis.com/\(version)/\(call)"
        return try await deployment.client.send(
            method,
            "\(base)?key=\(key)",
            headers: [
                ("Content-Type", "application/json"), ("X-Client-Version", "Node/JsCore/12.18.0/FirebaseCore-web"),
            ],
            body: Array(json.utf8)
        )
    }

    /// Sends a call and requires success.
    @discardableResult
    func call(_ call: String, _ json: String) async throws -> JSONObject {
        let reply = try await send(call, json)
        try #require(reply.status == 200, "\(call): \(reply.text)")
        return try #require(JSON.object(reply.text))
    }

    /// Sends a call and expects an error, such as `INVALID_ID_TOKEN`.
    func expect(_ error: String, of call: String, _ json: String) async throws {
        let reply = try await send(call, json)
        #expect(reply.status == 400, "\(call): \(reply.text)")
        #expect(Self.error(reply) == error, "\(call): \(reply.text)")
    }

    /// Returns the name of the error in a response.
    static func error(_ reply: HTTPReply) -> String? {
        let error = JSON.object(reply.text)?["error"]?.object
        return error?["message"]?.string.map { String($0.split(separator: " ").first ?? "") }
    }

    // MARK: Sign-in

    /// Signs a user of Facebook in by an access token, in the form that the SDK for the web sends.
    func facebook(_ token: String, _ members: String = "") async throws -> HTTPReply {
        let members = members.isEmpty ? "" : ", " + members
        return try await send(
            "accounts:signInWithIdp",
            """
            {"requestUri": "http://localhost", "returnSecureToken": true,
             "postBody": "&access_token=\(token)&providerId=facebook.com"\(members)}
            """
        )
    }

    func signIn(_ visitor: Visitor, _ members: String = "") async throws -> JSONObject {
        let reply = try await facebook(visitor.token, members)
        try #require(reply.status == 200, "\(reply.text)")
        return try #require(JSON.object(reply.text))
    }

    /// Signs a guest up.
    func guest() async throws -> JSONObject { try await call("accounts:signUp", #"{"returnSecureToken": true}"#) }

    func lookUp(_ signedIn: JSONObject) async throws -> JSONObject {
        let reply = try await call("accounts:lookup", #"{"idToken": "\#(signedIn.idToken)"}"#)
        let users = try #require(reply["users"]?.array)
        #expect(users.count == 1)
        return try #require(users.first?.object)
    }

    /// Uses a refresh token, as the SDK for the web or for iOS does.
    func refresh(_ token: String, asJSON: Bool = false) async throws -> HTTPReply {
        let body =
            asJSON
            ? #"{"grantType": "refresh_token", "refreshToken": "\#(token)"}"#
            : "grant_type=refresh_token&refresh_token=\(token)"
        let type = asJSON ? "application/json" : "application/x-www-form-urlencoded"
        return try await deployment.client.send(
            "POST",
            "/securetoken.googleapis.com/v1/token?key=\(key)",
            headers: [("Content-Type", type)],
            body: Array(body.utf8)
        )
    }
}

extension JSONObject {
    /// The ID token of a response, or of a refresh.
    var idToken: String { self["idToken"]?.string ?? self["id_token"]?.string ?? "" }
    var refreshToken: String { self["refreshToken"]?.string ?? self["refresh_token"]?.string ?? "" }

    /// The id of the key that signed the ID token.
    var keyID: String {
        let header = Base64URL.decode(idToken.prefix { $0 != "." }.utf8)
        return header.flatMap { JSON.object(String(decoding: $0, as: UTF8.self)) }?["kid"]?.string ?? ""
    }

    /// The claims of the ID token.
    var claims: JSONObject {
        let parts = idToken.split(separator: ".")
        let bytes = parts.count == 3 ? Base64URL.decode(parts[1].utf8) : nil
        return bytes.flatMap { JSON.object(String(decoding: $0, as: UTF8.self)) } ?? [:]
    }
}
