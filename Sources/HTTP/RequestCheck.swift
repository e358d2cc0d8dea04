import Domain
package import Hummingbird

/// Refuses requests with a fault (``RequestFault``), such as two `Host` headers, and paths with empty segments.
///
/// The router would take `users//login` and `users/login/` for `users/login`. A proxy in front would not, so a rule of
/// the proxy for `users/login` could be evaded.
package struct RequestCheck<Context: HTTPContext>: RouterMiddleware {
    private let inspect: @Sendable (Request) -> Void

    /// - Parameter inspect: Looks at each request that is not refused. A middleware of its own would keep more memory
    ///   of each request under way.
    package init(inspect: @escaping @Sendable (Request) -> Void = { _ in }) { self.inspect = inspect }

    package func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        if let fault = request.fault { throw fault.failure }
        guard Self.isPlain(request.uri.path) else { throw Failure(.notFound, "This path does not exist.") }
        inspect(request)
        return try await next(request, context)
    }

    /// Returns whether every slash is followed by a segment, or the path is a single slash.
    static func isPlain(_ path: String) -> Bool {
        let slash = UInt8(ascii: "/")
        var former: UInt8?
        for byte in path.utf8 {
            if byte == slash, former == slash { return false }
            former = byte
        }
        return former != slash || path.utf8.count == 1
    }
}
