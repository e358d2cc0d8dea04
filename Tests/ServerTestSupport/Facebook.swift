import Encodings
import Testing
import TestSupport

/// A user with a Facebook account and a token for one of the tests' apps.
struct Visitor: Sendable {
    /// The user's key in the simulator.
    let key: String
    /// The app-scoped user id.
    let id: String
    let token: String
}

/// A request that the simulator received.
struct GraphRequest: Sendable {
    /// The method, such as `GET`.
    let method: String
    /// The path: `debug_token` or `me`.
    let path: String
    /// The request target as on the wire.
    let uri: String
    /// The query and form parameters in their order, decoded.
    let parameters: [(name: String, value: String)]
    /// The headers in their order.
    let headers: [(name: String, value: String)]

    /// Returns the values of all parameters with that name.
    func values(of name: String) -> [String] { parameters.filter { $0.name == name }.map(\.value) }

    func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
}

/// The functions of the simulator's control port that these tests use (docs/simulator.md).
extension SimulatorProcess {
    /// Creates apps with the canaries as secrets.
    func put(apps: some Sequence<String>) async throws {
        for app in apps { try await put(app: app, #"{"secret": "\#(Canary.appSecret(of: app))"}"#) }
    }

    /// Creates or changes an app.
    func put(app: String, _ json: String) async throws {
        try await ask("PUT", "apps/\(app)", json)
    }

    /// Creates or replaces a user.
    func put(person: String, _ json: String) async throws {
        try await ask("PUT", "people/\(person)", json)
    }

    /// Changes members of a user.
    func patch(person: String, _ json: String) async throws {
        try await ask("PATCH", "people/\(person)", json)
    }

    /// Changes a token, such as `{"kind": "appRemoved"}`.
    func patch(token: String, _ json: String) async throws {
        try await ask("PATCH", "tokens/\(token)", json)
    }

    /// Mints a token whose text begins like a real one and contains the canary.
    func mint(_ kind: String, person: String, app: String, scopes: [String]? = nil) async throws -> String {
        let suffix = String(UInt64.random(in: 0 ... .max), radix: 36)
        let scopes = scopes.map { #", "scopes": [\#($0.map(JSON.quoted).joined(separator: ", "))]"# } ?? ""
        let request =
            #"{"kind": "\#(kind)", "person": "\#(person)", "app": "\#(app)", "text": "EAAcanary\#(suffix)ZD"\#(scopes)}"#
        let minted = try await ask("POST", "tokens", request)
        return try #require(minted["token"]?.string)
    }

    /// Runs a closure with a fault in force.
    @discardableResult
    func withFault<Result>(_ json: String, _ body: () async throws -> Result) async throws -> Result {
        try await ask("POST", "faults", json)
        do {
            let result = try await body()
            try await heal()
            return result
        } catch {
            try? await heal()
            throw error
        }
    }

    func heal() async throws {
        try await ask("DELETE", "faults")
    }

    /// Runs a closure and returns the requests that the simulator received meanwhile.
    func requests(during body: () async throws -> Void) async throws -> [GraphRequest] {
        try await ask("DELETE", "requests")
        try await body()
        let list = try await control.get("/requests")
        return (JSON.value(list.text)?.array ?? []).compactMap { $0.object.map(GraphRequest.init) }
    }

    @discardableResult
    func ask(_ method: String, _ path: String, _ json: String = "") async throws -> JSONObject {
        let reply = try await control.send(method, "/" + path, body: Array(json.utf8))
        try #require((200...299).contains(reply.status), "\(method) \(path): \(reply.text)")
        return JSON.object(reply.text) ?? JSONObject()
    }
}

extension GraphRequest {
    fileprivate init(_ json: JSONObject) {
        func pairs(_ name: String) -> [(name: String, value: String)] {
            (json[name]?.array ?? []).map { pair in
                (pair.array?.first?.string ?? "", pair.array?.last?.string ?? "")
            }
        }
        method = json["method"]?.string ?? ""
        path = json["path"]?.string ?? ""
        uri = json["uri"]?.string ?? ""
        parameters = pairs("parameters")
        headers = pairs("headers")
    }
}
