import Encodings
import Testing
import TestSupport

/// A client of the management listener, with or without an operator's token.
struct AdminClient: Sendable {
    let http: HTTPClient
    /// The bearer token; `nil` for a client without one.
    let token: String?

    /// The same client with another source address, which no request has come from.
    var elsewhere: AdminClient {
        let source = "127.\(Int.random(in: 1...254)).\(Int.random(in: 1...254)).\(Int.random(in: 1...254))"
        return AdminClient(http: HTTPClient(port: http.port, source: source), token: token)
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - method: The method, such as `PATCH`.
    ///   - path: The path below `/admin/v1/`, or a whole path if it begins with a slash.
    ///   - json: The body, if there is one.
    ///   - tag: The header `If-Match`; the default overwrites any revision.
    /// - Returns: The response.
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

    /// Sends a request and requires a success status.
    ///
    /// - Returns: The object of the response; an empty one for status 204.
    /// - Throws: An error for any other response.
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

    @discardableResult
    func get(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> JSONObject {
        try await ask("GET", path, sourceLocation: sourceLocation)
    }

    /// Returns the entity tag of a resource, with its quotes.
    func tag(of path: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let reply = try await send("GET", path)
        try #require(reply.status == 200, "\(reply.text)", sourceLocation: sourceLocation)
        return try #require(reply.header("ETag"), "\(path) has no ETag", sourceLocation: sourceLocation)
    }

    /// Returns the items of a list, from all pages.
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

/// The roles of operators, in order of increasing rights.
enum Role: String, Sendable, CaseIterable {
    case viewer
    case editor
    case owner
}

/// One operator of each role, created by the command line on the first use.
actor Operators {
    private var tokens: [Role: Task<String, any Error>] = [:]

    func token(of role: Role, database: TestDatabase) async throws -> String {
        if let token = tokens[role] { return try await token.value }
        let token = Task {
            let created = try await runFederation(
                ["set", "operators/\(role.rawValue)", "role=\(role.rawValue)", "--json"],
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

/// An error: `federation set operators/NAME` failed.
struct OperatorNotMade: Error {
    let said: String
}

extension Deployment {
    /// Returns a client for the operator of a role.
    func admin(_ role: Role = .owner) async throws -> AdminClient {
        admin(token: try await operators.token(of: role, database: database))
    }

    /// Returns a client with this token, or without a token.
    func admin(token: String?) -> AdminClient { AdminClient(http: service.management, token: token) }

    /// Runs a command of `federation` as an operator does on the service's machine.
    ///
    /// - Parameters:
    ///   - arguments: The command.
    ///   - environment: Additional variables.
    /// - Returns: The ended process.
    /// - Throws: `DeadlinePassed` after killing the process.
    func federation(_ arguments: String..., environment: [String: String] = [:]) async throws -> ManagedProcess {
        try await federation(arguments, environment: environment)
    }

    /// Runs a command of `federation`; see ``federation(_:environment:)``.
    func federation(_ arguments: [String], environment: [String: String] = [:]) async throws -> ManagedProcess {
        try await runFederation(arguments, environment: commandEnvironment.merging(environment) { _, new in new })
    }

    /// Runs a command of `federation` and requires success.
    ///
    /// - Returns: The standard output.
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

    /// The environment of commands: the service's, with the simulator's addresses.
    var commandEnvironment: [String: String] {
        Self.environment(database: database)
            .merging(simulator.environment) { _, new in new }
            .merging(own.environment) { _, new in new }
    }

    /// Returns the entries that a closure added to the audit log, in order, as JSON objects of the table's columns.
    ///
    /// - Returns: The entries.
    /// - Throws: The closure's error.
    func audited(during body: () async throws -> Void) async throws -> [JSONObject] {
        let last = try await lastAudited()
        try await body()
        return try await audited(behind: last)
    }

    /// Returns the id of the latest entry of the audit log.
    func lastAudited() async throws -> String {
        try await value("select coalesce(max(id), 0) from federation.audit_log") ?? "0"
    }

    /// Returns the entries of the audit log after an id.
    func audited(behind last: String) async throws -> [JSONObject] {
        try await rows("select to_jsonb(a) from federation.audit_log a where id > \(last) order by id")
    }
}
