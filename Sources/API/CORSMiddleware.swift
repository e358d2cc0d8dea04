import Federation
import HTTPTypes
import Hummingbird

/// Lets browser pages of other origins call the public API (docs/protocols/backendless.md §1.2).
///
/// No ambient authority exists (the one cookie, `DialogCookie`, opens nothing), so every origin may call unless the operator listed some.
struct CORSMiddleware: RouterMiddleware {
    let directory: ApplicationDirectory

    func handle(
        _ request: Request,
        context: APIContext,
        next: (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        guard let origin = request.headers[.origin], request.fault == nil else {
            return try await next(request, context)
        }
        let allowed = allowedOrigin(origin, request)
        guard request.method == .options, request.headers[.accessControlRequestMethod] != nil else {
            var response = try await next(request, context)
            if let allowed {
                response.headers[.accessControlAllowOrigin] = allowed
                response.headers[.accessControlExposeHeaders] =
                    "Federation-User-Created, Federation-Missing-Permissions, Retry-After, X-Request-Id"
            }
            response.headers[.vary] = "Origin"
            return response
        }
        var headers: HTTPFields = [.vary: "Origin"]
        if let allowed {
            headers[.accessControlAllowOrigin] = allowed
            headers[.accessControlAllowMethods] = "GET, POST, PUT, DELETE, PATCH"
            headers[.accessControlAllowHeaders] =
                "content-type, user-token, idempotency-key, application-id, secret-key, application-type, uistate"
            headers[.accessControlMaxAge] = "3600"
        }
        return Response(status: .noContent, headers: headers)
    }

    /// What to answer to the origin; nil when the application does not allow it.
    private func allowedOrigin(_ origin: String, _ request: Request) -> String? {
        let segments = request.uri.path.split(separator: "/", maxSplits: 2)
        let first = segments.first ?? ""
        var origins = directory.allowedOrigins(of: first)
        // As the routes tell the base paths apart: what follows `/api` is a key, or the beginning of a route.
        let hasKey = segments.dropFirst().first.map { $0.utf8.count >= 16 } ?? false
        if !hasKey, first.utf8.elementsEqual(ApplicationRoutes.hostBound.utf8) {
            origins = request.hostName.flatMap { directory.allowedOrigins(ofHost: $0) }
        } else if !hasKey, first.utf8.elementsEqual(ApplicationRoutes.headerBound.utf8) {
            // A preflight names no application: it is let pass, and the reply to the request itself is kept from other pages.
            origins = request.headers[.applicationID].flatMap { directory.allowedOrigins(of: $0[...]) }
        }
        guard let origins, !origins.isEmpty else { return "*" }
        return origins.contains { $0.utf8.elementsEqual(origin.utf8) } ? origin : nil
    }
}
