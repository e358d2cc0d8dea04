import Accounts
import Applications
import HTTP
import HTTPTypes
import Hummingbird
import Vocabulary

/// The users collection as client SDKs ask it (docs/protocols/backendless.md §3.5): by `data/Users` and by `users`.
struct CollectionRoutes {
    let collection: UserCollection

    func mount(on routes: ApplicationRoutes) {
        for base in ["data/:table", "users"] {
            routes.on(.get, base) { request, context, application in
                try await find(try Self.query(of: request, application), context, application)
            }
            routes.on(.post, base + "/find") { request, context, application in
                try await find(try await Self.body(of: request, application), context, application)
            }
            routes.on(.get, base + "/count") { request, context, application in
                try await count(try Self.query(of: request, application, isCount: true), context, application)
            }
            routes.on(.post, base + "/count") { request, context, application in
                try await count(try await Self.body(of: request, application, isCount: true), context, application)
            }
            routes.on(.get, base + "/:objectId") { request, context, application in
                try context.requireUsersTableIfNamed()
                let projection = try Self.projection(of: request, application)
                let user = try await collection.user(
                    context.objectID,
                    token: request.userToken,
                    server: context.server,
                    in: application
                )
                return .json(UserReply.write(user, projection: projection))
            }
        }
        routes.on(.get, "data/:table/properties") { _, context, application in
            try context.requireUsersTable()
            return .json(UserClass.write(application))
        }
    }

    private func find(
        _ query: CollectionQuery,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws -> Response {
        try context.requireUsersTableIfNamed()
        let users = try await collection.find(query.users, for: context.server, in: application)
        return .json(UserReply.write(users, projection: query.projection))
    }

    private func count(
        _ query: CollectionQuery,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws -> Response {
        try context.requireUsersTableIfNamed()
        let count = try await collection.count(query.users.filter, for: context.server, in: application)
        var writer = JSONWriter(capacity: 24)
        writer.value(.integer(count))
        return .json(writer)
    }

    private static func query(
        of request: Request,
        _ loaded: LoadedApplication,
        isCount: Bool = false
    ) throws(Failure) -> CollectionQuery {
        try CollectionQuery(
            query: try FormFields(request.uri.query ?? ""),
            columns: CollectionColumns(of: loaded),
            isCount: isCount
        )
    }

    private static func body(
        of request: Request,
        _ loaded: LoadedApplication,
        isCount: Bool = false
    ) async throws(Failure) -> CollectionQuery {
        let bytes = try await request.jsonBodyIfAny(upTo: Request.bodyLimit)
        return try CollectionQuery(
            body: try bytes.map { bytes throws(Failure) in try JSONObject(body: bytes) } ?? JSONObject(),
            columns: CollectionColumns(of: loaded),
            isCount: isCount
        )
    }

    /// What of a single record is wanted; what else the query says of rows would say nothing of one.
    private static func projection(of request: Request, _ loaded: LoadedApplication) throws(Failure) -> Projection {
        let query = try query(of: request, loaded)
        guard query.isAboutMembersAlone else {
            throw Failure(
                .malformedRequest,
                "A record of an id takes props, property and excludeProps, and nothing else."
            )
        }
        return query.projection
    }
}

extension APIContext {
    /// Refuses every table but the users', where the path names one.
    fileprivate func requireUsersTableIfNamed() throws(Failure) {
        if parameters.get("table") != nil { try requireUsersTable() }
    }
}
