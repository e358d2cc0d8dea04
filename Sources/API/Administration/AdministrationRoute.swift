package import HTTPTypes
import Hummingbird
package import Vocabulary

/// A route of the administration: what it takes, who may call it, and what it does.
///
/// All of them are in `all`; a request can reach nothing else under `/admin`, so whoever walks the list walks everything.
package struct AdministrationRoute: Sendable {
    typealias Handler = @Sendable (AdministrationCall) async throws -> AdministrationReply

    package let method: HTTPRequest.Method
    /// Such as `/admin/v1/applications/{application}`.
    package let path: String
    /// The least role that may call it.
    package let role: OperatorRole
    /// Names of the query parameters that it takes.
    package let query: [String]
    let handler: Handler

    /// What every path begins with.
    static let base = "/admin/v1/"

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ role: OperatorRole,
        query: [String] = [],
        _ handler: @escaping Handler
    ) {
        self.method = method
        self.path = Self.base + path
        self.role = role
        self.query = query
        self.handler = handler
    }

    /// Every route of the administration.
    package static let all =
        applications + keys + providers + properties + mappings + users + bans + documents + operators + audit + service

    /// The names of the path's parameters.
    var parameters: [String] {
        path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }
}

extension [String] {
    /// The query parameters of lists.
    static let page = ["limit", "cursor"]
}
