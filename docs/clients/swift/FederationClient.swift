import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The user service of one application, by `URLSession` alone.
struct FederationClient: Sendable {
    /// With the application's id and key, such as `https://users.example.com/demo/KEY`.
    let base: URL
    var network = URLSession.shared

    /// A user as the service answers it; an app adds the properties that it has declared.
    struct User: Decodable, Sendable {
        let objectID: String
        let email: String?
        let name: String?
        /// Opens the session that a login made; belongs into the keychain.
        let token: String?

        private enum CodingKeys: String, CodingKey {
            case objectID = "objectId"
            case email, name
            case token = "user-token"
        }
    }

    /// What the service answers when it refuses: `code` and `reason` are for the app, `message` is for its developers.
    struct Failure: Error, Decodable {
        struct Details: Decodable { let reason: String }

        let code: Int
        let message: String
        let errorData: Details

        var reason: String { errorData.reason }
    }

    // MARK: Password

    /// Makes an account; it opens no session.
    func register(email: String, password: String) async throws -> User {
        try await user("POST", "users/register", ["email": email, "password": password])
    }

    func logIn(email: String, password: String) async throws -> User {
        try await user("POST", "users/login", ["login": email, "password": password])
    }

    // MARK: Facebook, without its SDK

    /// Begins a login.
    ///
    /// - Parameters:
    ///   - returnURL: Where it ends: one of the application's `returnUrls`, to the byte.
    ///   - challenge: Of the ``ProofKey`` that the end of the login needs.
    /// - Returns: The address that the browser opens.
    /// - Throws: ``Failure``; `URLError`.
    func facebookDialog(returningTo returnURL: URL, challenge: String) async throws -> URL {
        let text = try await send(
            "POST",
            "users/oauth/facebook/request_url",
            ["redirectAfterLoginUrl": returnURL.absoluteString, "codeChallenge": challenge]
        )
        guard let url = URL(string: String(decoding: text, as: UTF8.self)) else { throw URLError(.badServerResponse) }
        return url
    }

    /// Ends a login.
    ///
    /// - Parameters:
    ///   - end: The address at which the browser arrived, with everything behind the `?`.
    ///   - verifier: Of the ``ProofKey`` with whose challenge the login was begun.
    /// - Returns: The user with a session.
    /// - Throws: ``LoginEnded`` when the person has cancelled or Facebook has refused; ``Failure``; `URLError`.
    func finishLogin(at end: URL, verifier: String) async throws -> User {
        let query = URLComponents(url: end, resolvingAgainstBaseURL: false)?.queryItems ?? []
        func value(_ name: String) -> String? { query.first { $0.name == name }?.value }
        guard let code = value("loginCode") else { throw LoginEnded(reason: value("reason") ?? "unknown") }
        return try await user("POST", "users/loginWithFacebook", ["loginCode": code, "codeVerifier": verifier])
    }

    /// A login came back without a user, such as for `login_cancelled`.
    struct LoginEnded: Error {
        let reason: String
    }

    // MARK: Session

    func user(_ objectID: String, token: String) async throws -> User {
        try await user("GET", "users/\(objectID)", token: token)
    }

    /// Whether the session lives.
    func isValid(_ token: String) async throws -> Bool {
        try await send("GET", "users/isvalidusertoken/\(token)") == Data("true".utf8)
    }

    /// Ends the session; one that has ended already is no failure.
    func logOut(_ token: String) async throws {
        do {
            _ = try await send("GET", "users/logout", token: token)
        } catch let failure as Failure where failure.reason == "session_invalid" {}
    }

    // MARK: Requests

    private func user(_ method: String, _ path: String, _ body: [String: String]? = nil, token: String? = nil)
        async throws -> User
    {
        try JSONDecoder().decode(User.self, from: try await send(method, path, body, token: token))
    }

    private func send(_ method: String, _ path: String, _ body: [String: String]? = nil, token: String? = nil)
        async throws -> Data
    {
        var request = URLRequest(url: base.appending(path: path))
        request.httpMethod = method
        request.setValue(token, forHTTPHeaderField: "user-token")
        if let body {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = try JSONEncoder().encode(body)
        }
        let (data, response) = try await network.data(for: request)
        guard let status = (response as? HTTPURLResponse)?.statusCode, (200..<300).contains(status) else {
            // What a proxy in between says is not the service's JSON.
            throw (try? JSONDecoder().decode(Failure.self, from: data)) ?? URLError(.badServerResponse)
        }
        return data
    }
}

/// A secret that only this client knows, by which it proves at the end of a login that it began it (PKCE, RFC 7636).
struct ProofKey: Sendable {
    let verifier: String
    /// SHA-256 of the verifier in base64url.
    let challenge: String
}
