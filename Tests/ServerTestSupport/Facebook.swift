import TestSupport
import Testing
import Vocabulary

/// A person with a Facebook account and a token for one of our apps.
struct Visitor: Sendable {
    /// The simulator's name of the person.
    let key: String
    /// The app-scoped user id.
    let id: String
    /// The access token.
    let token: String
}

/// A request that the simulator received.
struct GraphRequest: Sendable {
    /// Such as `GET`.
    let method: String
    /// `debug_token` or `me`.
    let path: String
    /// As on the wire.
    let uri: String
    /// Query and form parameters in their order, decoded.
    let parameters: [(name: String, value: String)]
    /// Header fields in their order.
    let headers: [(name: String, value: String)]

    /// The values of all parameters of that name.
    func values(of name: String) -> [String] { parameters.filter { $0.name == name }.map(\.value) }

    /// The value of a header field.
    func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
}

/// The simulator's control port, as far as these tests use it (docs/simulator.md).
extension SimulatorProcess {
    /// Makes apps whose secrets are the canaries.
    func put(apps: some Sequence<String>) async throws {
        for app in apps { try await put(app: app, #"{"secret": "\#(Canary.appSecret(of: app))"}"#) }
    }

    /// Makes an app or changes one.
    func put(app: String, _ json: String) async throws {
        try await ask("PUT", "apps/\(app)", json)
    }

    /// Makes a person, or replaces one.
    func put(person: String, _ json: String) async throws {
        try await ask("PUT", "people/\(person)", json)
    }

    /// Changes members of a person.
    func patch(person: String, _ json: String) async throws {
        try await ask("PATCH", "people/\(person)", json)
    }

    /// Changes a token, such as `{"kind": "appRemoved"}`.
    func patch(token: String, _ json: String) async throws {
        try await ask("PATCH", "tokens/\(token)", json)
    }

    /// Mints a token; the text begins as real ones do and holds the canary.
    func mint(_ kind: String, person: String, app: String, scopes: [String]? = nil) async throws -> String {
        let suffix = String(UInt64.random(in: 0 ... .max), radix: 36)
        let scopes = scopes.map { #", "scopes": [\#($0.map(JSON.quoted).joined(separator: ", "))]"# } ?? ""
        let request =
            #"{"kind": "\#(kind)", "person": "\#(person)", "app": "\#(app)", "text": "EAAcanary\#(suffix)ZD"\#(scopes)}"#
        let minted = try await ask("POST", "tokens", request)
        return try #require(minted["token"]?.string)
    }

    /// Runs a closure while a fault is in force.
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

    /// Takes back all faults.
    func heal() async throws {
        try await ask("DELETE", "faults")
    }

    /// Runs a closure and returns what the simulator was asked meanwhile.
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
