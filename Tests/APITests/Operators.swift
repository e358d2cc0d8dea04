import Accounts
import Administration
@testable import AdministrationAPI
import Domain
import Encodings
import HTTPTypes
import Providers
import Testing
import TestSupport

/// Listeners on a database that has one operator of each role, named like the role.
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
                        by: ChangeAuthor(name: "test", source: "here"),
                        as: nil
                    )
                    tokens[role] = made.body.object?["token"]?.string
                }
                try await body(Operators(listeners: listeners, database: database, tokens: tokens))
            }
        }
    }

    func token(_ role: OperatorRole) throws -> String { try #require(tokens[role]) }

    /// Sends a request with the token of a role's operator.
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

    /// Returns the number of entries in the audit log.
    func auditCount() async throws -> Int {
        let rows = try await database.psql("select count(*) from federation.audit_log")
        return try #require(rows.first?.first?.flatMap { Int($0) })
    }
}

extension AdministrationRoute: CustomTestStringConvertible {
    package var testDescription: String { "\(method.rawValue) \(path)" }

    /// The route's path with `x` in place of each parameter.
    var filledPath: String {
        path.split(separator: "/").map { $0.hasPrefix("{") ? "/x" : "/" + $0 }.joined()
    }
}
