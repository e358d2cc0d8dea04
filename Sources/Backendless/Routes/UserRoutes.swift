import Accounts
import Applications
import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The routes by which clients create, change and delete users.
///
/// Every user may change their own record. Other records can be changed by the application's own server, and by users
/// if the application allows that.
struct UserRoutes {
    let accountUpdate: AccountUpdate
    let otherRecords: OtherRecords
    let deletions: AccountDeletions

    /// The limits of a JSON body with many users.
    ///
    /// In addition, each user in the body must keep to the limits of a single user object.
    private static let manyUsers: JSONLimits = {
        var limits = JSONLimits.record
        limits.bytes = 1_048_576
        limits.depth += 1
        limits.members = 16_384
        limits.inside?.depth += 1
        return limits
    }()

    func mount(on routes: ApplicationRoutes) {
        for (base, suffix) in [("data/:table", ""), ("users", "Too")] {
            routes.on(.put, base + "/:objectId", .updateOwnUser.again("updateOwnUser" + suffix)) {
                request,
                context,
                application in
                try context.requireUsersTableIfNamed()
                let record = try await request.jsonObject(limits: .record)
                return try await update(context.objectID, with: record, request, context, application)
            }
            routes.on(.delete, base + "/:objectId", .deleteUser.again("deleteUser" + suffix)) {
                request,
                context,
                application in
                try context.requireUsersTableIfNamed()
                let gone = try await deletions.delete(
                    context.objectID,
                    token: request.userSession,
                    server: context.server,
                    in: application,
                    logger: context.logger
                )
                var writer = JSONWriter(capacity: 48)
                writer.object { $0.member("deletionTime", gone) }
                return .json(writer)
            }
        }
        routes.on(.put, "data/:table", .saveOwnUser, use: save)
        routes.on(.put, "data/:table/upsert", .upsertUser, use: save)
        routes.on(.put, "data/:table/deep-save", .upsertUser.again("deepSaveUser"), use: save)
        routes.on(.post, "data/:table", .createUser) { request, context, application in
            try context.requireUsersTable()
            return try await create(try await request.jsonObject(limits: .record), context, application)
        }
        routes.on(.post, "data/bulk/:table", .createUsers) { request, context, application in
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

    /// Updates the user whose id is in the record that the client sends.
    ///
    /// If the record has no id, creates a user, which only the application's own server may do.
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
        guard let user = users.first else { throw Failure(.internal, "The user could not be created.") }
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
            token: request.userSession,
            server: context.server,
            from: context.source,
            in: application,
            logger: context.logger
        )
        return .written(user)
    }
}

extension APIContext {
    /// The user id in the path; nil if the text is not a valid id.
    var objectID: ObjectID? { parameters.get("objectId").flatMap { ObjectID($0) } }

    /// Refuses the request unless its path names the table `Users`.
    func requireUsersTable() throws(Failure) {
        guard parameters.get("table") == "Users" else {
            throw Failure(.tableUnknown, "This service only manages users. It has only the table Users.")
        }
    }

    /// Refuses the request if its path names a table other than `Users`.
    func requireUsersTableIfNamed() throws(Failure) {
        if parameters.get("table") != nil { try requireUsersTable() }
    }
}

extension Operation {
    fileprivate static let updateOwnUser = Operation(
        "updateOwnUser",
        under: "user",
        "Changes the session's user, another user with the right to change others, or any user with a server key.",
        more: "You may send the complete object: members that a client cannot write are ignored.",
        marks: .session,
        parameters: [.objectID],
        body: .userRecord,
        .ownUser,
        or: [.notFound, .conflict, .unprocessable, .timeout]
    )

    fileprivate static let deleteUser = Operation(
        "deleteUser",
        under: "user",
        "Deletes the session's own account, or any account with a server key.",
        more: """
            Sessions are revoked at once. The data is erased at once or after the configured delay. Needs a login \
            within the last five minutes.
            """,
        marks: .session,
        parameters: [.objectID],
        .success("When the data was or will be erased.", .object(["deletionTime": .moment])),
        or: [.badRequest, .notFound, .conflict]
    )

    fileprivate static let saveOwnUser = Operation(
        "saveOwnUser",
        under: "user",
        """
        Changes the user with the objectId in the body, as PUT data/Users/{objectId}. Without an objectId it creates a \
        user, which needs a server key.
        """,
        more: "You may send the complete object: members that a client cannot write are ignored.",
        marks: .session,
        body: Content(
            .userRecord,
            examples: ["plain": #"{"objectId": "1F7A0AE8-2B94-417C-9489-248860C19E87", "name": "Ann"}"#]
        ),
        .ownUser,
        or: [.notFound, .conflict, .unprocessable, .timeout]
    )

    fileprivate static let upsertUser = saveOwnUser.again("upsertUser", "The same as PUT data/Users.")

    fileprivate static let createUser = Operation(
        "createUser",
        under: "server",
        "Creates a user without a login. Needs a server key.",
        body: .userRecord,
        .ownUser,
        or: [.forbidden, .conflict, .unprocessable]
    )

    fileprivate static let createUsers = Operation(
        "createUsers",
        under: "server",
        "Creates up to 100 users, all or none. Needs a server key.",
        body: Content(
            .array(of: .userRecord).count(upTo: 100),
            examples: ["two": #"[{"email": "ann@example.com", "name": "Ann"}, {"name": "Bob"}]"#]
        ),
        .success("The ids, in the order of the records.", .strings),
        or: [.forbidden, .conflict, .unprocessable]
    )
}

extension Parameter {
    static let objectID = Parameter(
        "objectId",
        in: .path,
        .uuid,
        "The id of the session's user, in upper or lower case."
    )
}
