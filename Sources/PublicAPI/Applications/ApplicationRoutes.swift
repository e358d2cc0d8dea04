package import Applications
package import Description
import Domain
package import HTTP
package import HTTPTypes
package import Hummingbird
package import Limiting

/// Mounts routes below the base paths by which requests name their application.
///
/// Each route's handler receives the application that the request names.
package struct ApplicationRoutes {
    private let routes: DescribedRouter
    package let refusals: RefusalLog
    private let directory: ApplicationDirectory
    private let rateLimiter: RateLimiter
    /// Returns the session token of a request.
    private let session: @Sendable (Request) -> String?
    private var bases: [ApplicationBase]
    /// The base URLs of these routes in the OpenAPI document; nil for all base URLs.
    ///
    /// Empty if the document leaves out the routes' base path.
    private var servers: [ServerAddress]?
    /// The rate limit for requests of these routes; nil for no limit.
    ///
    /// It is checked before the body is read.
    private var operation: LimitedOperation?

    package typealias Handler = @Sendable (Request, APIContext, LoadedApplication) async throws -> Response

    init(
        on routes: DescribedRouter,
        of protocols: ClientProtocols,
        directory: ApplicationDirectory,
        refusals: RefusalLog,
        rateLimiter: RateLimiter
    ) {
        (self.routes, self.directory, self.refusals, self.rateLimiter) = (routes, directory, refusals, rateLimiter)
        session = { protocols[$0].session(of: $0) }
        bases = protocols.applicationBases
    }

    /// Returns a copy whose routes have a rate limit.
    package func counting(_ operation: LimitedOperation) -> ApplicationRoutes {
        var routes = self
        routes.operation = operation
        return routes
    }

    /// Returns a copy that mounts routes only below the given base path.
    package func below(_ base: ApplicationBase) -> ApplicationRoutes {
        var routes = self
        routes.bases = [base]
        routes.servers = [base.server].compactMap(\.self)
        return routes
    }

    /// Mounts a route below each base path.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The path, without a leading slash.
    ///   - operation: The OpenAPI description of the route, without the failures that all such routes have. Nil if the
    ///     OpenAPI document leaves the route out.
    ///   - handler: The handler.
    package func on(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ operation: Operation?,
        use handler: @escaping Handler
    ) {
        for base in bases { mount(method, RouterPath(base.path + path), at: base.address, use: handler) }
        guard var operation, servers?.isEmpty != true else { return }
        var failures: [Reply] = [.unauthorized, .unavailable]
        if self.operation != nil { failures.append(.tooMany) }
        if path.contains(":provider") {
            failures.append(.notFound)
            if !operation.parameters.contains(where: { $0.name == Parameter.provider.name }) {
                operation.parameters.insert(.provider, at: 0)
            }
        }
        if let body = operation.body {
            failures += [.badRequest, .payloadTooLarge] + (body.takesAnyType ? [] : [.unsupportedMediaType])
        }
        if operation.needsSession { failures.append(.forbidden) }
        routes.describe(method, "/" + path, operation.or(failures), at: servers ?? [])
    }

    private func mount(
        _ method: HTTPRequest.Method,
        _ path: RouterPath,
        at address: @escaping @Sendable (Request, APIContext) -> ApplicationBase.Address,
        use handler: @escaping Handler
    ) {
        routes.router.on(path, method: method) {
            [directory, refusals, rateLimiter, session, operation] request, context in
            var context = context
            let address = address(request, context)
            let application: LoadedApplication
            do throws(Failure) {
                application = try Self.application(at: address, for: request, &context, in: directory)
            } catch {
                throw refusals.logged(error, .init(key: address.key), in: context)
            }
            do {
                if let operation {
                    try rateLimiter.take(operation, of: application.application.id, from: context.limitedSource)
                }
                return try await handler(request, context, application)
            } catch let failure as Failure {
                let facts = RefusalLog.Facts(application: application.application.id, session: session(request))
                throw refusals.logged(failure, facts, in: context)
            }
        }
    }

    /// Mounts a route for backends, whose credential names the application.
    ///
    /// Rate limits count the requests for the application, and not for their source. The route is not part of the
    /// OpenAPI document.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: The whole path.
    ///   - authorize: Returns the backend that sent a request, and its application.
    ///   - handler: The handler.
    package func onRoot<Backend: Sendable>(
        _ method: HTTPRequest.Method,
        _ path: String,
        authorizing authorize:
            @escaping @Sendable (Request, APIContext) async throws -> (
                backend: Backend, application: LoadedApplication
            ),
        use handler: @escaping @Sendable (Request, APIContext, Backend) async throws -> Response
    ) {
        routes.router.on(RouterPath(path), method: method) {
            [refusals, rateLimiter, operation] request, context in
            var facts = RefusalLog.Facts()
            do {
                let (backend, application) = try await authorize(request, context)
                facts.application = application.application.id
                if let operation { try rateLimiter.take(operation, of: application.application.id, from: nil) }
                return try await handler(request, context, backend)
            } catch let failure as Failure {
                throw refusals.logged(failure, facts, in: context)
            }
        }
    }

    private static func application(
        at address: ApplicationBase.Address,
        for request: Request,
        _ context: inout APIContext,
        in directory: ApplicationDirectory
    ) throws(Failure) -> LoadedApplication {
        switch address {
        case .host(let host): return try directory.application(host: host)
        case .key(let key, of: let id):
            let found =
                if let id { try directory.application(id: id, key: key) } else { try directory.application(key: key) }
            guard !found.key.isServer || request.headers[.origin] == nil else { throw exposed(found.key) }
            context.apiKey = found.key
            return found.application
        }
    }

    /// Returns the failure for a request in which a browser sent the API key of a server.
    ///
    /// Every visitor of the page could read the key.
    private static func exposed(_ key: APIKey) -> Failure {
        Failure(
            .unknownApplication,
            """
            A browser sent a server key, which anyone who opens the page can read. Revoke this key, and use a client \
            key in the page.
            """,
            cause: "a browser sent the server's key \(key.label)"
        )
    }
}
