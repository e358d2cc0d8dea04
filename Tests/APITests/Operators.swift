import Administration
import Federation
import HTTPTypes
import Providers
import TestSupport
import Testing
import Vocabulary

@testable import API

/// Listeners on a database in which there is an operator of each role, named like it.
struct Operators: Sendable {
    let listeners: Listeners
    let database: TestDatabase
    private let tokens: [OperatorRole: String]

    static func lend(
        knowing further: [any ProviderKind] = [],
        _ body: @escaping @Sendable (Operators) async throws -> Void
    ) async throws {
        try await withDatabase(.schema) { database in
            try await Listeners.onDatabase(database.url, knowing: further) { listeners in
                var tokens: [OperatorRole: String] = [:]
                for role in OperatorRole.allCases {
                    let made = try await listeners.parts.administration.operators.create(
                        .object(["name": .string(role.rawValue), "role": .string(role.rawValue)]),
                        by: Actor(name: "test", source: "here"),
                        as: nil
                    )
                    tokens[role] = made.body.object?["token"]?.string
                }
                try await body(Operators(listeners: listeners, database: database, tokens: tokens))
            }
        }
    }

    func token(_ role: OperatorRole) throws -> String { try #require(tokens[role]) }

    /// Sends a request with the token of a role.
    @discardableResult
    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        as role: OperatorRole = .owner,
        headers: HTTPFields = [:],
        json: String? = nil,
        from address: String = "192.0.2.1"
    ) async throws -> Reply {
        var headers = headers
        headers[.authorization] = "Bearer \(try token(role))"
        if json != nil, headers[.contentType] == nil { headers[.contentType] = "application/json" }
        let path = path.hasPrefix("/") ? path : "/admin/v1/" + path
        return try await listeners.manage(method, path, headers: headers, body: json ?? "", from: address)
    }

    /// The entries of the audit log.
    func auditCount() async throws -> Int {
        let rows = try await database.psql("select count(*) from federation.audit_log")
        return try #require(rows.first?.first?.flatMap { Int($0) })
    }
}

extension AdministrationRoute: CustomTestStringConvertible {
    package var testDescription: String { "\(method.rawValue) \(path)" }

    /// A path that fits the route.
    var filledPath: String {
        path.split(separator: "/").map { $0.hasPrefix("{") ? "/x" : "/" + $0 }.joined()
    }
}
