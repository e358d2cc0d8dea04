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
                try await find(.query(request), context, application)
            }
            routes.on(.post, base + "/find") { request, context, application in
                try await find(.body(request), context, application)
            }
            routes.on(.get, base + "/count") { request, context, application in
                try await count(.query(request), context, application)
            }
            routes.on(.post, base + "/count") { request, context, application in
                try await count(.body(request), context, application)
            }
            routes.on(.get, base + "/:objectId") { request, context, application in
                let fields = try FormFields(request.uri.query ?? "")
                return try await record(context.objectID, fields, request, context, application)
            }
        }
        routes.on(.get, "data/:table/pk") { request, context, application in
            let fields = try FormFields(request.uri.query ?? "")
            let id = try fields.value("objectId").flatMap { ObjectID($0) }
            return try await record(id, fields.without("objectId"), request, context, application)
        }
        routes.on(.get, "data/:table/first") { request, context, application in
            try await end(isLast: false, request, context, application)
        }
        routes.on(.get, "data/:table/last") { request, context, application in
            try await end(isLast: true, request, context, application)
        }
        routes.on(.get, "data/:table/properties") { _, context, application in
            try context.requireUsersTable()
            return .json(UserClass.write(application, for: context.server == nil ? .owner : .server))
        }
        routes.on(.get, "users/role/:roleName") { request, context, application in
            let caller = try collection.roleSearcher(server: context.server, in: application)
            let role = try application.application.role(context.parameters.get("roleName") ?? "")
            let query = try await QuerySource.query(request).read(for: caller.viewer, in: application)
            var users = query.users
            users.filter = .all([.hasRole(role)] + (users.filter.map { [$0] } ?? []))
            return try await page(users, of: query, for: caller, in: application)
        }
    }

    private func find(
        _ source: QuerySource,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws -> Response {
        let (caller, query) = try await query(source, context, application)
        return try await page(query.users, of: query, for: caller, in: application)
    }

    /// Users as a reply, which may be megabytes: it is made on Swift's pool, since on the event loop everybody else's
    /// requests would wait for it.
    private func page(
        _ users: UserQuery,
        of query: CollectionQuery,
        for caller: CollectionCaller,
        in application: LoadedApplication
    ) async throws -> Response {
        try await withTaskExecutorPreference(globalConcurrentExecutor) {
            let found = try await collection.find(users, withRoles: query.loadsRoles, for: caller, in: application)
            return .json(try UserReply.write(found, projection: query.projection))
        }
    }

    /// The first or the last user of those that the query is about, in its order or in that of their making.
    private func end(
        isLast: Bool,
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws -> Response {
        let (caller, query) = try await query(.query(request), context, application)
        var users = query.users
        users.limit = 1
        if users.order.isEmpty { users.order = [UserOrder(by: .created, isDescending: false)] }
        if isLast { users.order = users.order.map { UserOrder(by: $0.column, isDescending: !$0.isDescending) } }
        let found = try await collection.find(users, withRoles: query.loadsRoles, for: caller, in: application)
        guard let first = found.first else { throw Failure(.notFound, "No user is what was asked for.") }
        return .json(UserReply.write(first, projection: query.projection))
    }

    private func count(
        _ source: QuerySource,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws -> Response {
        let (caller, query) = try await query(source, isCount: true, context, application)
        let count = try await collection.count(query.users.filter, for: caller, in: application)
        var writer = JSONWriter(capacity: 24)
        writer.value(.integer(count))
        return .json(writer)
    }

    private func record(
        _ id: ObjectID?,
        _ fields: FormFields,
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws -> Response {
        try context.requireUsersTableIfNamed()
        let (user, viewer) = try await collection.user(
            id,
            token: request.userToken,
            server: context.server,
            in: application
        )
        let query = try CollectionQuery(query: fields, columns: CollectionColumns(of: application, for: viewer))
        // What else a query says of rows would say nothing of one.
        guard query.isAboutMembersAlone else {
            throw Failure(
                .malformedRequest,
                "A record of an id takes props, property and excludeProps; where, offset, distinct and loadRoles say nothing of one."
            )
        }
        return .json(UserReply.write(user, projection: query.projection))
    }

    /// Who asks, and what: nobody learns by a query which columns there are that they may not see.
    private func query(
        _ source: QuerySource,
        isCount: Bool = false,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws(Failure) -> (CollectionCaller, CollectionQuery) {
        try context.requireUsersTableIfNamed()
        let caller = try await collection.searcher(
            token: source.request.userToken,
            server: context.server,
            in: application
        )
        return (caller, try await source.read(for: caller.viewer, in: application, isCount: isCount))
    }
}

/// Where a query is: newer SDKs send it as a body.
private enum QuerySource {
    case query(Request)
    case body(Request)

    var request: Request {
        switch self {
        case .query(let request), .body(let request): request
        }
    }

    func read(
        for viewer: Viewer,
        in loaded: LoadedApplication,
        isCount: Bool = false
    ) async throws(Failure) -> CollectionQuery {
        let columns = CollectionColumns(of: loaded, for: viewer)
        switch self {
        case .query(let request):
            let fields = try FormFields(request.uri.query ?? "")
            return try CollectionQuery(query: fields, columns: columns, isCount: isCount)
        case .body(let request):
            let bytes = try await request.jsonBodyIfAny(upTo: Request.bodyLimit)
            return try CollectionQuery(
                body: try bytes.map { bytes throws(Failure) in try JSONObject(body: bytes) } ?? JSONObject(),
                columns: columns,
                isCount: isCount
            )
        }
    }
}
