import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

/// The JS SDK of Backendless, version 8, as far as the wire shows it: its requests byte for byte, and what it makes of
/// replies (docs/protocols/backendless.md §1.2, §2.1, §2.2).
struct JSClient {
    let http: HTTPClient
    /// What stands in front of every path.
    let base: String
    /// What the SDK sends from the moment on that a reply had one.
    private(set) var userToken: String?
    private(set) var objectID: String?

    init(_ http: HTTPClient, base: String) {
        self.http = http
        self.base = base
    }

    /// An error as the SDK hands it to the app.
    struct Fault: Error, Equatable {
        let code: Int64?
        let message: String?
        let status: Int
    }

    /// Sends what the SDK sends under node: `user-token` if it has one, then the type and length of a body, then host
    /// and connection.
    func send(_ method: String, _ path: String, body: String? = nil) async throws -> HTTPReply {
        var headers: [(String, String)] = userToken.map { [("user-token", $0)] } ?? []
        if let body {
            headers += [("Content-Type", "application/json"), ("content-length", "\(body.utf8.count)")]
        }
        headers += [("Host", "127.0.0.1:\(http.port)"), ("Connection", "keep-alive")]
        if body == nil, method == "POST" { headers.append(("Content-Length", "0")) }
        return try await http.send(method, base + path, headers: headers, body: Array((body ?? "").utf8))
    }

    /// What a call resolves to: JSON if the body parses, else text; nil for nothing.
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

    /// A call that gives a user and makes it the current one.
    mutating func logIn(_ path: String, body: String?) async throws -> JSONObject {
        let user = try #require(
            try Self.value(try await send("POST", path, body: body))?.object,
            "anything else is silently no user"
        )
        userToken = try #require(user["user-token"]?.string)
        objectID = try #require(user["objectId"]?.string)
        return user
    }

    /// Forgets the session after a logout, as the SDK does, and after the faults that tell that there is no session any
    /// more; it throws these, too.
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
