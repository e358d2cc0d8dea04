import Administration
import Description
import Domain
import Encodings
import HTTP
import HTTPTypes

extension AdministrationRoute {
    static let users: [AdministrationRoute] = [
        .init(
            .get,
            "applications/{application}/users",
            .viewer,
            query: [
                .findObjectID, .findSubject, .findEmail, .findName, .findStatus, .findProvider, .findProperty,
                .findValue,
            ] + .page,
            Operation(
                "findUsers",
                "Users that fit all criteria, in the order of their ids; without criteria all of them.",
                .page(of: .user, "A page of users.")
            )
        ) { call in
            var search = UserSearch()
            search.objectID = call.query[.findObjectID]
            search.subject = call.query[.findSubject]
            search.email = call.query[.findEmail]
            search.name = call.query[.findName]
            search.status = call.query[.findStatus]
            search.provider = call.query[.findProvider]
            switch (call.query[.findProperty], call.query[.findValue]) {
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
        .init(
            .post,
            "applications/{application}/users",
            .editor,
            Operation(
                "createUser",
                "Makes a user, also where the application takes no new users otherwise.",
                more:
                    """
                    What the user's record may hold is the rule of registrations. Roles take the role owner and a \
                    second factor that was shown within five minutes.
                    """,
                body: Content(
                    .newUser,
                    examples: [
                        "link": #"{"user": {"email": "ann@example.com", "name": "Ann"}, "mail": "passwordReset"}"#
                    ]
                ),
                .created(.person, "The user."),
                or: [.conflict, .unprocessable]
            )
        ) { call in
            let document = try await call.document()
            try await call.requireRight(toGiveRolesBy: document)
            let made = try await call.administration.users.create(document, of: call["application"], by: call.actor)
            let id = made.body.object?["user"]?.object?["objectId"]?.string ?? ""
            return .created(made, at: ["applications", call["application"], "users", id])
        },
        .init(
            .get,
            user,
            .viewer,
            Operation(
                "readUser",
                "A user with identities, password login, roles, sessions and second factors.",
                .resource(.person, "The user.")
            )
        ) { call in
            .resource(
                try await call.administration.users.read(call["objectId"], of: call["application"], by: call.actor)
            )
        },
        .init(
            .patch,
            user,
            .editor,
            Operation(
                "changeUser",
                "Disables or enables a user; disabling ends all sessions.",
                parameters: [.ifMatch],
                body: Content(.userPatch, examples: ["disable": #"{"user": {"userStatus": "DISABLED"}}"#]),
                .resource(.person, "The user after the change."),
                or: [.conflict]
            )
        ) { call in
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
        .init(
            .delete,
            user,
            .owner,
            query: [.confirm],
            factor: .within5Minutes,
            Operation(
                "eraseUser",
                "Removes a user with identities and sessions.",
                parameters: [.ifMatch],
                .done,
                or: [.conflict, .unprocessable]
            )
        ) { call in
            _ = try await call.administration.users.erase(
                call["objectId"],
                of: call["application"],
                confirmation: call.query[.confirm],
                if: call.precondition,
                by: call.actor
            )
            return .done
        },
        .init(
            .post,
            user + "/refresh",
            .editor,
            Operation(
                "refreshUser",
                "Reads a user's profile at Facebook again and writes it by the stored mapping.",
                more:
                    """
                    Asks with the access tokens that are kept of the user's identities; 409 without one. An identity \
                    whose token Facebook has withdrawn is marked as revoked.
                    """,
                .resource(.person, "The user after it."),
                or: [.conflict, .unprocessable, .timeout]
            )
        ) { call in
            .resource(
                try await call.administration.users.refresh(
                    call["objectId"],
                    of: call["application"],
                    by: call.actor
                )
            )
        },
        .init(
            .get,
            user + "/properties",
            .viewer,
            Operation(
                "readUserProperties",
                "The properties of a user that operators may write, by their names.",
                .resource(.userProperties, "The properties.")
            )
        ) { call in
            .resource(
                try await call.administration.users.properties(
                    of: call["objectId"],
                    in: call["application"],
                    by: call.actor
                )
            )
        },
        .init(
            .patch,
            user + "/properties",
            .editor,
            Operation(
                "changeUserProperties",
                "Writes properties of a user; null takes a value away.",
                more:
                    """
                    Guarded by a version of their own, which a login that writes another value changes as well. The \
                    address and what people log in by are not among them.
                    """,
                parameters: [.ifMatch],
                body: Content(.userProperties, examples: ["move": #"{"city": "Bern"}"#]),
                .resource(.userProperties, "All of them after the change."),
                or: [.conflict, .unprocessable]
            )
        ) { call in
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
        .init(
            .put,
            user + "/roles/{role}",
            .owner,
            factor: .within5Minutes,
            Operation("giveUserRole", "Gives a user a role; one that is there already stays.", .done, or: [.conflict])
        ) { call in
            try await setRole(isGiven: true, call)
        },
        .init(
            .delete,
            user + "/roles/{role}",
            .owner,
            factor: .within5Minutes,
            Operation(
                "takeUserRole",
                "Takes a role from a user; one that is not there stays away.",
                .done,
                or: [.conflict]
            )
        ) { call in
            try await setRole(isGiven: false, call)
        },
        .init(
            .post,
            user + "/mails",
            .editor,
            Operation(
                "mailUser",
                "Sends a user the link that sets another password, or the one that confirms the address.",
                more: "To the address that is stored, as if the user had asked for it, and counted like it.",
                body: Content(.userMail, examples: ["reset": #"{"mail": "passwordReset"}"#]),
                .done,
                or: [.conflict]
            )
        ) { call in
            try await call.administration.users.sendMail(
                call.document(),
                to: call["objectId"],
                of: call["application"],
                by: call.actor
            )
            return .done
        },
        .init(
            .get,
            user + "/export",
            .editor,
            Operation(
                "exportUser",
                "Everything that is stored of a person.",
                .value(.personExport, "The user, what mappings wrote, sessions, and entries of the audit log.")
            )
        ) { call in
            .value(
                try await call.administration.users.export(call["objectId"], of: call["application"], by: call.actor)
            )
        },
        .init(
            .delete,
            user + "/sessions",
            .editor,
            Operation("endSessions", "Ends all sessions of a user.", parameters: [.ifMatch], .done)
        ) { call in
            try await endSessions(nil, call)
        },
        .init(
            .delete,
            user + "/sessions/{sessionId}",
            .editor,
            Operation("endSession", "Ends one session.", parameters: [.ifMatch], .done)
        ) { call in
            try await endSessions(call["sessionId"], call)
        },
        .init(
            .delete,
            user + "/factors",
            .owner,
            factor: .within5Minutes,
            losing: "all second factors of the user",
            Operation(
                "removeFactors",
                "Takes all second factors from a user, who is told by mail.",
                parameters: [.ifMatch],
                .done,
                or: [.conflict]
            )
        ) { call in
            try await removeFactors(nil, call)
        },
        .init(
            .delete,
            user + "/factors/{factorId}",
            .owner,
            factor: .within5Minutes,
            Operation(
                "removeFactor",
                "Takes a second factor from a user, who is told by mail; also the last one.",
                parameters: [.ifMatch],
                .done,
                or: [.conflict]
            )
        ) { call in
            try await removeFactors(call["factorId"], call)
        },
        .init(
            .delete,
            user + "/identities/{provider}/{appId}/{subject}",
            .owner,
            factor: .within5Minutes,
            Operation(
                "unlinkIdentity",
                "Takes an identity away from a user, with the sessions that it opened; not the only login method.",
                parameters: [.ifMatch],
                .done,
                or: [.conflict]
            )
        ) { call in
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

extension Parameter {
    static let findObjectID = Parameter("objectId", in: .query, .uuid, "The user's id.")
    static let findSubject = Parameter(
        "subject",
        in: .query,
        .subject,
        "The provider's id of the person, by any app."
    )
    static let findEmail = Parameter("email", in: .query, .string.length(1...1000), "The e-mail address, in any case.")
    static let findName = Parameter(
        "name",
        in: .query,
        .string.length(1...1000),
        "The name or a part of it, in any case."
    )
    static let findStatus = Parameter(
        "status",
        in: .query,
        .userStatus,
        """
        What users are: those who may log in, those who may not, those who have to confirm their address first, and \
        guests.
        """
    )
    static let findProvider = Parameter(
        "provider",
        in: .query,
        .providerName,
        "A login method that users have: the name of a provider, `password` or `passkey`."
    )
    static let findProperty = Parameter(
        "property",
        in: .query,
        .propertyName,
        "The name of a declared property; goes with `value`."
    )
    static let findValue = Parameter("value", in: .query, .string.length(1...1000), "The property's value as text.")
}

extension Schema {
    static let userStatus = oneOf("ENABLED", "DISABLED", "EMAIL_CONFIRMATION_PENDING", "GUEST")

    static let user = Schema.object([
        "___class": .string.const("Users"),
        "objectId": .uuid,
        "ownerId": .uuid,
        "created": .moment,
        "updated": .moment.nullable,
        "lastLogin": .moment.nullable,
        "userStatus": .userStatus,
        "socialAccount": .string.nullable,
        "accountType": .string.nullable.described("The same."),
        "blUserLocale": .string.nullable,
        "email": .string.nullable,
        "name": .string.nullable,
        "emailVerified": .boolean,
    ]).open.described("The application's declared properties follow as further members; what has no value is null.")
        .named("User")

    static let userPatch = Schema.object(optional: [
        "user": .userStatusPatch,
        "userStatus": .oneOf("ENABLED", "DISABLED"),
    ]).described("The status in `user`, as it is read, or by itself.").named("UserPatch")

    static let userStatusPatch = Schema.object(["userStatus": .oneOf("ENABLED", "DISABLED")]).named("UserStatusPatch")

    static let newUser = Schema.object(
        [
            "user": .object(optional: ["userStatus": .oneOf("ENABLED", "DISABLED", "EMAIL_CONFIRMATION_PENDING")]).open
                .described("Properties by their names, each as a client would give it, and userStatus.")
        ],
        optional: [
            "password": .string.nullable,
            "mail": .oneOf("passwordReset").nullable.described(
                "In place of a password: mails the address a link under which one is chosen."
            ),
            "roles": .strings.nullable.described("Of the application's."),
        ]
    ).named("NewUser")

    static let userMail = Schema.object(["mail": .oneOf("passwordReset", "emailConfirmation")]).named("UserMail")

    static let userProperties = Schema.anyObject.open.described(
        "Values by the names of properties, each of its type; null for none."
    ).named("UserProperties")

    static let identity = Schema.object([
        "provider": .string,
        "appId": .string.described(
            "`global` where the provider knows a person by one subject in all apps, as Twitter does."
        ),
        "subject": .string,
        "created": .moment,
        "lastUsed": .moment,
        "grantedScopes": .strings,
        "declinedScopes": .strings.described(
            "What the person declined when the dialog asked last, or took back since."
        ),
        "dataAccessExpires": .moment.nullable,
        "revoked": .moment.nullable.described(
            """
            When our access ended, as Facebook tells it, or when a check found out; null while it has not. A login \
            clears it.
            """
        ),
        "revokedBy": .string.nullable.described(
            "How we heard of it: deauthorize, webhook, or a check of the kept token."
        ),
        "tokenKept": .boolean.described("Whether a provider token is kept; the token itself is never shown."),
        "tokenExpires": .moment.nullable,
        "checked": .moment.nullable.described("When the kept token was verified with Facebook last."),
    ]).named("Identity")

    static let session = Schema.object([
        "id": .string,
        "source": .string.nullable.described(
            """
            From which address it was opened; null where the log of logins does not tell, and for a login by a server \
            of the application's.
            """
        ),
        "userAgent": .string.nullable.described(
            """
            With what it was opened: the header User-Agent, at most 200 bytes; null where the log of logins does not \
            tell.
            """
        ),
        "created": .moment,
        "lastSeen": .moment,
        "expires": .moment,
    ]).named("Session")

    static let passwordLogin = Schema.object([
        "login": .string.described("The e-mail address in lower case."),
        "changed": .moment.described("When the password was chosen, milliseconds since 1970 UTC."),
    ]).nullable.described("What the user logs in with by password; null without one.").named("PasswordLogin")

    static let givenRoles = Schema.strings.described(
        "The roles that the user was given; those that follow from what a user is are not among them."
    ).named("GivenRoles")

    static let factor = Schema.object(
        [
            "id": .uuid,
            "kind": .cases(of: FactorKind.self),
            "label": .string.nullable.described("What its person calls it."),
            "created": .moment,
            "lastUsed": .moment.nullable,
        ],
        optional: [
            "hint": .string.described("So much of the address or number that codes are sent to."),
            "codesLeft": .integer.described("Of recovery codes."),
        ]
    ).named("Factor")

    static let person = Schema.object([
        "user": .user,
        "identities": .array(of: .identity),
        "password": .passwordLogin,
        "roles": .givenRoles,
        "sessions": .array(of: .session),
        "factors": .array(of: .factor),
    ]).named("Person")

    static let personExport = person.adding([
        "identities": .array(of: identity.adding(["written": .anyObject.described("What mappings wrote last.")])),
        "invitations": .array(of: .invitation),
        "audit": .array(of: .auditEntry),
    ]).named("PersonExport")
}
