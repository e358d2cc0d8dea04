import Accounts
import Applications
import HTTP
import Hummingbird
import Logins
import Vocabulary

/// Changes of the session's own user, by the paths that client SDKs use.
struct UserRoutes {
    let accountUpdate: AccountUpdate

    func mount(on routes: ApplicationRoutes) {
        routes.on(.put, "data/:table/:objectId") { request, context, application in
            try context.requireUsersTable()
            return try await updateNamedInPath(request, context, application)
        }
        routes.on(.put, "users/:objectId", use: updateNamedInPath)
        routes.on(.put, "data/:table") { request, context, application in
            try context.requireUsersTable()
            let record = try await request.jsonObject(limits: .record)
            guard let id = record.present("objectId") else {
                throw Failure(
                    .malformedRequest,
                    "The body needs the objectId of the session's own user. A new user is made by POST users/register."
                )
            }
            return try await update(id.string.flatMap { ObjectID($0) }, with: record, request, context, application)
        }
    }

    @Sendable private func updateNamedInPath(
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws -> Response {
        try await update(
            context.objectID,
            with: try await request.jsonObject(limits: .record),
            request,
            context,
            application
        )
    }

    private func update(
        _ id: ObjectID?,
        with record: JSONObject,
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws -> Response {
        let user = try await accountUpdate.update(
            id,
            with: UserRecord(body: record),
            token: request.userToken,
            from: context.source,
            in: application,
            logger: context.logger
        )
        return .written(user)
    }
}

extension APIContext {
    /// The user that the path names; nil when that cannot be one.
    var objectID: ObjectID? { parameters.get("objectId").flatMap { ObjectID($0) } }

    /// Refuses every table but the users'.
    func requireUsersTable() throws(Failure) {
        guard parameters.get("table") == "Users" else {
            throw Failure(.notFound, "There is no such table. Known is: Users.")
        }
    }
}
