import Crypto
import CryptoExtras
import Encodings
import FoundationEssentials
@testable import ServerTestSupport
import Testing
import TestSupport

/// A backend that administers users as the Admin SDKs of Firebase do, with a service account of its own.
struct FirebaseBackend {
    let deployment: Deployment
    /// The key file.
    let file: JSONObject
    private let key: _RSA.Signing.PrivateKey
    var project = FirebaseClient.project

    /// The address of the token endpoint in the key file.
    static let tokenURL = "https://users.example.com/oauth2.googleapis.com/token"
    /// The audience of custom tokens.
    static let toolkit =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"

    /// Creates a service account, as an operator does.
    init(_ deployment: Deployment, of application: String = "demo") async throws {
        let name = "backend-\(UInt32.random(in: 0 ... .max))"
        let made = try await deployment.admin()
            .ask("POST", "applications/\(application)/serviceAccounts", #"{"name": "\#(name)"}"#)
        file = try #require(JSON.object(made["key"]?.string ?? ""))
        key = try _RSA.Signing.PrivateKey(pemRepresentation: file["private_key"]?.string ?? "")
        self.deployment = deployment
        project = file["project_id"]?.string ?? ""
    }

    var email: String { file["client_email"]?.string ?? "" }
    var keyID: String { file["private_key_id"]?.string ?? "" }
    var name: String { String(email.prefix { $0 != "@" }) }
    static var now: Int64 { Int64(Date.now.timeIntervalSince1970) }

    /// Signs claims; `header` is JSON.
    func sign(_ claims: JSONObject, header: String? = nil) throws -> String {
        let header = header ?? #"{"alg":"RS256","typ":"JWT","kid":"\#(keyID)"}"#
        let text =
            Base64URL.encode(Array(header.utf8)) + "."
            + Base64URL.encode(Array(JSONValue.object(claims).text.utf8))
        let signature = try key.signature(for: SHA256.hash(data: Array(text.utf8)), padding: .insecurePKCS1v1_5)
        return text + "." + Base64URL.encode(Array(signature.rawRepresentation))
    }

    /// Returns the claims of an assertion, with other values of some.
    func assertion(_ changes: JSONObject = [:]) -> JSONObject {
        let claims: JSONObject = [
            "iss": .string(email), "sub": .string(email), "aud": .string(Self.tokenURL), "iat": .integer(Self.now),
            "exp": .integer(Self.now + 3600), "scope": .string("https://www.googleapis.com/auth/identitytoolkit"),
        ]
        return claims.changed(by: changes)
    }

    /// Returns the claims of a custom token, with other values of some; `null` removes a claim.
    func custom(_ uid: String, _ changes: JSONObject = [:]) -> JSONObject {
        let claims: JSONObject = [
            "iss": .string(email), "sub": .string(email), "aud": .string(Self.toolkit), "iat": .integer(Self.now),
            "exp": .integer(Self.now + 3600), "uid": .string(uid),
        ]
        return claims.changed(by: changes)
    }

    /// Sends an assertion to the token endpoint.
    func exchange(
        _ assertion: String,
        grant: String = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    ) async throws -> HTTPReply {
        try await deployment.client.send(
            "POST",
            "/oauth2.googleapis.com/token",
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("grant_type=\(grant)&assertion=\(assertion)".utf8)
        )
    }

    func accessToken() async throws -> String {
        let reply = try await exchange(try sign(assertion()))
        try #require(reply.status == 200, "\(reply.text)")
        let json = try #require(JSON.object(reply.text))
        #expect(json["token_type"]?.string == "Bearer" && json["expires_in"]?.integer == 3600)
        return try #require(json["access_token"]?.string)
    }

    /// Sends an administration's call.
    ///
    /// - Parameters:
    ///   - call: The end of the path, such as `/accounts:lookup`.
    ///   - json: The body; `nil` for a GET.
    ///   - authorization: The header `Authorization`; by default a new access token.
    ///   - project: The project in the path; by default the account's.
    ///   - headers: Further headers.
    /// - Returns: The response.
    /// - Throws: An error without a response.
    func send(
        _ call: String,
        _ json: String?,
        authorization: String? = nil,
        project: String? = nil,
        headers: [(String, String)] = []
    ) async throws -> HTTPReply {
        let authorization = if let authorization { authorization } else { "Bearer " + (try await accessToken()) }
        return try await deployment.client.send(
            json == nil ? "GET" : "POST",
            "/identitytoolkit.googleapis.com/v1/projects/\(project ?? self.project)\(call)",
            headers: (authorization.isEmpty ? [] : [("Authorization", authorization)])
                + (json == nil ? [] : [("Content-Type", "application/json")]) + headers,
            body: Array((json ?? "").utf8)
        )
    }

    @discardableResult
    func call(_ call: String, _ json: String?) async throws -> JSONObject {
        let reply = try await send(call, json)
        try #require(reply.status == 200, "\(call): \(reply.text)")
        return try #require(JSON.object(reply.text))
    }

    func expect(_ error: String, of call: String, _ json: String) async throws {
        let reply = try await send(call, json)
        #expect(reply.status == 400 && FirebaseClient.error(reply) == error, "\(call): \(reply.status) \(reply.text)")
    }

    /// Looks users up, by the JSON of the call.
    func users(_ json: String) async throws -> [JSONObject] {
        (try await call("/accounts:lookup", json)["users"]?.array ?? []).compactMap(\.object)
    }

    func user(_ uid: String) async throws -> JSONObject {
        let users = try await users(#"{"localId": ["\#(uid)"]}"#)
        #expect(users.count == 1)
        return try #require(users.first)
    }
}

extension JSONObject {
    /// Returns the object with other values of some members; `null` removes a member.
    fileprivate func changed(by changes: JSONObject) -> JSONObject {
        JSONObject(
            members.filter { changes[$0.key] == nil } + changes.members.filter { !$0.value.isNull }
        )
    }
}
