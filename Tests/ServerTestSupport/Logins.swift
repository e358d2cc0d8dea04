import Domain
import Encodings
import Testing
import TestSupport

/// A login with a response of 200.
struct LoginResult: Sendable {
    /// The user object of the response.
    let user: JSONObject
    let reply: HTTPReply

    var objectID: String { user["objectId"]?.string ?? "" }
    /// The `user-token` of the new session.
    var token: String { user["user-token"]?.string ?? "" }
    /// Whether the login created the user.
    var created: Bool { reply.header("Federation-User-Created") == "true" }
}

extension Deployment {
    /// Creates a Facebook user who has never logged in to the service, with a token.
    ///
    /// - Parameters:
    ///   - profile: Graph's fields, and `permissions` in the simulator's form (default: `public_profile` and `email`).
    ///   - kind: The simulator's kind of the token.
    ///   - scopes: The token's permissions, by default those of the user.
    ///   - app: The Facebook app that the token is for.
    /// - Returns: The user.
    /// - Throws: An error of the simulator.
    func newcomer(
        _ profile: String = "{}",
        kind: String = "long",
        scopes: [String]? = nil,
        app: String = "1234567890"
    ) async throws -> Visitor {
        let id = String(UInt64.random(in: 10_000_000_000_000_000...99_999_999_999_999_999))
        let key = "person-\(id)"
        try await simulator.put(person: key, profile)
        try await simulator.patch(person: key, #"{"ids": {"\#(app)": "\#(id)"}}"#)
        return Visitor(
            key: key,
            id: id,
            token: try await simulator.mint(kind, person: key, app: app, scopes: scopes)
        )
    }

    /// Returns the path of an endpoint of an application, by default the first one.
    func path(_ endpoint: String, of document: Document? = nil) -> String {
        let document = document ?? documents.first ?? .witness
        return "/\(document.application)/\(document.apiKey)/\(endpoint)"
    }

    /// Posts a body to `loginWithFacebook`.
    func login(
        body: String,
        to document: Document? = nil,
        headers: [(String, String)] = []
    ) async throws -> HTTPReply {
        try await client.post(path("users/loginWithFacebook", of: document), json: body, headers: headers)
    }

    /// Logs a user in, with the client's own mapping if given as JSON text.
    func login(
        _ visitor: Visitor,
        mapping: String? = nil,
        to document: Document? = nil,
        headers: [(String, String)] = []
    ) async throws -> HTTPReply {
        let mapping = mapping.map { #", "fieldsMapping": \#($0)"# } ?? ""
        return try await login(
            body: #"{"accessToken": "\#(visitor.token)"\#(mapping)}"#,
            to: document,
            headers: headers
        )
    }

    /// Logs a user in and requires success.
    func loggedIn(
        _ visitor: Visitor,
        mapping: String? = nil,
        to document: Document? = nil,
        headers: [(String, String)] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> LoginResult {
        let reply = try await login(visitor, mapping: mapping, to: document, headers: headers)
        return try signedIn(reply, sourceLocation: sourceLocation)
    }

    /// Logs a user in several times concurrently.
    ///
    /// - Returns: The ids of the users in the responses.
    func signInAtOnce(_ visitor: Visitor, times: Int) async throws -> Set<String> {
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<times { group.addTask { try await loggedIn(visitor).objectID } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
    }

    /// Requires that a response is a successful login.
    func signedIn(_ reply: HTTPReply, sourceLocation: SourceLocation = #_sourceLocation) throws -> LoginResult {
        try #require(reply.status == 200, "\(reply.text)", sourceLocation: sourceLocation)
        let user = try #require(JSON.object(reply.text), sourceLocation: sourceLocation)
        return LoginResult(user: user, reply: reply)
    }

    /// Sends a `GET` with a session.
    func get(
        _ endpoint: String,
        token: String? = nil,
        of document: Document? = nil
    ) async throws -> HTTPReply {
        try await client.get(path(endpoint, of: document), headers: token.map { [("user-token", $0)] } ?? [])
    }
}
