import Accounts
import Applications
import Description
import Domain
import Encodings
import HTTP
import HTTPTypes
import Hummingbird
import PublicAPI

/// The routes by which client SDKs query users, `data/Users` and `users` (docs/protocols/backendless.md §3.5).
struct CollectionRoutes {
    let collection: UserCollection

    func mount(on routes: ApplicationRoutes) {
        for (base, suffix) in [("data/:table", ""), ("users", "Too")] {
            routes.on(.get, base, .findUsers.again("findUsers" + suffix)) { request, context, application in
                try await find(.query(request), context, application)
            }
            routes.on(.post, base + "/find", .findUsersByBody.again("findUsersByBody" + suffix)) {
                request,
                context,
                application in
                try await find(.body(request), context, application)
            }
            routes.on(.get, base + "/count", .countUsers.again("countUsers" + suffix)) {
                request,
                context,
                application in
                try await count(.query(request), context, application)
            }
            routes.on(.post, base + "/count", .countUsersByBody.again("countUsersByBody" + suffix)) {
                request,
                context,
                application in
                try await count(.body(request), context, application)
            }
            routes.on(
                .get,
                base + "/:objectId",
                .readOwnUser.again(suffix.isEmpty ? "readOwnUser" : "readOwnUserProperties")
            ) { request, context, application in
                let fields = try FormFields(request.uri.query ?? "")
                return try await record(context.objectID, fields, request, context, application)
            }
        }
        routes.on(.get, "data/:table/pk", .userByKey) { request, context, application in
            let fields = try FormFields(request.uri.query ?? "")
            let id = try fields.value("objectId").flatMap { ObjectID($0) }
            return try await record(id, fields.without("objectId"), request, context, application)
        }
        routes.on(.get, "data/:table/first", .firstUser) { request, context, application in
            try await end(isLast: false, request, context, application)
        }
        routes.on(.get, "data/:table/last", .lastUser) { request, context, application in
            try await end(isLast: true, request, context, application)
        }
        routes.on(.get, "data/:table/properties", .describeUsersToo) { _, context, application in
            try context.requireUsersTable()
            return .json(UserClass.write(application, for: context.server == nil ? .owner : .server))
        }
        routes.on(.get, "users/role/:roleName", .findByRole) { request, context, application in
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

    /// Returns a response with a page of users.
    ///
    /// The response may have megabytes, so a thread of Swift's concurrency pool serializes it. On the thread of the
    /// event loop, other requests would wait meanwhile.
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

    /// Returns a response with the first or the last user that a query finds.
    ///
    /// The order is that of the query; without one, the order of creation.
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
        guard let first = found.first else { throw Failure(.notFound, "No user matches the query.") }
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
            token: request.userSession,
            server: context.server,
            in: application
        )
        let query = try CollectionQuery(query: fields, columns: CollectionColumns(of: application, for: viewer))
        // Parameters that select rows have no meaning for a single row.
        guard query.isAboutMembersAlone else {
            throw Failure(
                .malformedRequest,
                """
                A request for one record supports only props, property and excludeProps, not where, offset, distinct \
                or loadRoles.
                """
            )
        }
        return .json(UserReply.write(user, projection: query.projection))
    }

    /// Returns which rights the client has, and the query that it sent.
    ///
    /// The query can name only the columns that the client may see. So no response reveals a hidden column.
    private func query(
        _ source: QuerySource,
        isCount: Bool = false,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws(Failure) -> (CollectionCaller, CollectionQuery) {
        try context.requireUsersTableIfNamed()
        let caller = try await collection.searcher(
            token: source.request.userSession,
            server: context.server,
            in: application
        )
        return (caller, try await source.read(for: caller.viewer, in: application, isCount: isCount))
    }
}

/// Which part of a request contains the query: the URL or the body.
///
/// Newer SDKs send the query in the body.
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

extension Operation {
    fileprivate static let findUsers = Operation(
        "findUsers",
        under: "server",
        "Searches users. Needs a server key, or the right to search other users.",
        parameters: .query,
        .users,
        or: [.badRequest, .forbidden, .unprocessable]
    )

    fileprivate static let findUsersByBody = Operation(
        "findUsersByBody",
        under: "server",
        "Searches users. Needs a server key, or the right to search other users.",
        body: .userQuery,
        .users,
        or: [.forbidden, .unprocessable]
    )

    fileprivate static let countUsers = Operation(
        "countUsers",
        under: "server",
        "Counts the users of a where clause, as GET data/Users.",
        parameters: [.where],
        .count,
        or: [.badRequest, .forbidden, .unprocessable]
    )

    fileprivate static let countUsersByBody = Operation(
        "countUsersByBody",
        under: "server",
        "The same, with the clause in the body.",
        body: .userCount,
        .count,
        or: [.forbidden, .unprocessable]
    )

    fileprivate static let readOwnUser = Operation(
        "readOwnUser",
        under: "user",
        "Reads the session's user, another user with the right to read others, or any user with a server key.",
        marks: .session,
        parameters: [.objectID] + .members,
        .someMembers,
        or: [.badRequest, .notFound, .unprocessable]
    )

