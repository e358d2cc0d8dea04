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
                .findObjectID, .findSubject, .findFirebaseUID, .findEmail, .findName, .findStatus, .findProvider,
                .findProperty, .findValue,
            ] + .page,
            Operation(
                "findUsers",
                "Lists the users that match all criteria, in the order of their ids. Without criteria, all users.",
                .page(of: .user, "A page of users.")
            )
        ) { call in
            var search = UserSearch()
            search.objectID = call.query[.findObjectID]
            search.subject = call.query[.findSubject]
            search.firebaseUID = call.query[.findFirebaseUID]
            search.email = call.query[.findEmail]
            search.name = call.query[.findName]
            search.status = call.query[.findStatus]
            search.provider = call.query[.findProvider]
            switch (call.query[.findProperty], call.query[.findValue]) {
            case (nil, nil): break
            case (let name?, let value?): search.property = (name, value)
            default:
                throw Failure(
                    .malformedRequest,
                    "property and value must be given together: the name and the value."
                )
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
            .get,
            "applications/{application}/duplicates",
            .viewer,
            query: [.comparedProperties] + .page,
            Operation(
                "findDuplicates",
                "Lists groups of users who have the same values, such as the same e-mail address.",
                more: "Texts are compared without regard to case. The search reads the whole users table.",
                .page(of: .userDuplicates, "A page of groups.")
            )
        ) { call in
            .page(
                try await call.administration.users.duplicates(
                    of: call["application"],
                    by: call.query[.comparedProperties] ?? "email",
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
                "Creates a user, even if the application is closed to new users.",
                more:
                    """
                    The rules of registrations apply to the record. Assigning roles needs the role owner and a second \
                    factor within five minutes.
                    """,
                body: Content(
                    .newUser,
                    examples: [
                        "link": #"{"user": {"email": "ann@example.com", "name": "Ann"}, "mail": "passwordReset"}"#
                    ]
                ),
                .created(.userDetails, "The user."),
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
                "Reads a user with identities, password login, roles, sessions and second factors.",
                .resource(.userDetails, "The user.")
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
                "Disables or enables a user. Disabling revokes all sessions.",
                parameters: [.ifMatch],
                body: Content(.userPatch, examples: ["disable": #"{"user": {"userStatus": "DISABLED"}}"#]),
                .resource(.userDetails, "The user after the change."),
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
                "Erases a user with identities and sessions.",
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
                "Reads a user's profile at Facebook again, and applies the stored mapping.",
                more:
                    """
                    Uses the stored access tokens of the user's identities. Without one, 409. If Facebook has revoked \
                    a token, its identity is marked as revoked.
                    """,
                .resource(.userDetails, "The user after the change."),
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
                "Reads the properties of a user that operators may write, by name.",
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
                "Writes properties of a user. null removes a value.",
                more:
                    """
                    They have their own ETag, which also changes when a login writes other values. The e-mail address \
                    and the login name are not included.
                    """,
                parameters: [.ifMatch],
                body: Content(.userProperties, examples: ["move": #"{"city": "Bern"}"#]),
                .resource(.userProperties, "All properties after the change."),
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
            Operation("giveUserRole", "Assigns a role to a user. An existing role is kept.", .done, or: [.conflict])
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
                "Removes a role from a user. A missing role is not an error.",
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
                "Mails a user the link to set a new password or to confirm the address.",
                more: "Sent to the stored address, with the limits of a request of the user.",
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
                "Exports all data of a user.",
                .value(.userExport, "The user, values written by mappings, sessions, and audit log entries.")
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
            Operation("endSessions", "Revokes all sessions of a user.", parameters: [.ifMatch], .done)
        ) { call in
            try await endSessions(nil, call)
        },
        .init(
            .delete,
            user + "/sessions/{sessionId}",
            .editor,
            Operation("endSession", "Revokes one session.", parameters: [.ifMatch], .done)
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
                "Removes all second factors of a user. The user is notified by mail.",
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
                "Removes a second factor of a user, even the last one. The user is notified by mail.",
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
                "Unlinks an identity from a user, and revokes its sessions. Not for the only login method.",
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
        "The user's id at the provider, for any app."
    )
    static let findFirebaseUID = Parameter(
        "firebaseUid",
        in: .query,
        .string.length(1...128),
        "The user's id for clients of Firebase (`localId`): its uid, or the object id of a user without one."
    )
    static let findEmail = Parameter(
        "email",
        in: .query,
        .string.length(1...1000),
        "The e-mail address, in upper or lower case."
    )
    static let findName = Parameter(
        "name",
        in: .query,
        .string.length(1...1000),
        "The name or a part of it, in upper or lower case."
    )
    static let findStatus = Parameter(
        "status",
        in: .query,
        .userStatus,
        """
        The status of users: those who can log in, those who cannot, those who must confirm their address first, and \
        guests.
        """
    )
    static let comparedProperties = Parameter(
        "by",
        in: .query,
        .string,
        "The properties that are compared, separated by commas, such as `name,birthday`. The default is `email`."
    )
    static let findProvider = Parameter(
        "provider",
        in: .query,
        .providerName,
        "A login method of users: the name of a provider, `password` or `passkey`."
    )
    static let findProperty = Parameter(
        "property",
        in: .query,
        .propertyName,
        "The name of a declared property. Needs `value`."
    )
    static let findValue = Parameter("value", in: .query, .string.length(1...1000), "The property's value as text.")
}

extension Schema {
    static let userStatus = oneOf("ENABLED", "DISABLED", "EMAIL_CONFIRMATION_PENDING", "GUEST")

    static let user = Schema.object(
        [
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
        ],
        optional: [
            "firebaseUid": .string.described(
                "In lists: the user's id for clients of Firebase, if it is not the objectId."
            )
        ]
    ).open.described("The application's declared properties follow as further members. null: no value.")
        .named("User")

    static let userDuplicates = Schema.object([
        "shared": .dictionary(of: .string).described("The common values as text."),
        "count": .integer,
        "users": .array(
            of: .object([
                "objectId": .uuid,
                "userStatus": .userStatus,
                "emailVerified": .boolean,
                "created": .moment,
                "lastLogin": .moment.nullable,
                "loginMethods": .strings.described("Names of providers, `password` and `passkey`."),
            ])
        ).described("At most 20 users, the oldest first."),
    ]).named("UserDuplicates")

    static let userPatch = Schema.object(optional: [
        "user": .userStatusPatch,
        "userStatus": .oneOf("ENABLED", "DISABLED"),
    ]).described("The status, in `user` as it is read, or alone.").named("UserPatch")

    static let userStatusPatch = Schema.object(["userStatus": .oneOf("ENABLED", "DISABLED")]).named("UserStatusPatch")

    static let newUser = Schema.object(
        [
            "user": .object(optional: ["userStatus": .oneOf("ENABLED", "DISABLED", "EMAIL_CONFIRMATION_PENDING")]).open
                .described("Properties by name, as a client writes them, and userStatus.")
        ],
        optional: [
            "password": .string.nullable,
            "mail": .oneOf("passwordReset").nullable.described(
                "Instead of a password: mails a link to choose one."
            ),
            "roles": .strings.nullable.described("Roles of the application."),
        ]
    ).named("NewUser")

    static let userMail = Schema.object(["mail": .oneOf("passwordReset", "emailConfirmation")]).named("UserMail")

    static let userProperties = Schema.anyObject.open.described(
        "Values by property name, each of its type. null: no value."
    ).named("UserProperties")

    static let identity = Schema.object([
        "provider": .string,
        "appId": .string.described(
            "`global` for a provider with one subject per user for all apps, such as Twitter."
        ),
        "subject": .string,
        "created": .moment,
        "lastUsed": .moment,
        "grantedScopes": .strings,
        "declinedScopes": .strings.described(
            "The permissions that the user declined at the last dialog or has revoked since."
        ),
        "dataAccessExpires": .moment.nullable,
        "revoked": .moment.nullable.described(
            """
            When the access was revoked, as reported by Facebook or found by a check. null: not revoked. A login \
            clears it.
            """
        ),
        "revokedBy": .string.nullable.described(
            "The source of the revocation: deauthorize, webhook, or a check of the stored token."
        ),
        "tokenKept": .boolean.described("Whether a provider token is stored. The token itself is never shown."),
        "tokenExpires": .moment.nullable,
        "checked": .moment.nullable.described("When the stored token was last verified with Facebook."),
    ]).named("Identity")

    static let session = Schema.object([
        "id": .string,
        "source": .string.nullable.described(
            "The address from which it was opened. null if the login log does not have it, and for logins by a server."
        ),
        "userAgent": .string.nullable.described(
            "The header User-Agent of the login, at most 200 bytes. null if the login log does not have it."
        ),
        "created": .moment,
        "lastSeen": .moment,
        "expires": .moment,
    ]).named("Session")

    static let passwordLogin = Schema.object([
        "login": .string.described("The e-mail address in lower case."),
        "changed": .moment.described("When the password was chosen, milliseconds since 1970 UTC."),
    ]).nullable.described("The login name. null without a password.").named("PasswordLogin")

    static let givenRoles = Schema.strings.described(
        "The assigned roles of the user, without system roles."
    ).named("GivenRoles")

    static let factor = Schema.object(
        [
            "id": .uuid,
            "kind": .cases(of: FactorKind.self),
            "label": .string.nullable.described("The user's name for it."),
            "created": .moment,
            "lastUsed": .moment.nullable,
        ],
        optional: [
            "hint": .string.described("The masked address or number that gets codes."),
            "codesLeft": .integer.described("Of recovery codes."),
        ]
    ).named("Factor")

    static let userDetails = Schema.object([
        "user": .user,
        "identities": .array(of: .identity),
        "password": .passwordLogin,
        "roles": .givenRoles,
        "firebaseUid": .string.nullable.described(
            "The user's id for clients of Firebase. null: it is the objectId."
        ),
        "firebaseClaims": .anyObject.nullable.described("The custom claims of the user's ID tokens."),
        "sessions": .array(of: .session),
        "factors": .array(of: .factor),
    ]).named("UserDetails")

    static let userExport = userDetails.adding([
        "identities": .array(
            of: identity.adding([
                "written": .anyObject.described("The values that mappings last wrote.")
            ])
        ),
        "invitations": .array(of: .invitation),
        "audit": .array(of: .auditEntry),
    ]).named("UserExport")
}
