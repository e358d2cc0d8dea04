import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// The JS SDK of Backendless, version 8, at the level of HTTP (docs/protocols/backendless.md §1.2, §2.1, §2.2).
///
/// Its requests are equal byte for byte, and it interprets responses in the same way.
struct JSClient {
    let http: HTTPClient
    /// The prefix of every path.
    let base: String
    /// The session token, which the SDK sends once a response contained one.
    private(set) var userToken: String?
    private(set) var objectID: String?

    init(_ http: HTTPClient, base: String) {
        self.http = http
        self.base = base
    }

    /// An error as the SDK passes it to the app.
    struct Fault: Error, Equatable {
        let code: Int64?
        let message: String?
        let status: Int
    }

    /// Sends a request as the SDK does under node.
    ///
    /// The headers are `user-token` if there is one, then type and length of a body, then host and connection.
    func send(_ method: String, _ path: String, body: String? = nil) async throws -> HTTPReply {
        var headers: [(String, String)] = userToken.map { [("user-token", $0)] } ?? []
        if let body {
            headers += [("Content-Type", "application/json"), ("content-length", "\(body.utf8.count)")]
        }
        headers += [("Host", "127.0.0.1:\(http.port)"), ("Connection", "keep-alive")]
        if body == nil, method == "POST" { headers.append(("Content-Length", "0")) }
        return try await http.send(method, base + path, headers: headers, body: Array((body ?? "").utf8))
    }

    /// Returns the result of a call: JSON if the body parses, else text; `nil` for an empty body.
    static func value(_ reply: HTTPReply) throws(Fault) -> JSONValue? {
        let body = JSON.value(reply.text) ?? (reply.text.isEmpty ? nil : JSONValue.string(reply.text))
        guard (200..<300).contains(reply.status) else {
            let object = body?.object
            throw Fault(
                code: object?["code"]?.integer,
                message: object?["message"]?.string ?? body?.string,
                status: reply.status
            )
        }
        return body
    }

    /// Makes a call that returns a user, who becomes the current one.
    mutating func logIn(_ path: String, body: String?) async throws -> JSONObject {
        let user = try #require(
            try Self.value(try await send("POST", path, body: body))?.object,
            "anything else is silently no user"
        )
        userToken = try #require(user["user-token"]?.string)
        objectID = try #require(user["objectId"]?.string)
        return user
    }

    /// Logs out and forgets the session, as the SDK does.
    ///
    /// The SDK also forgets the session after faults that report its end; it throws these faults nevertheless.
    mutating func logOut() async throws {
        do {
            _ = try Self.value(try await send("GET", "users/logout"))
        } catch let fault as Fault {
            if [3023, 3064, 3090, 3091].contains(fault.code) { (userToken, objectID) = (nil, nil) }
            throw fault
        }
        (userToken, objectID) = (nil, nil)
    }

    mutating func hold(token: String) { userToken = token }
}
