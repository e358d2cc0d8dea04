import Encodings
import Testing
import TestSupport

/// A user with a Twitter account and a token for one of the tests' consumer keys.
struct TwitterVisitor: Sendable {
    /// The user's key in the simulator.
    let key: String
    let id: String
    let token: String
    let secret: String

    /// The members of a login request.
    var credential: String { #""accessToken": "\#(token)", "accessTokenSecret": "\#(secret)""# }
}

extension SimulatorProcess {
    /// Creates a consumer with the canary as its secret.
    func put(consumer: String) async throws {
        try await ask("PUT", "twitter/consumers/\(consumer)", #"{"secret": "\#(Canary.appSecret(of: consumer))"}"#)
    }
}

extension Deployment {
    /// Creates a Twitter user who has never logged in to the service, with a token; the fields are JSON text.
    func tweeter(_ fields: String = "{}", consumer: String? = nil) async throws -> TwitterVisitor {
        let id = String(UInt64.random(in: 1_000_000_000...9_000_000_000_000_000))
        let key = "tweeter\(id)"
        try await simulator.ask("PUT", "twitter/people/\(key)", #"{"id": "\#(id)", "fields": \#(fields)}"#)
        let consumer = try #require(consumer ?? documents.first?.consumers.first)
        let token = try await simulator.ask(
            "POST",
            "twitter/tokens",
            #"{"person": "\#(key)", "consumer": "\#(consumer)"}"#
        )
        return TwitterVisitor(
            key: key,
            id: id,
            token: try #require(token["token"]?.string),
            secret: try #require(token["secret"]?.string)
        )
    }

    /// Logs in with Twitter; members in addition to the credential are JSON text.
    func login(_ visitor: TwitterVisitor, _ members: String = "", to document: Document? = nil) async throws
        -> HTTPReply
    {
        let members = members.isEmpty ? "" : ", " + members
        return try await send(
            "POST",
            "users/social/twitter/login",
            "{\(visitor.credential)\(members)}",
            to: document
        )
    }
}
