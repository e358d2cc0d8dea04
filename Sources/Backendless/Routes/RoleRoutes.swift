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
        routes.on(.get, "users/role/:roleName") { request, context, application in
            let query = RoleQuery(request.uri.queryParameters)
            let users = try await roles.users(
                havingRole: context.parameters.get("roleName") ?? "",
                offset: try query.offset,
                limit: try query.pageSize,
                for: context.server,
                in: application
            )
            var writer = JSONWriter(capacity: 4096)
            writer.array { writer in
                for (user, roles) in users {
                    UserReply.write(user, roles: query.loadsRoles ? roles : nil, into: &writer)
                }
            }
            return .json(writer)
        }
    }

    private static func list(_ roles: [String]) -> JSONWriter {
        var writer = JSONWriter()
        writer.array { writer in for role in roles { writer.string(role) } }
        return writer
    }
}

/// The query of a list of users, in the words of client SDKs; what they can ask for besides is passed over.
private struct RoleQuery {
    let loadsRoles: Bool
    private let parameters: Parameters

    init(_ parameters: Parameters) {
        self.parameters = parameters
        loadsRoles = parameters.get("loadRoles") == "true"
    }

    var pageSize: Int64 { get throws(Failure) { try number("pageSize", 1...100) ?? 10 } }

    var offset: Int64 { get throws(Failure) { try number("offset", 0...1_000_000_000) ?? 0 } }

    private func number(_ name: String, _ range: ClosedRange<Int64>) throws(Failure) -> Int64? {
        guard let text = parameters.get(name) else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            throw Failure(
                .malformedRequest,
                "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)."
            )
        }
        return number
    }
}