    fileprivate static let userByKey = Operation(
        "userByKey",
        under: "user",
        "The same as GET data/Users/{objectId}.",
        marks: .session,
        parameters: [Parameter("objectId", in: .query, .string, "The id of the user.", isRequired: true)] + .members,
        .someMembers,
        or: [.badRequest, .notFound, .unprocessable]
    )

    fileprivate static let firstUser = Operation(
        "firstUser",
        under: "server",
        "Reads the first user of a query, by default in the order of creation.",
        parameters: .query,
        .someMembers,
        or: [.badRequest, .forbidden, .notFound, .unprocessable]
    )

    fileprivate static let lastUser = firstUser.again("lastUser", "Reads the last user of a query.")

    fileprivate static let describeUsersToo = describeUsers.again(
        "describeUsersToo",
        "The same as GET users/userclassprops."
    )

    fileprivate static let findByRole = Operation(
        "findByRole",
        under: "server",
        "Lists the users who have a role. Needs a server key, unless apiKeyRights has findByRole.",
        parameters: [Parameter("roleName", in: .path, .string, "A role of the application or of the system.")]
            + .query,
        .success("User objects, with roles if requested.", .array(of: .user)),
        or: [.badRequest, .forbidden, .notFound, .unprocessable]
    )
}

extension [Parameter] {
    /// The OpenAPI parameters of a query.
    ///
    /// Some of them select users, and the others select members of user objects.
    fileprivate static let query: [Parameter] =
        [.where, .sortBy, .pageSize, .offset] + members + [.distinct, .loadRoles]

    fileprivate static let members: [Parameter] = [.props, .property, .excludeProps]
}

extension Parameter {
    fileprivate static let `where` = Parameter(
        "where",
        in: .query,
        .string.length(upTo: 8192),
        "A [where clause](../api/users.md#search-users).",
        example: "email = 'ann@example.com'"
    )

    fileprivate static let sortBy = Parameter(
        "sortBy",
        in: .query,
        .strings.count(upTo: 8),
        "Properties to sort by, each optionally followed by asc or desc.",
        marks: joined(example: ["created desc"])
    )

    fileprivate static let pageSize = Parameter(
        "pageSize",
        in: .query,
        .integer.range(1...100).byDefault(.integer(10)),
        "Objects on a page."
    )

    fileprivate static let offset = Parameter(
        "offset",
        in: .query,
        .integer.from(0).byDefault(.integer(0)),
        "Objects to skip before the page."
    )

    fileprivate static let props = Parameter(
        "props",
        in: .query,
        .strings,
        "Names of the members to return. All if absent, empty, or with `*`.",
        marks: joined(example: ["email", "name"])
    )

    fileprivate static let property = Parameter("property", in: .query, .strings, "The same, repeated.")

    fileprivate static let excludeProps = Parameter(
        "excludeProps",
        in: .query,
        .strings,
        "Names of members to leave out.",
        marks: joined(example: ["name"])
    )

    fileprivate static let distinct = Parameter(
        "distinct",
        in: .query,
        .boolean.byDefault(.bool(false)),
        "true: users with equal values in all props are returned once."
    )

    fileprivate static let loadRoles = Parameter(
        "loadRoles",
        in: .query,
        .boolean.byDefault(.bool(false)),
        "true: each object has its roles. Needs a server key."
    )

    /// Returns the OpenAPI members of a parameter that is a list of texts separated by commas.
    private static func joined(example: [String]) -> JSONObject {
        ["style": .string("form"), "explode": .bool(false), "example": .array(example.map { .string($0) })]
    }
}

extension Content {
    fileprivate static let userQuery = Content(
        .anyObject.adding(optional: [
            "where": .string.nullable.length(upTo: 8192),
            "sortBy": .strings.nullable.described(
                "Columns, each optionally followed by a space and asc or desc. A text with commas is also accepted."
            ),
            "pageSize": .integer.nullable.range(1...100).byDefault(.integer(10)),
            "offset": .integer.nullable.from(0).byDefault(.integer(0)),
            "props": .strings.nullable.described("Columns. A text with commas is also accepted."),
            "excludeProps": .strings.nullable.described(
                "Columns. A text with commas is also accepted."
            ),
            "distinct": .boolean.nullable.byDefault(.bool(false)),
            "loadRoles": .boolean.nullable.byDefault(.bool(false)),
        ]),
        examples: ["byAddress": #"{"where": "email = 'ann@example.com'", "props": ["email", "name"]}"#],
        named: "UserQuery",
        isRequired: false
    )

    fileprivate static let userCount = Content(
        .anyObject.adding(optional: ["where": .string.nullable.length(upTo: 8192)]),
        examples: ["since": #"{"where": "created after '2026-01-01'"}"#],
        named: "UserCount",
        isRequired: false
    )
}

extension Reply {
    fileprivate static let users = success(
        "Users, or their requested members.",
        as: "Users",
        .array(of: .anyObject)
    )

    fileprivate static let count = success("The number.", as: "Count", .integer.from(0))
}
