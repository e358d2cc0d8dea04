import Description
import Domain
import Encodings
import HTTPTypes
package import Hummingbird

/// Throws `method_not_allowed` if the path of a request has routes, but none for the request's method.
///
/// The failure lists the allowed methods. Its message suggests another path if that differs from the requested path in
/// one segment, and the two segments are similar. If the requested path has no routes, but there is a path to suggest,
/// the middleware throws `not_found` with the suggestion. The middleware must be added after all routes: then the
/// router calls it only for requests that match none of them.
package struct MethodNotAllowed<Context: RequestContext>: RouterMiddleware {
    /// A path that has routes, with the HTTP methods of these routes.
    private struct Entry {
        let path: [RouterPath.Element]
        let isFixed: Bool
        let methods: String
        /// The path as shown in error messages, with each parameter in braces.
        let text: String
    }

    // Computed once, since attackers can request unknown paths as often as they like.
    private let entries: [Entry]
    /// The first segments of all paths, except those paths that begin with a parameter.
    private let beginnings: [RouterPath.Element]

    package init(_ router: Router<Context>) {
        var paths: [(path: RouterPath, methods: [String])] = []
        for route in router.routes {
            if let index = paths.firstIndex(where: { $0.path == route.path }) {
                paths[index].methods.append(route.method.rawValue)
            } else {
                paths.append((route.path, [route.method.rawValue]))
            }
        }
        // Where two paths match, the router chooses the one with fewer parameters.
        entries = paths.sorted { Self.captures($0.path) < Self.captures($1.path) }.map { path, methods in
            Entry(
                path: Array(path),
                isFixed: path.first.map { !$0.description.hasPrefix("{") } ?? false,
                methods: methods.sorted().joined(separator: ", "),
                text: path.description
            )
        }
        beginnings = entries.reduce(into: []) { beginnings, entry in
            guard entry.isFixed, let first = entry.path.first, !beginnings.contains(first) else { return }
            beginnings.append(first)
        }
    }

    package func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        let segments = request.uri.path.split(separator: "/")
        // If the first segment is fixed in some path, the router matches only such paths. So protocols do not share
        // paths.
        let isBelowFixed = segments.first.map { first in beginnings.contains { $0 ~= first } } ?? false
        let fitting = entries.first { ($0.isFixed || !isBelowFixed) && Self.fits($0.path, segments) }
        let hint = nearest(to: segments, for: request.method.rawValue).map { " Did you mean \($0)?" } ?? ""
        guard let methods = fitting?.methods else {
            guard !hint.isEmpty else { return try await next(request, context) }
            throw Failure(.notFound, "This path does not exist." + hint)
        }
        throw Failure(
            .methodNotAllowed,
            "This path only supports \(methods)." + hint,
            details: ["allow": .string(methods)]
        )
    }

    /// Returns the path that the client probably means: it differs from the requested path in one similar segment.
    private func nearest(to segments: [Substring], for method: String) -> String? {
        guard segments.count <= Self.maxSegments else { return nil }
        // The paths that differ in one segment, by the index of this segment.
        var choices = [[String: Entry]](repeating: [:], count: segments.count)
        for entry in entries where entry.path.count == segments.count && entry.methods.contains(method) {
            let wrong = entry.path.indices.filter { !(entry.path[$0] ~= segments[$0]) }
            guard let index = wrong.first, wrong.count == 1 else { continue }
            let name = entry.path[index].description
            // `entries` begin with the paths of fewer parameters. Of two paths, the first one counts.
            if choices[index][name] == nil { choices[index][name] = entry }
        }
        for (segment, choices) in zip(segments, choices).reversed() {
            if let name = NearestName.of(segment, among: choices.keys.sorted()) { return choices[name]?.text }
        }
        return nil
    }

    private static var maxSegments: Int { 12 }

    private static func fits(_ path: [RouterPath.Element], _ segments: [Substring]) -> Bool {
        path.count == segments.count && zip(path, segments).allSatisfy { $0 ~= $1 }
    }

    private static func captures(_ path: RouterPath) -> Int {
        path.count { $0.description.hasPrefix("{") }
    }
}
