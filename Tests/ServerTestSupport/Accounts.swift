import Encodings
import Testing
import TestSupport

extension Deployment {
    /// A password that the password policy accepts.
    static let password = "four canary words tonight"

    /// Sends JSON with a session, and with the given API key in place of the application's first.
    func send(
        _ method: String,
        _ endpoint: String,
        _ json: String? = nil,
        token: String? = nil,
        key: String? = nil,
        to document: Document? = nil,
        headers: [(String, String)] = []
    ) async throws -> HTTPReply {
        var path = path(endpoint, of: document)
        if let key { path = path.replacing("/\((document ?? documents[0]).apiKey)/", with: "/\(key)/") }
        var headers = headers + (token.map { [("user-token", $0)] } ?? [])
        if json != nil { headers.append(("Content-Type", "application/json")) }
        return try await client.send(method, path, headers: headers, body: Array((json ?? "").utf8))
    }

    /// Registers a user and requires success; members are JSON text.
    func register(_ email: String, _ members: String = "", to document: Document? = nil) async throws -> JSONObject {
        let members = members.isEmpty ? "" : ", " + members
        let reply = try await send(
            "POST",
            "users/register",
            #"{"email": "\#(email)", "password": "\#(Self.password)"\#(members)}"#,
            to: document
        )
        try #require(reply.status == 200, "\(reply.text)")
        return try #require(JSON.object(reply.text))
    }

    /// Logs in with a password and requires success.
    func logIn(_ email: String, password: String = password, to document: Document? = nil) async throws -> LoginResult {
        let body = #"{"login": "\#(email)", "password": "\#(password)"}"#
        return try signedIn(try await send("POST", "users/login", body, to: document))
    }

    /// Whether the session is valid.
    func isValid(_ token: String) async throws -> Bool {
        try await get("users/isvalidusertoken/\(token)").text == "true"
    }
}
