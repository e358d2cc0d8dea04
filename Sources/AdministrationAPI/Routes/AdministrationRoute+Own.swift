import Administration
import Description
import Domain
import HTTPTypes

extension AdministrationRoute {
    /// The path of the request that opens a session of the console.
    ///
    /// The token of a link to the console is valid only for this path.
    static let openingSessions = base + "operator/sessions"

    /// The path of the request that creates the first owner, with the token of the setup link.
    static let settingUp = base + "setup"

    /// The route that creates the first owner.
    ///
    /// The authentication (`OperatorGate`) accepts only the token of the setup link for this route.
    static let setup: [AdministrationRoute] = [
        .init(
            .post,
            "setup",
            .viewer,
            factor: .none,
            Operation(
                "createFirstOwner",
                "Creates the first owner and a token, if there is no operator yet.",
                more:
                    """
                    Needs the token of the link from `federation console`, which is single-use, valid for half an \
                    hour, and only accepted here. Operator tokens are refused.
                    """,
                body: Content(.firstOwner, examples: ["owner": #"{"name": "ann"}"#]),
                .created(.createdOperator, "The owner with a token, shown only once.")
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

    /// The routes about the operator who calls: name and role, sessions of the console, second factors.
    static let own: [AdministrationRoute] = [
        .init(
            .get,
            "operator",
            .viewer,
            factor: .none,
            Operation("readCaller", "Reads the operator of the token.", .value(.caller, "The operator."))
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
                "Opens a console session with a token or a single-use link.",
                .value(.openedSession, "The session's token, shown only once.")
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
                "Lists the operator's own console sessions, newest first.",
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
                "Revokes one of the operator's own sessions, by id or as current.",
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
                "Lists the operator's own second factors, and the kinds that can be enrolled.",
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
                "Starts the enrolment of a second factor, or creates new recovery codes.",
                body: Content(.newFactor),
                .value(.pendingEnrolment, "The data to confirm it, or new recovery codes."),
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
                "Confirms the enrolment of a second factor. It then counts as used with the token.",
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
            Operation("removeOwnFactor", "Removes one of the operator's own second factors.", .done)
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
                "Starts the check of the operator's second factor.",
                .value(.askedFactor, "The available factors.")
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
                """
                Verifies a second factor for this token: valid for 12 hours, and for 5 minutes for actions that cannot \
                be undone.
                """,
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
    /// The schema of the kinds of second factors that operators can enrol.
    static let ownFactorKind = oneOf("totp", "recoveryCode", "passkey")

    static let firstOwner = Schema.object(["name": .operatorName]).named("FirstOwner")

    static let caller = Schema.object([
        "name": .operatorName,
        "role": .operatorRole,
        "purpose": .tokenPurpose,
        "machine": .boolean.described("Whether it is a program's token."),
        "secondFactor": .object([
            "enrolled": .boolean.described("Whether the operator has a second factor."),
            "shownSecondsAgo": .long.nullable.described("When a second factor was last used with this token."),
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
        optional: ["label": .string.notEmpty.nullable.described("The operator's name for it, at most 200 bytes.")]
    ).named("NewFactor")

    static let pendingEnrolment = Schema.object(
        [
            "id": .string.described("The factor's id until it is confirmed."),
            "kind": .ownFactorKind,
        ],
        optional: [
            "otpauth": .string.described("The address for an authenticator app."),
            "qr": .string.described("The same as a picture, in SVG."),
            "publicKey": .anyObject.described("PublicKeyCredentialCreationOptionsJSON of a passkey."),
            "recoveryCodes": .strings.described("Shown only once."),
            "expires": .moment,
        ]
    ).named("PendingEnrolment")

    static let factorResponse = Schema.object(optional: [
        "code": .string,
        "credential": .anyObject.described("RegistrationResponseJSON, as the browser returned it."),
    ]).described("One of the two.").named("FactorResponse")

    static let enrolledFactor = factor.without("hint", "codesLeft").adding(
        ["kind": .oneOf("totp", "passkey")],
        optional: ["recoveryCodes": .strings.described("For the first factor. Shown only once.")]
    ).named("EnrolledFactor")

    static let askedFactor = Schema.object(
        [
            "pending": .string.described("Send it back with the factor and the same token. Single-use."),
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
            "factorId": .string.described("The factor of the code."),
            "code": .string,
            "credential": .anyObject.described("AuthenticationResponseJSON, as the browser returned it."),
        ]
    ).described("With either a code or a credential.").named("ShownFactor")
}
