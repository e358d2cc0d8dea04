import Accounts
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import PublicAPI

/// The routes that read, assign and unassign roles of users.
struct RoleRoutes {
    let roles: Roles

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/userroles", .readOwnRoles) { request, _, application in
            .json(Self.list(try await roles.ownRoles(token: request.userSession, in: application)))
        }
        routes.on(.get, "users/userroles/:objectId", .readRoles) { request, context, application in
            let roles = try await roles.roles(
                of: context.objectID,
                token: request.userSession,
                server: context.server,
                in: application
            )
            return .json(Self.list(roles))
        }
        for (path, isGiven, operation) in [
            ("users/assignRole", true, Operation.assignRole), ("users/unassignRole", false, .unassignRole),
        ] {
            routes.on(.post, path, operation) { request, context, application in
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

extension Operation {
    fileprivate static let readOwnRoles = Operation(
        "readOwnRoles",
        under: "user",
        "Lists the roles of the session.",
        marks: .session,
        .success("Names of roles.", .strings)
    )

    fileprivate static let readRoles = Operation(
        "readRoles",
        under: "user",
        "Lists the roles of a user: of the session's user, or of any user with a server key.",
        marks: .session,
        parameters: [.objectID],
        .success("Names of roles.", .strings),
        or: [.notFound]
    )

    fileprivate static let assignRole = Operation(
        "assignRole",
        under: "server",
        "Assigns a role to a user. Needs a server key.",
        body: Content(.anyObject.adding(["user": .string, "roleName": .string])),
        .success("Done. The body is empty."),
        or: [.forbidden, .notFound]
    )

    fileprivate static let unassignRole = assignRole.again(
        "unassignRole",
        "Removes a role from a user. Needs a server key."
    )
}
