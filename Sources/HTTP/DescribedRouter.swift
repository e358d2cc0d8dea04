package import Description
package import HTTPTypes
package import Hummingbird

/// The router of the public listener, which also collects the descriptions of its routes for the OpenAPI document.
package final class DescribedRouter {
    /// A route as the OpenAPI document lists it.
    package struct Route {
        package let method: HTTPRequest.Method
        package let path: String
        package let operation: Operation
        /// The base URLs below which the route exists; empty if it exists below every base URL of an application.
        package let servers: [ServerAddress]
    }

    package let router = Router(context: APIContext.self)
    package private(set) var routes: [Route] = []

    package init() {}

    /// Adds a `GET` route that belongs to no application, and its description for the OpenAPI document.
    package func get(
        _ path: String,
        _ operation: Operation,
        at servers: [ServerAddress] = [.root],
        use handler: @escaping @Sendable (Request, APIContext) async throws -> Response
    ) {
        router.get(RouterPath(path), use: handler)
        describe(.get, path, operation, at: servers)
    }

    /// Adds a description of a route to the OpenAPI document.
    ///
    /// If a route exists below several base URLs, call this method once for all of them.
    package func describe(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ operation: Operation,
        at servers: [ServerAddress]
    ) {
        routes.append(Route(method: method, path: path, operation: operation, servers: servers))
    }
}

extension ServerAddress {
    /// The default base URL of the public listener.
    package static let local = "http://127.0.0.1:8080"
    package static let root = ServerAddress(local)
    package static let page = ServerAddress(pages, variables: [application])
    package static let pages = "\(local)/{application}"
    package static let application = (name: "application", value: "demo", description: "The application's id.")
}

extension ReplyHeader {
    package static let requestID = ReplyHeader(
        "X-Request-Id",
        as: "RequestId",
        .string,
        "The id of the request in the log and in errorData."
    )
    package static let retryAfter = ReplyHeader(
        "Retry-After",
        as: "RetryAfter",
        .integer.from(1),
        "Seconds to wait before a retry."
    )
    package static let allow = ReplyHeader("Allow", as: "Allow", .string, "The methods that the path supports.")
}
