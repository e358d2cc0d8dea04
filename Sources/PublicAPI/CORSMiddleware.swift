import HTTP
import HTTPTypes
import Hummingbird

/// Lets browser pages of other origins call the public API (CORS).
///
/// Nothing that a browser sends by itself authorizes a call of the API. Cookies are valid only for the service's pages,
/// which scripts of other origins cannot read. So every origin may call the API unless the operator has listed the
/// allowed origins.
struct CORSMiddleware: RouterMiddleware {
    private let protocols: ClientProtocols

    init(protocols: ClientProtocols) {
        self.protocols = protocols
    }

    func handle(
        _ request: Request,
        context: APIContext,
        next: (Request, APIContext) async throws -> Response
    ) async throws -> Response {
        guard let origin = request.headers[.origin], !request.isAtFault else {
            return try await next(request, context)
        }
        let client = protocols[request]
        let allowed = Self.allowed(origin, by: client.allowedOrigins(of: request))
        guard request.method == .options, request.headers[.accessControlRequestMethod] != nil else {
            var response = try await next(request, context)
            if let allowed {
                response.headers[.accessControlAllowOrigin] = allowed
                response.headers[.accessControlExposeHeaders] = client.exposedHeaders
            }
            response.headers[.vary] = "Origin"
            return response
        }
        var headers: HTTPFields = [.vary: "Origin, Access-Control-Request-Headers"]
        if let allowed {
            headers[.accessControlAllowOrigin] = allowed
            headers[.accessControlAllowMethods] = "GET, POST, PUT, DELETE, PATCH"
            headers[.accessControlAllowHeaders] = RequestedHeaders(request.headers).allowed
            headers[.accessControlMaxAge] = "3600"
        }
        return Response(status: .noContent, headers: headers)
    }

    /// Returns the value of `Access-Control-Allow-Origin`; nil if the application does not allow the origin.
    private static func allowed(_ origin: String, by listed: [String]?) -> String? {
        guard let listed, !listed.isEmpty else { return "*" }
        return listed.contains { $0.utf8.elementsEqual(origin.utf8) } ? origin : nil
    }
}
