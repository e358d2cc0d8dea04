import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

/// What the service answered to a call of Facebook's.
struct CallbackReply: Sendable {
    let status: Int
    let body: String

    var json: JSONObject { JSON.object(body) ?? JSONObject() }
    /// The reason of a failure.
    var reason: String? { json["errorData"]?.object?["reason"]?.string }
    /// Of the reply to a request for deletion.
    var code: String { json["confirmation_code"]?.string ?? "" }
}

extension Deployment {
    /// Lets Facebook call the service about a person (docs/simulator.md, "When Facebook calls the app").
    ///
    /// - Parameters:
    ///   - kind: `deauthorize`, `deletion` or `webhook`.
    ///   - visitor: The person.
    ///   - members: Further members of `POST /deliver`, such as `"issuedAt": 1700000000`.
    ///   - app: The app that is called.
    ///   - document: The application that is called.
    /// - Returns: What the service answered.
    /// - Throws: When it did not answer.
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

    /// The `signed_request` of a call about a person, from the simulator's log of a call that it made to itself.
    func signedRequest(_ kind: String, _ visitor: Visitor) async throws -> String {
        let requests = try await simulator.requests {
            let order = #"{"kind": "\#(kind)", "url": "\#(simulator.url)/callback", "person": "\#(visitor.key)""#
            _ = try await simulator.control.post("/deliver", json: order + #", "app": "1234567890"}"#)
        }
        return try #require(requests.first?.values(of: "signed_request").first)
    }

    /// Posts a form to an endpoint.
    func post(form: String, to endpoint: String, of document: Document? = nil) async throws -> HTTPReply {
        try await client.send(
            "POST",
            path(endpoint, of: document),
            headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array(form.utf8)
        )
    }

    /// The identity of a person as operators see it; nil when there is none.
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

    /// How many rows of users, identities and sessions there are of a person.
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
