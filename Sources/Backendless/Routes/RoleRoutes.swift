import Accounts
import HTTP
import Hummingbird
import Vocabulary

/// Roles of users.
struct RoleRoutes {
    let roles: Roles

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/userroles") { request, _, application in
            .json(Self.list(try await roles.ownRoles(token: request.userToken, in: application)))
        }
        routes.on(.get, "users/userroles/:objectId") { request, context, application in
            let roles = try await roles.roles(
                of: context.objectID,
                token: request.userToken,
                server: context.server,
                in: application
            )
            return .json(Self.list(roles))
        }
        for (path, isGiven) in [("users/assignRole", true), ("users/unassignRole", false)] {
            routes.on(.post, path) { request, context, application in
                let body = try await request.jsonObject()
                guard let user = try body.text("user"),
                    let role = try body.text("roleName")
                else { throw Failure(.malformedRequest, "The body needs the texts user and roleName.") }
                try await roles.setRole(
                    role,
                    of: user,
                    isGiven: isGiven,
                    by: context.server,
                    in: application
                )
                return .empty
            }
        }
    }

    private static func list(_ roles: [String]) -> JSONWriter {
        var writer = JSONWriter()
        writer.array { writer in for role in roles { writer.string(role) } }
        return writer
    }
}
