import Administration
import Description
import Domain
import HTTPTypes

extension AdministrationRoute {
    /// The path that opens a session of the console, the only use of a link to the console.
    static let openingSessions = base + "operator/sessions"

    /// The path that creates the first owner, by the token of the setup link.
    static let settingUp = base + "setup"

    /// The route that creates the first owner; the gate accepts only the token of the setup link.
    static let setup: [AdministrationRoute] = [
        .init(
            .post,
            "setup",
            .viewer,
            factor: .none,
            Operation(
                "createFirstOwner",
                "Makes the first owner and a token, while there is no operator.",
                more:
                    """
                    By the token of the link that federation console prints, which counts here alone, once, for half \
                    an hour. No token of an operator opens it.
                    """,
                body: Content(.firstOwner, examples: ["owner": #"{"name": "ann"}"#]),
                .created(.createdOperator, "The owner with a token, this once.")
            )
        ) { call in
            let made = try await call.administration.operators.setUp(
                call.document(),
                by: call.caller.calling,
                from: call.actor.source
            )
            return .created(made, at: ["operators", made.text("name")])
        }
    ]

    /// The routes about the caller: identity, sessions of the console, second factors.
    static let own: [AdministrationRoute] = [
        .init(
            .get,
            "operator",
            .viewer,
            factor: .none,
            Operation("readCaller", "Who calls.", .value(.caller, "The caller."))
        ) { call in
            .value(call.administration.operators.describe(call.caller.calling))
        },
        .init(
            .post,
            "operator/sessions",
            .viewer,
            factor: .none,
            forPeople: true,
            Operation(
                "openConsoleSession",
                "Opens a session of the console by a token, or by a link, which is used up.",
                .value(.openedSession, "The session's token, this once.")
            )
        ) { call in
            .value(try await call.administration.operators.openSession(of: call.caller.calling, by: call.actor))
        },
        .init(
            .get,
            "operator/sessions",
            .viewer,
            factor: .none,
            forPeople: true,
            Operation(
                "listConsoleSessions",
                "The caller's sessions of the console, the newest first.",
                .value(.array(of: .consoleSession), "The sessions.")
            )
        ) { call in
            .value(try await call.administration.operators.sessions(of: call.caller.calling))
        },
        .init(
            .delete,
            "operator/sessions/{id}",
            .viewer,
            factor: .none,
            forPeople: true,
            Operation(
                "endConsoleSession",
                "Ends a session of the caller's, by its id, or the one that calls: current.",
                .done
            )
        ) { call in
            let id = call["id"] == "current" ? nil : call["id"]
            try await call.administration.operators.endSession(id, of: call.caller.calling, by: call.actor)
            return .done
        },
        .init(
            .get,
            "operator/factors",
            .viewer,
            forPeople: true,
            Operation(
                "listOwnFactors",
                "The second factors of the operator who calls, and the kinds that can be enrolled.",
                .value(.ownFactors, "The factors.")
            )
        ) { call in
            .value(try await call.administration.operatorFactors.list(of: call.caller.calling))
        },
        .init(
            .post,
            "operator/factors",
            .viewer,
            factor: .within5Minutes,
            forPeople: true,
            Operation(
                "beginOwnFactor",
                "Begins to enrol a second factor; new recovery codes come at once.",
                body: Content(.newFactor),
                .value(.begunFactor, "What it takes to confirm it, or new recovery codes."),
                or: [.conflict]
            )
        ) { call in
            .value(
                try await call.administration.operatorFactors.begin(
                    call.document(),
                    by: call.caller.calling,
                    actor: call.actor
                )
            )
        },
        .init(
            .post,
            "operator/factors/{factorId}/confirm",
            .viewer,
            factor: .within5Minutes,
            forPeople: true,
            Operation(
                "confirmOwnFactor",
                "Enrols a second factor that its person has shown to hold; the token has shown it by that.",
                body: Content(.factorResponse),
                .value(.enrolledFactor, "The factor."),
                or: [.factorRefused, .conflict]
            )
        ) { call in
            .value(
                try await call.administration.operatorFactors.confirm(
                    call["factorId"],
                    call.document(),
                    by: call.caller.calling,
                    actor: call.actor
                )
            )
        },
        .init(
            .delete,
            "operator/factors/{factorId}",
            .viewer,
            factor: .within5Minutes,
            forPeople: true,
            Operation("removeOwnFactor", "Takes a second factor from the operator who calls.", .done)
        ) { call in
            try await call.administration.operatorFactors.remove(
                call["factorId"],
                of: call.caller.calling,
                actor: call.actor
            )
            return .done
        },
        .init(
            .post,
            "operator/secondFactor/start",
            .viewer,
            factor: .none,
            forPeople: true,
            Operation(
                "startOwnFactor",
                "Asks the operator who calls for a second factor.",
                .value(.askedFactor, "What can be shown.")
            )
        ) { call in
            .value(try await call.administration.operatorFactors.start(by: call.caller.calling))
        },
        .init(
            .post,
            "operator/secondFactor/finish",
            .viewer,
            factor: .none,
            forPeople: true,
            Operation(
                "finishOwnFactor",
                "Shows a second factor with this token: for 12 hours, and for 5 minutes for what cannot be undone.",
                body: Content(.shownFactor),
                .done,
                or: [.factorRefused]
            )
        ) { call in
            try await call.administration.operatorFactors.finish(
                call.document(),
                by: call.caller.calling,
                actor: call.actor
            )
            return .done
        },
    ]
}

extension Schema {
    /// The kinds of factors that operators can enrol.
    static let ownFactorKind = oneOf("totp", "recoveryCode", "passkey")

    static let firstOwner = Schema.object(["name": .operatorName]).named("FirstOwner")

    static let caller = Schema.object([
        "name": .operatorName,
        "role": .operatorRole,
        "purpose": .tokenPurpose,
        "machine": .boolean.described("Whether a program has the token."),
        "secondFactor": .object([
            "enrolled": .boolean.described("Whether the operator has a second factor."),
            "shownSecondsAgo": .long.nullable.described("Since one was shown with this token."),
        ]),
    ]).named("Caller")

    static let consoleSession = Schema.object([
        "id": .tokenID,
        "created": .moment,
        "expires": .moment.nullable,
        "lastUsed": .moment.nullable.described("Milliseconds since 1970 UTC, to the minute."),
    ]).named("ConsoleSession")

    static let openedSession = Schema.object([
        "id": .tokenID,
        "expires": .moment,
        "token": .tokenText,
    ]).named("OpenedSession")

    static let ownFactors = Schema.object([
        "factors": .array(of: .factor),
        "kinds": .array(of: .ownFactorKind),
    ]).named("OwnFactors")

    static let newFactor = Schema.object(
        ["kind": .ownFactorKind],
        optional: ["label": .string.notEmpty.nullable.described("What its person calls it; 200 bytes at most.")]
    ).named("NewFactor")

    static let begunFactor = Schema.object(
        [
            "id": .string.described("The factor's id until it is confirmed."),
            "kind": .ownFactorKind,
        ],
        optional: [
            "otpauth": .string.described("The address for an authenticator app."),
            "qr": .string.described("The same as a picture, in SVG."),
            "publicKey": .anyObject.described("PublicKeyCredentialCreationOptionsJSON of a passkey."),
            "recoveryCodes": .strings.described("Shown this once."),
            "expires": .moment,
        ]
    ).named("BegunFactor")

    static let factorResponse = Schema.object(optional: [
        "code": .string,
        "credential": .anyObject.described("RegistrationResponseJSON, as the browser gave it."),
    ]).described("One of the two.").named("FactorResponse")

    static let enrolledFactor = factor.without("hint", "codesLeft").adding(
        ["kind": .oneOf("totp", "passkey")],
        optional: ["recoveryCodes": .strings.described("Of who had none; shown this once.")]
    ).named("EnrolledFactor")

    static let askedFactor = Schema.object(
        [
            "pending": .string.described("Comes back with what is shown, by the same token, once."),
            "factors": .array(
                of: .object([
                    "id": .uuid,
                    "kind": .ownFactorKind,
                    "label": .string.nullable,
                ])
            ),
            "expires": .moment,
        ],
        optional: ["publicKey": .anyObject.described("PublicKeyCredentialRequestOptionsJSON, for passkeys.")]
    ).named("AskedFactor")

    static let shownFactor = Schema.object(
        ["pending": .string],
        optional: [
            "factorId": .string.described("Of which factor the code is."),
            "code": .string,
            "credential": .anyObject.described("AuthenticationResponseJSON, as the browser gave it."),
        ]
    ).described("With a code or a credential, one of the two.").named("ShownFactor")
}
