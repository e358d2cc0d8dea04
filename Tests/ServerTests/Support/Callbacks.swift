import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// The service's response to a callback of Facebook.
struct CallbackReply: Sendable {
    let status: Int
    let body: String

    var json: JSONObject { JSON.object(body) ?? JSONObject() }
    var reason: String? { json["errorData"]?.object?["reason"]?.string }
    /// The confirmation code in the response to a deletion request.
    var code: String { json["confirmation_code"]?.string ?? "" }
}

extension Deployment {
    /// Makes Facebook call the service about a user (docs/simulator.md, "When Facebook calls the app").
    ///
    /// - Parameters:
    ///   - kind: `deauthorize`, `deletion` or `webhook`.
    ///   - visitor: The user.
    ///   - members: Additional members of `POST /deliver`, such as `"issuedAt": 1700000000`.
    ///   - app: The app that is called.
    ///   - document: The application that is called.
    /// - Returns: The service's response.
    /// - Throws: An error without a response.
    func deliver(
        _ kind: String,
        _ visitor: Visitor,
        _ members: String = "",
        app: String = "1234567890",
        to document: Document? = nil
    ) async throws -> CallbackReply {
        let url = "http://127.0.0.1:\(client.port)" + path("users/oauth/facebook/\(kind)", of: document)
        let order = #"{"kind": "\#(kind)", "url": "\#(url)", "app": "\#(app)", "person": "\#(visitor.key)""#
        let reply = try await simulator.control.post(
            "/deliver",
            json: order + (members.isEmpty ? "" : ", " + members) + "}"
        )
        let answer = try #require(JSON.object(reply.text), "\(reply.text)")
        return CallbackReply(
            status: Int(try #require(answer["status"]?.integer, "\(reply.text)")),
            body: answer["body"]?.string ?? ""
        )
    }

    /// Returns the `signed_request` of a callback about a user, which the simulator sends to itself and logs.
    func signedRequest(_ kind: String, _ visitor: Visitor) async throws -> String {
        let requests = try await simulator.requests {
            let order = #"{"kind": "\#(kind)", "url": "\#(simulator.url)/callback", "person": "\#(visitor.key)""#
            _ = try await simulator.control.post("/deliver", json: order + #", "app": "1234567890"}"#)
        }
        return try #require(requests.first?.values(of: "signed_request").first)
    }

    func post(form: String, to endpoint: String, of document: Document? = nil) async throws -> HTTPReply {
        try await client.send(
            "POST",
            path(endpoint, of: document),
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(form.utf8)
        )
    }

    /// Returns a user's identity as a row of its table; `nil` without an identity.
    func identity(of visitor: Visitor, app: String = "1234567890", in schema: String = "demo") async throws
        -> JSONObject?
    {
        try await rows(
            """
            select to_jsonb(i) from \(schema).identities i
            where provider_app = '\(app)' and subject = '\(visitor.id)'
            """
        ).first
    }

    /// Counts a user's rows of users, identities and sessions.
    func rowCount(of objectID: String, in schema: String = "demo") async throws -> String? {
        try await value(
            """
            select (select count(*) from \(schema).users where object_id = '\(objectID)')
                + (select count(*) from \(schema).identities where object_id = '\(objectID)')
                + (select count(*) from \(schema).sessions where object_id = '\(objectID)')
            """
        )
    }
}
