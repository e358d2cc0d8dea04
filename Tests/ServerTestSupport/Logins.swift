import TestSupport
import Testing
import Vocabulary

/// A login that was answered with 200.
struct SignedIn: Sendable {
    /// The user object of the reply.
    let user: JSONObject
    let reply: HTTPReply

    var objectID: String { user["objectId"]?.string ?? "" }
    /// The `user-token` of the new session.
    var token: String { user["user-token"]?.string ?? "" }
    /// Whether the login created the user.
    var created: Bool { reply.header("Federation-User-Created") == "true" }
}

extension Deployment {
    /// Makes a person at Facebook who has never been here, with a token.
    ///
    /// - Parameters:
    ///   - profile: Graph's fields, and `permissions` as the simulator takes them (`public_profile` and `email` unless
    ///     told).
    ///   - kind: The kind of token, in the simulator's words.
    ///   - scopes: The token's permissions; those of the person unless told otherwise.
    ///   - app: The Facebook app that the token is for.
    /// - Returns: The person.
    /// - Throws: What the simulator has against it.
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

    /// The path of an endpoint of an application, the first one unless told otherwise.
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

    /// Logs a person in, with the client's own mapping if one is given as JSON text.
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

    /// Logs a person in, which must succeed.
    func signIn(
        _ visitor: Visitor,
        mapping: String? = nil,
        to document: Document? = nil,
        headers: [(String, String)] = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> SignedIn {
        let reply = try await login(visitor, mapping: mapping, to: document, headers: headers)
        return try signedIn(reply, sourceLocation: sourceLocation)
    }

    /// Logs a person in so often at once.
    ///
    /// - Returns: The ids of the users that the replies had.
    func signInAtOnce(_ visitor: Visitor, times: Int) async throws -> Set<String> {
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<times { group.addTask { try await signIn(visitor).objectID } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
    }

    /// Takes a reply for a login that succeeded.
    func signedIn(_ reply: HTTPReply, sourceLocation: SourceLocation = #_sourceLocation) throws -> SignedIn {
        try #require(reply.status == 200, "\(reply.text)", sourceLocation: sourceLocation)
        let user = try #require(JSON.object(reply.text), sourceLocation: sourceLocation)
        return SignedIn(user: user, reply: reply)
    }

    /// Gets an endpoint with a session.
    func get(
        _ endpoint: String,
        token: String? = nil,
        of document: Document? = nil
    ) async throws -> HTTPReply {
        try await client.get(path(endpoint, of: document), headers: token.map { [("user-token", $0)] } ?? [])
    }
}
