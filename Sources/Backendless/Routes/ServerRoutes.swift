import Accounts
import HTTP
import Hummingbird
import Vocabulary

/// What a server may do to any user, by an API key that the operator has made a server's.
struct ServerRoutes {
    let roles: Roles

    func mount(on routes: ApplicationRoutes) {
        routes.on(.put, "users/:objectId/status") { request, context, application in
            let status = try Self.status(in: try await request.jsonObject())
            try await roles.setStatus(status, of: context.objectID, by: context.server, in: application)
            return .empty
        }
    }

    /// The status that a server gives a user.
    private static func status(in body: JSONObject) throws(Failure) -> UserStatus {
        let text = try body.text("userStatus")
        for status in [UserStatus.enabled, .disabled] where text?.hasSameBytes(as: status.rawValue) ?? false {
            return status
        }
        throw Failure(.malformedRequest, "userStatus must be ENABLED or DISABLED.")
    }
}

extension APIContext {
    /// The server that calls; nil when the API key is none of a server's.
    var server: ServerCaller? { ServerCaller(key: apiKey, source: peer.text) }
}
