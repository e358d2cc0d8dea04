import Administration
import HTTP
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let users: [AdministrationRoute] = [
        .init(
            .get,
            "applications/{application}/users",
            .viewer,
            query: ["objectId", "subject", "email", "name", "status", "provider", "property", "value"] + .page
        ) { call in
            var search = UserSearch()
            search.objectID = call.query["objectId"]
            search.subject = call.query["subject"]
            search.email = call.query["email"]
            search.name = call.query["name"]
            search.status = call.query["status"]
            search.provider = call.query["provider"]
            switch (call.query["property"], call.query["value"]) {
            case (nil, nil): break
            case (let name?, let value?): search.property = (name, value)
            default: throw Failure(.malformedRequest, "property and value go together: the name, and what it must be.")
            }
            return .page(
                try await call.administration.users.list(
                    of: call["application"],
                    matching: search,
                    call.page,
                    by: call.actor
                )
            )
        },
        .init(.post, "applications/{application}/users", .editor) { call in
            let document = try await call.document()
            try await call.requireRight(toGiveRolesBy: document)
            let made = try await call.administration.users.create(document, of: call["application"], by: call.actor)
            let id = made.body.object?["user"]?.object?["objectId"]?.string ?? ""
            return .created(made, at: ["applications", call["application"], "users", id])
        },
        .init(.get, user, .viewer) { call in
            .resource(
                try await call.administration.users.read(call["objectId"], of: call["application"], by: call.actor)
            )
        },
        .init(.patch, user, .editor) { call in
            .resource(
                try await call.administration.users.change(
                    call["objectId"],
                    of: call["application"],
                    patch: call.patch(),
                    if: call.precondition,
                    by: call.actor
                )
            )
        },
        .init(.delete, user, .owner, query: ["confirm"], factor: .within5Minutes) { call in
            _ = try await call.administration.users.erase(
                call["objectId"],
                of: call["application"],
                confirmation: call.query["confirm"],
                if: call.precondition,
                by: call.actor
            )
            return .done
        },
        .init(.post, user + "/refresh", .editor) { call in
            .resource(
                try await call.administration.users.refresh(
                    call["objectId"],
                    of: call["application"],
                    by: call.actor
                )
            )
        },
        .init(.get, user + "/properties", .viewer) { call in
            .resource(
                try await call.administration.users.properties(
                    of: call["objectId"],
                    in: call["application"],
                    by: call.actor
                )
            )
        },
        .init(.patch, user + "/properties", .editor) { call in
            .resource(
                try await call.administration.users.changeProperties(
                    of: call["objectId"],
                    in: call["application"],
                    patch: call.patch(),
                    if: call.precondition,
                    by: call.actor
                )
            )
        },
        .init(.put, user + "/roles/{role}", .owner, factor: .within5Minutes) { call in
            try await setRole(isGiven: true, call)
        },
        .init(.delete, user + "/roles/{role}", .owner, factor: .within5Minutes) { call in
            try await setRole(isGiven: false, call)
        },
        .init(.post, user + "/mails", .editor) { call in
            try await call.administration.users.sendMail(
                call.document(),
                to: call["objectId"],
                of: call["application"],
                by: call.actor
            )
            return .done
        },
        .init(.get, user + "/export", .editor) { call in
            .value(
                try await call.administration.users.export(call["objectId"], of: call["application"], by: call.actor)
            )
        },
        .init(.delete, user + "/sessions", .editor) { call in
            try await endSessions(nil, call)
        },
        .init(.delete, user + "/sessions/{sessionId}", .editor) { call in
            try await endSessions(call["sessionId"], call)
        },
        .init(.delete, user + "/factors", .owner, factor: .within5Minutes) { call in
            try await removeFactors(nil, call)
        },
        .init(.delete, user + "/factors/{factorId}", .owner, factor: .within5Minutes) { call in
            try await removeFactors(call["factorId"], call)
        },
        .init(.delete, user + "/identities/{provider}/{appId}/{subject}", .owner, factor: .within5Minutes) { call in
            _ = try await call.administration.users.unlink(
                provider: try ProviderName(inPath: call["provider"]).text,
                app: call["appId"],
                subject: call["subject"],
                from: call["objectId"],
                of: call["application"],
                if: call.precondition,
                by: call.actor
            )
            return .done
        },
    ]

    /// Erasures by lists of ids.
    static let erasures: [AdministrationRoute] = [
        .init(
            .post,
            "applications/{application}/erasures",
            .owner,
            query: ["confirm", "dryRun"],
            factor: .within5Minutes
        ) { call in
            .value(
                try await call.administration.erasureLists.run(
                    call.document(),
                    of: call["application"],
                    isDryRun: try call.isDryRun,
                    confirmation: call.query["confirm"],
                    by: call.actor
                )
            )
        }
    ]

    /// Imports of users from another system.
    static let imports: [AdministrationRoute] = [
        .init(.get, "applications/{application}/imports", .viewer) { call in
            .page(try await call.administration.userImport.list(of: call["application"]))
        },
        .init(
            .post,
            "applications/{application}/imports",
            .owner,
            query: ["dryRun"],
            factor: .within5Minutes
        ) { call in
            .value(
                try await call.administration.userImport.run(
                    call.document(upTo: UserImport.mostBytes),
                    of: call["application"],
                    isDryRun: try call.isDryRun,
                    by: call.actor
                )
            )
        },
        .init(.get, "applications/{application}/imports/{file}/refusals", .viewer, query: .page) { call in
            .page(
                try await call.administration.userImport.refusals(of: call["file"], in: call["application"], call.page)
            )
        },
    ]

    private static let user = "applications/{application}/users/{objectId}"

    @Sendable private static func removeFactors(
        _ factor: String?,
        _ call: AdministrationCall
    ) async throws -> AdministrationReply {
        try await call.administration.users.removeFactors(
            factor,
            of: call["objectId"],
            of: call["application"],
            if: call.precondition,
            by: call.actor
        )
        return .done
    }

    @Sendable private static func setRole(
        isGiven: Bool,
        _ call: AdministrationCall
    ) async throws -> AdministrationReply {
        try await call.administration.users.setRole(
            call["role"],
            isGiven: isGiven,
            of: call["objectId"],
            in: call["application"],
            by: call.actor
        )
        return .done
    }

    @Sendable private static func endSessions(
        _ session: String?,
        _ call: AdministrationCall
    ) async throws -> AdministrationReply {
        try await call.administration.users.endSessions(
            of: call["objectId"],
            session: session,
            of: call["application"],
            if: call.precondition,
            by: call.actor
        )
        return .done
    }
}
