import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// The simulator's ID tokens and their keys (docs/simulator.md).
extension SimulatorProcess {
    /// The path of the key set in the request log and in faults.
    static let keysPath = ".well-known/oauth/openid/jwks"

    /// Makes an ID token.
    ///
    /// - Parameter members: The members of `POST /id-tokens`, such as `"nonce": "n", "iatOffset": -7200`.
    /// - Returns: The token.
    /// - Throws: An error of the simulator.
    func idToken(_ members: String) async throws -> String {
        let reply = try await control.post("/id-tokens", json: "{\(members)}")
        try #require(reply.status == 201, "\(members): \(reply.text)")
        return try #require(JSON.object(reply.text)?["token"]?.string)
    }

    /// Publishes a new key and removes the oldest.
    ///
    /// - Returns: The ids of the published keys, the oldest first.
    @discardableResult
    func rotateKeys() async throws -> [String] {
        try Self.keys(in: try await control.post("/keys/rotate", json: "{}"))
    }

    /// The ids of the published keys, the oldest first.
    var keys: [String] {
        get async throws { try Self.keys(in: try await control.get("/keys")) }
    }

    private static func keys(in reply: HTTPReply) throws -> [String] {
        let list = try #require(JSON.object(reply.text)?["keys"]?.array)
        return list.compactMap(\.string)
    }
}

extension Deployment {
    /// Returns an ID token of a user for the first app, with additional members of `POST /id-tokens`.
    func idToken(of visitor: Visitor, _ members: String = "") async throws -> String {
        try await simulator.idToken(#""person": "\#(visitor.key)""# + (members.isEmpty ? "" : ", " + members))
    }

    /// Logs in with an ID token.
    ///
    /// - Parameters:
    ///   - idToken: The token.
    ///   - nonce: The nonce in the request.
    ///   - members: Additional members of the body.
    ///   - document: The application.
    ///   - headers: Additional headers.
    ///   - instance: Another instance than the deployment's.
    /// - Returns: Any response.
    /// - Throws: An error without a response.
    func login(
        idToken: String,
        nonce: String? = nil,
        _ members: String = "",
        to document: Document? = nil,
        headers: [(String, String)] = [],
        at instance: ServiceProcess? = nil
    ) async throws -> HTTPReply {
        let nonce = nonce.map { #", "nonce": \#(JSON.quoted($0))"# } ?? ""
        let body = #"{"idToken": \#(JSON.quoted(idToken))\#(nonce)\#(members.isEmpty ? "" : ", " + members)}"#
        let client = instance?.client ?? client
        return try await client.post(path("users/loginWithFacebook", of: document), json: body, headers: headers)
    }

    /// Gets a nonce from `users/nonce`.
    func nonce(for document: Document? = nil) async throws -> String {
        let reply = try await client.post(path("users/nonce", of: document), json: "")
        try #require(reply.status == 200, "\(reply.text)")
        return try #require(JSON.object(reply.text)?["nonce"]?.string)
    }

    /// Lends a second instance on the same database and the same simulator.
    func withSecondInstance(
        environment: [String: String] = [:],
        _ body: (ServiceProcess) async throws -> Void
    ) async throws {
        let instance = try await ServiceProcess.start(
            environment: Self.environment(database: database)
                .merging(simulator.environment) { _, new in new }
                .merging(environment) { _, new in new }
        )
        do {
            try await body(instance)
        } catch {
            try? await instance.process.kill()
            throw error
        }
        #expect(try await instance.process.terminate() == .exited(0))
        #expect(!instance.process.standardOutput.lowercased().contains(Canary.mark))
    }
}
