import Accounts
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import PublicAPI

/// The route by which an application's own server enables or disables any of the application's users.
///
/// The server needs an API key that the operator marked for servers.
struct ServerRoutes {
    let roles: Roles

    func mount(on routes: ApplicationRoutes) {
        routes.on(.put, "users/:objectId/status", .setStatus) { request, context, application in
            let status = try Self.status(in: try await request.jsonObject())
            try await roles.setStatus(status, of: context.objectID, by: context.server, in: application)
            return .empty
        }
    }

    /// Returns the user status that the body of a request asks for.
    private static func status(in body: JSONObject) throws(Failure) -> UserStatus {
        let text = try body.text("userStatus")
        for status in [UserStatus.enabled, .disabled] where text?.hasSameBytes(as: status.rawValue) ?? false {
            return status
        }
        throw Failure(.malformedRequest, "userStatus must be ENABLED or DISABLED.")
    }
}

extension APIContext {
    /// The application's server that sent the request; nil if the API key is not marked for servers.
    var server: ServerCaller? { ServerCaller(key: apiKey, source: peer.text) }
}

extension Operation {
    fileprivate static let setStatus = Operation(
        "setStatus",
        under: "server",
        """
        Disables a user, which revokes the sessions, or enables a user again, who may still have to confirm the \
        address. Needs a server key.
        """,
        parameters: [.objectID],
        body: Content(.anyObject.adding(["userStatus": .oneOf("ENABLED", "DISABLED")])),
        .success("Done. The body is empty."),
        or: [.forbidden, .notFound]
    )
}
