import Federation
import Hummingbird
import Identity

/// The session's own user, by the two paths that client SDKs use.
struct UserRoutes {
    let federation: Federation

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "data/:table/:objectId") { request, context, application in
            guard context.parameters.get("table") == "Users" else {
                throw Failure(.notFound, "There is no such table. Known is: Users.")
            }
            return .json(UserReply.write(try await ownUser(request, context, application)))
        }
        routes.on(.get, "users/:objectId") { request, context, application in
            let user = try await ownUser(request, context, application)
            let properties = request.uri.queryParameters.get("props")
            return .json(UserReply.write(user, selection: UserReply.Selection(properties)))
        }
    }

    private func ownUser(
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws(Failure) -> User {
        let id = context.parameters.get("objectId").flatMap { ObjectID($0) }
        return try await federation.ownUser(id, token: request.userToken, in: application)
    }
}
