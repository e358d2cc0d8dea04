import Applications
import HTTP
import HTTPTypes
import Hummingbird
import Limiting
import Vocabulary

/// Mounts routes under the base paths of applications and resolves the application in front of every handler.
///
/// There are three bases: `/{applicationId}/{apiKey}`; `/api` on a host of the application's; and `/v1`, where headers
/// name application and key, as old client SDKs have it (docs/protocols/backendless.md §1.1). An application whose id
/// is `api` or `v1` keeps the first form: a key has at least 16 characters, so what follows it tells the two apart.
struct ApplicationRoutes {
    let router: Router<APIContext>
    let directory: ApplicationDirectory
    let refusals: RefusalLog
    let rateLimiter: RateLimiter
    /// What a request of these routes counts as, before anything of it is read; nil: it is not counted.
    var operation: LimitedOperation?

    typealias Handler = @Sendable (Request, APIContext, LoadedApplication) async throws -> Response

    /// The first segment of host-bound paths.
    static let hostBound = "api"
    /// The first segment of paths whose application the headers name.
    static let headerBound = "v1"

    /// The same routes, whose requests count as something.
    func counting(_ operation: LimitedOperation) -> ApplicationRoutes {
        var routes = self
        routes.operation = operation
        return routes
    }

    func on(_ method: HTTPRequest.Method, _ path: String, use handler: @escaping Handler) {
        mount(method, "/{applicationId}/{apiKey}/" + path, use: handler) { _, context in
            .key(context.parameters["apiKey"] ?? "", of: context.parameters["applicationId"] ?? "")
        }
        for first in [Self.hostBound, Self.headerBound] {
            mount(method, "/\(first)/{apiKey}/" + path, use: handler) { _, context in
                .key(context.parameters["apiKey"] ?? "", of: first[...])
            }
        }
        onHeaderBound(method, path, use: handler)
        mount(method, "/\(Self.hostBound)/" + path, use: handler) { request, _ in .host(request.hostName ?? "") }
    }

    /// Mounts a route under `/v1` alone.
    func onHeaderBound(_ method: HTTPRequest.Method, _ path: String, use handler: @escaping Handler) {
        mount(method, "/\(Self.headerBound)/" + path, use: handler) { request, _ in
            .key(
                request.headers[.secretKey].map { $0[...] } ?? "",
                of: request.headers[.applicationID].map { $0[...] } ?? ""
            )
        }
    }

    /// By what a request says which application it is for.
    private enum Address {
        case key(Substring, of: Substring)
        case host(Substring)

        var key: String? {
            guard case .key(let key, _) = self else { return nil }
            return String(key)
        }
    }

    private func mount(
        _ method: HTTPRequest.Method,
        _ path: String,
        use handler: @escaping Handler,
        address: @escaping @Sendable (Request, APIContext) -> Address
    ) {
        router.on(RouterPath(path), method: method) { [directory, refusals, rateLimiter, operation] request, context in
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
                throw refusals.logged(failure, request.facts(application), in: context)
            }
        }
    }

    private static func application(
        at address: Address,
        for request: Request,
        _ context: inout APIContext,
        in directory: ApplicationDirectory
    ) throws(Failure) -> LoadedApplication {
        switch address {
        case .host(let host): return try directory.application(host: host)
        case .key(let key, of: let id):
            let found = try directory.application(id: id, key: key)
            guard !found.key.isServer || request.headers[.origin] == nil else { throw exposed(found.key) }
            context.apiKey = found.key
            return found.application
        }
    }

    /// Whoever looks at the page has the key.
    private static func exposed(_ key: APIKey) -> Failure {
        Failure(
            .unknownApplication,
            "This is a server's key, and a browser sent it. Revoke it, since everybody who opens the page can read it, and give the page another.",
            cause: "a browser sent the server's key \(key.label)"
        )
    }
}

extension Request {
    /// What the log has of a request of the application that is refused.
    func facts(_ application: LoadedApplication) -> RefusalLog.Facts {
        .init(application: application.application.id, session: headers[.userToken])
    }

    /// The session token of the header, if it can be one of ours.
    var userToken: SessionToken? {
        headers[.userToken].flatMap { SessionToken(received: $0) }
    }
}
