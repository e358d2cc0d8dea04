import HTTPTypes
import Hummingbird
import Vocabulary

/// Answers `method_not_allowed`, with the methods that would do, where a path exists and the method does not.
///
/// It has to be added behind all routes: then the router asks it for requests that match none of them, and only for those.
struct MethodNotAllowed: RouterMiddleware {
    private let paths: [(path: RouterPath, methods: String)]

    init(_ router: Router<APIContext>) {
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

    func handle(
        _ request: Request,
        context: APIContext,
        next: (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        let segments = request.uri.path.split(separator: "/")
        guard let methods = paths.first(where: { Self.fits($0.path, segments) })?.methods else {
            return try await next(request, context)
        }
        throw Failure(.methodNotAllowed, "This path takes \(methods) only.", details: ["allow": .string(methods)])
    }

    private static func fits(_ path: RouterPath, _ segments: [Substring]) -> Bool {
        path.count == segments.count && zip(path, segments).allSatisfy { $0 ~= $1 }
    }

    private static func captures(_ path: RouterPath) -> Int {
        path.count { $0.description.hasPrefix("{") }
    }
}
