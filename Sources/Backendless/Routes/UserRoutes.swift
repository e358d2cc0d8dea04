import Accounts
import Applications
import HTTP
import Hummingbird
import Logins
import Vocabulary

/// Changes of users, by the paths that client SDKs use: the own record, and others where that is allowed.
struct UserRoutes {
    let accountUpdate: AccountUpdate
    let otherRecords: OtherRecords
    let deletions: AccountDeletions

    /// A body with many users at once, each bounded like one that comes alone.
    private static let manyUsers: JSONLimits = {
        var limits = JSONLimits.record
        limits.bytes = 1_048_576
        limits.depth += 1
        limits.members = 16_384
        limits.inside?.depth += 1
        return limits
    }()

    func mount(on routes: ApplicationRoutes) {
        for base in ["data/:table", "users"] {
            routes.on(.put, base + "/:objectId") { request, context, application in
                try context.requireUsersTableIfNamed()
                let record = try await request.jsonObject(limits: .record)
                return try await update(context.objectID, with: record, request, context, application)
            }
            routes.on(.delete, base + "/:objectId") { request, context, application in
                try context.requireUsersTableIfNamed()
                let gone = try await deletions.delete(
                    context.objectID,
                    token: request.userToken,
                    server: context.server,
                    in: application,
                    logger: context.logger
                )
                var writer = JSONWriter(capacity: 48)
                writer.object { $0.member("deletionTime", gone) }
                return .json(writer)
            }
        }
        for path in ["data/:table", "data/:table/upsert", "data/:table/deep-save"] {
            routes.on(.put, path, use: save)
        }
        routes.on(.post, "data/:table") { request, context, application in
            try context.requireUsersTable()
            return try await create(try await request.jsonObject(limits: .record), context, application)
        }
        routes.on(.post, "data/bulk/:table") { request, context, application in
            try context.requireUsersTable()
            let body = try await request.jsonBody(upTo: Self.manyUsers.bytes)
            guard let elements = try JSONParser.parse(body: body, limits: Self.manyUsers).array else {
                throw Failure(.malformedRequest, "The body must be a list of users.")
            }
            var records: [UserRecord] = []
            for element in elements { records.append(UserRecord(body: try JSONObject(body: element))) }
            let users = try await otherRecords.create(
                records,
                by: context.server,
                in: application,
                logger: context.logger
            )
            var writer = JSONWriter(capacity: 64 * users.count)
            writer.array { writer in for made in users { writer.string(made.user.objectID.description) } }
            return .json(writer)
        }
    }

    /// A record with its id is changed; one without is a new user, which a server may make.
    @Sendable private func save(
        _ request: Request,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws -> Response {
        try context.requireUsersTable()
        let record = try await request.jsonObject(limits: .record)
        guard let id = record.present("objectId") else { return try await create(record, context, application) }
        return try await update(id.string.flatMap { ObjectID($0) }, with: record, request, context, application)
    }

    private func create(
        _ record: JSONObject,
        _ context: APIContext,
        _ application: LoadedApplication
    ) async throws -> Response {
        let users = try await otherRecords.create(
            [UserRecord(body: record)],
            by: context.server,
            in: application,
            logger: context.logger
        )
        guard let user = users.first else { throw Failure(.internal, "The service could not make a user.") }
        return .written(user)
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
            server: context.server,
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
            throw Failure(.tableUnknown, "This is a service of users: it has the table Users and no other.")
        }
    }

    /// The same where the path names a table at all.
    func requireUsersTableIfNamed() throws(Failure) {
        if parameters.get("table") != nil { try requireUsersTable() }
    }
}
