import Accounts
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import PublicAPI

/// The route by which a server changes any user's status, with an API key that the operator marked as a server's.
struct ServerRoutes {
    let roles: Roles

    func mount(on routes: ApplicationRoutes) {
        routes.on(.put, "users/:objectId/status", .setStatus) { request, context, application in
            let status = try Self.status(in: try await request.jsonObject())
            try await roles.setStatus(status, of: context.objectID, by: context.server, in: application)
            return .empty
        }
    }

    /// Returns the user status in a body.
    private static func status(in body: JSONObject) throws(Failure) -> UserStatus {
        let text = try body.text("userStatus")
        for status in [UserStatus.enabled, .disabled] where text?.hasSameBytes(as: status.rawValue) ?? false {
            return status
        }
        throw Failure(.malformedRequest, "userStatus must be ENABLED or DISABLED.")
    }
}

extension APIContext {
    /// The server that sent the request; nil when the API key is not a server's.
    var server: ServerCaller? { ServerCaller(key: apiKey, source: peer.text) }
}

extension Operation {
    fileprivate static let setStatus = Operation(
        "setStatus",
        under: "server",
        """
        Disables a user, which ends the sessions, or enables one again, who may still have to confirm the address; \
        with a server's key.
        """,
        parameters: [.objectID],
        body: Content(.anyObject.adding(["userStatus": .oneOf("ENABLED", "DISABLED")])),
        .success("Done; the body is empty."),
        or: [.forbidden, .notFound]
    )
}
