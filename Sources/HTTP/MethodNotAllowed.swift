import HTTPTypes
package import Hummingbird
import Vocabulary

/// Answers `method_not_allowed`, with the methods that would do, where a path exists and the method does not.
///
/// It has to be added behind all routes: then the router asks it for requests that match none of them, and only for
/// those.
package struct MethodNotAllowed<Context: RequestContext>: RouterMiddleware {
    private let paths: [(path: RouterPath, methods: String)]

    package init(_ router: Router<Context>) {
        var paths: [(path: RouterPath, methods: [String])] = []
        for route in router.routes {
            if let index = paths.firstIndex(where: { $0.path == route.path }) {
                paths[index].methods.append(route.method.rawValue)
            } else {
                paths.append((route.path, [route.method.rawValue]))
            }
        }
        // Where two paths fit, the router takes the one that leaves less open.
        self.paths = paths.sorted { Self.captures($0.path) < Self.captures($1.path) }.map {
            ($0.path, $0.methods.sorted().joined(separator: ", "))
        }
    }

    package func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let segments = request.uri.path.split(separator: "/")
        // Below a fixed first segment the router looks at no other, so that a protocol's paths are no other protocol's.
        let isBelowFixed = paths.contains { Self.isFixed($0.path) && Self.fits($0.path.prefix(1), segments.prefix(1)) }
        let fitting = paths.first { (Self.isFixed($0.path) || !isBelowFixed) && Self.fits($0.path, segments) }
        guard let methods = fitting?.methods else {
            return try await next(request, context)
        }
        throw Failure(.methodNotAllowed, "This path takes \(methods) only.", details: ["allow": .string(methods)])
    }

    private static func isFixed(_ path: RouterPath) -> Bool {
        path.first.map { !$0.description.hasPrefix("{") } ?? false
    }

    private static func fits(
        _ path: some Collection<RouterPath.Element>,
        _ segments: some Collection<Substring>
    ) -> Bool {
        path.count == segments.count && zip(path, segments).allSatisfy { $0 ~= $1 }
    }

    private static func captures(_ path: RouterPath) -> Int {
        path.count { $0.description.hasPrefix("{") }
    }
}
