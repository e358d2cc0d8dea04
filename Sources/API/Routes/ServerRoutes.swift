import Federation
import Hummingbird
import Identity

/// What a server may do to any user, by an API key that the operator has made a server's.
struct ServerRoutes {
    let federation: Federation

    func mount(on routes: ApplicationRoutes) {
        routes.on(.put, "users/:objectId/status") { request, context, application in
            let body = try await request.jsonObject()
            let allowed = [UserStatus.enabled, .disabled]
            let status = try body.text("userStatus")
            guard let status = allowed.first(where: { status?.hasSameBytes(as: $0.rawValue) ?? false }) else {
                throw Failure(.malformedRequest, "userStatus must be ENABLED or DISABLED.")
            }
            try await federation.setStatus(status, of: context.objectID, by: context.server, in: application)
            return .empty
        }
    }
}

extension APIContext {
    /// The server that calls; nil when the API key is none of a server's.
    var server: ServerCaller? { ServerCaller(key: apiKey, source: PeerAddress(remoteAddress).text) }
}
