import TestSupport
import Testing
import Vocabulary

/// An operator, or somebody who would like to be one, who talks to the management listener.
struct AdminClient: Sendable {
    let http: HTTPClient
    /// The bearer token; nil for somebody who has none.
    let token: String?

    /// The same person at another address, which nobody has sent anything from.
    var elsewhere: AdminClient {
        let source = "127.\(Int.random(in: 1...254)).\(Int.random(in: 1...254)).\(Int.random(in: 1...254))"
        return AdminClient(http: HTTPClient(port: http.port, source: source), token: token)
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - method: Such as `PATCH`.
    ///   - path: Behind `/admin/v1/`, or whole when it begins with a slash.
    ///   - json: The body, if there is one.
    ///   - tag: The header `If-Match`; whatever is there is overwritten unless told otherwise.
    /// - Returns: The reply.
    /// - Throws: ``HTTPFailure``, `DeadlinePassed`.
    func send(_ method: String, _ path: String, _ json: String? = nil, ifMatch tag: String? = "*") async throws
        -> HTTPReply
    {
        var headers: [(String, String)] = []
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        if json != nil { headers.append(("Content-Type", "application/json")) }
        if let tag, method != "GET" { headers.append(("If-Match", tag)) }
        let path = path.hasPrefix("/") ? path : "/admin/v1/\(path)"
        return try await http.send(method, path, headers: headers, body: Array((json ?? "").utf8))
    }

    /// Sends a request that must succeed; the status must be the one that goes with the method.
    ///
    /// - Returns: The object of the reply; an empty one when there is none.
    /// - Throws: When the reply is another one.
    @discardableResult
    func ask(
        _ method: String,
        _ path: String,
        _ json: String? = nil,
        ifMatch tag: String? = "*",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSONObject {
        let reply = try await send(method, path, json, ifMatch: tag)
        let comment: Comment = "\(method) \(path): \(reply.status) \(reply.text)"
        try #require((200...299).contains(reply.status), comment, sourceLocation: sourceLocation)
        guard reply.status != 204 else {
            #expect(reply.body.isEmpty, comment, sourceLocation: sourceLocation)
            return JSONObject()
        }
        return try #require(JSON.object(reply.text), comment, sourceLocation: sourceLocation)
    }

    /// Gets a resource.
    @discardableResult
    func get(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSONObject {
        try await ask("GET", path, sourceLocation: sourceLocation)
    }

    /// The entity tag of a resource, with its quotes.
    func tag(of path: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let reply = try await send("GET", path)
        try #require(reply.status == 200, "\(reply.text)", sourceLocation: sourceLocation)
        return try #require(reply.header("ETag"), "\(path) has no ETag", sourceLocation: sourceLocation)
    }

    /// The items of a list, page after page.
    func all(_ path: String, limit: Int? = nil) async throws -> [JSONObject] {
        var items: [JSONObject] = []
        var query = limit.map { ["limit=\($0)"] } ?? []
        let join = path.contains("?") ? "&" : "?"
        while true {
            let page = try await get(query.isEmpty ? path : path + join + query.joined(separator: "&"))
            let part = try #require(page["items"]?.array).compactMap(\.object)
            if let limit { try #require(part.count <= limit) }
            items += part
            guard let next = try #require(page["next"], "a list says whether there is more").string else {
                return items
            }
            query = (limit.map { ["limit=\($0)"] } ?? []) + ["cursor=\(next)"]
        }
    }
}

/// The roles of operators, from the one that may least to the one that may most.
enum Role: String, Sendable, CaseIterable {
    case viewer
    case editor
    case owner
}

/// One operator of each role, made by the command line when a test first asks for it.
actor Operators {
    private var tokens: [Role: Task<String, any Error>] = [:]

    func token(of role: Role, database: TestDatabase) async throws -> String {
        if let token = tokens[role] { return try await token.value }
        let token = Task {
            let created = try await runFederation(
                ["operator", "create", role.rawValue, "--role", role.rawValue, "--json"],
                environment: Deployment.environment(database: database)
            )
            guard created.exitStatus == .exited(0) else { throw OperatorNotMade(said: created.standardError) }
            guard let token = JSON.object(created.standardOutput)?["token"]?.string else {
                throw OperatorNotMade(said: created.standardOutput)
            }
            return token
        }
        tokens[role] = token
        return try await token.value
    }
}

/// `federation operator create` did not do what it was asked for.
struct OperatorNotMade: Error {
    let said: String
}

extension Deployment {
    /// The operator of a role.
    func admin(_ role: Role = .owner) async throws -> AdminClient {
        admin(token: try await operators.token(of: role, database: database))
    }

    /// Somebody with a token, or without one.
    func admin(token: String?) -> AdminClient { AdminClient(http: service.management, token: token) }

    /// Runs a command of `federation` as an operator does on the service's machine.
    ///
    /// - Parameters:
    ///   - arguments: The command.
    ///   - environment: Further variables.
    /// - Returns: The ended process.
    /// - Throws: `DeadlinePassed` after killing it.
    func federation(_ arguments: String..., environment: [String: String] = [:]) async throws -> ManagedProcess {
        try await federation(arguments, environment: environment)
    }

    /// Runs a command of `federation`; see ``federation(_:environment:)``.
    func federation(_ arguments: [String], environment: [String: String] = [:]) async throws -> ManagedProcess {
        try await runFederation(arguments, environment: commandEnvironment.merging(environment) { _, new in new })
    }

    /// Runs a command of `federation`, which must succeed.
    ///
    /// - Returns: What it printed.
    @discardableResult
    func command(
        _ arguments: String...,
        environment: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let process = try await federation(arguments, environment: environment)
        let said = "\(arguments.joined(separator: " ")): \(process.standardError)"
        try #require(process.exitStatus == .exited(0), "\(said)", sourceLocation: sourceLocation)
        return process.standardOutput
    }

    /// The environment of commands: the service's, and where Graph is.
    var commandEnvironment: [String: String] {
        Self.environment(database: database)
            .merging(simulator.environment) { _, new in new }
            .merging(own.environment) { _, new in new }
    }

    /// The entries that the audit log got while a closure ran, in their order, as JSON objects of the table's columns.
    ///
    /// - Returns: The entries.
    /// - Throws: What the closure throws.
    func audited(during body: () async throws -> Void) async throws -> [JSONObject] {
        let last = try await lastAudited()
        try await body()
        return try await audited(behind: last)
    }

    /// The id of the latest entry of the audit log.
    func lastAudited() async throws -> String {
        try await value("select coalesce(max(id), 0) from federation.audit_log") ?? "0"
    }

    /// The entries of the audit log behind that one.
    func audited(behind last: String) async throws -> [JSONObject] {
        try await rows("select to_jsonb(a) from federation.audit_log a where id > \(last) order by id")
    }
}
