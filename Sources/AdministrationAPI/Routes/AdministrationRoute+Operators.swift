import Administration
import Description
import Domain
import HTTPTypes

extension AdministrationRoute {
    static let operators: [AdministrationRoute] = [
        .init(
            .get,
            "operators",
            .viewer,
            query: .page,
            Operation(
                "listOperators",
                "Lists operators in the order of their names.",
                .page(of: .operator, "A page of operators.")
            )
        ) { call in
            .page(try await call.administration.operators.list(call.page))
        },
        .init(
            .post,
            "operators",
            .owner,
            factor: .within5Minutes,
            Operation(
                "createOperator",
                "Creates an operator and a token.",
                body: Content(.newOperator, examples: ["viewer": #"{"name": "ann", "role": "viewer"}"#]),
                .created(.createdOperator, "The operator with a token, shown only once."),
                or: [.conflict]
            )
        ) { call in
            let made = try await call.administration.operators.create(
                call.document(),
                by: call.actor,
                as: call.caller.calling
            )
            return .created(made, at: ["operators", made.text("name")])
        },
        .init(
            .get,
            "operators/{name}",
            .viewer,
            Operation(
                "readOperator",
                "An operator with the tokens by their ids.",
                .resource(.`operator`, "The operator.")
            )
        ) { call in
            .resource(try await call.administration.operators.read(call["name"]))
        },
        .init(
            .patch,
            "operators/{name}",
            .owner,
            factor: .within5Minutes,
            Operation(
                "changeOperator",
                "Changes the role.",
                parameters: [.ifMatch],
                body: Content(.operatorPatch, examples: ["editor": #"{"role": "editor"}"#]),
                .resource(.`operator`, "The operator after the change."),
                or: [.conflict]
            )
        ) { call in
            .resource(
                try await call.administration.operators.change(
                    call["name"],
                    patch: call.patch(),
                    if: call.precondition,
                    by: call.actor
                )
            )
        },
        .init(
            .delete,
            "operators/{name}",
            .owner,
            factor: .within5Minutes,
            losing: "the operator and all tokens",
            Operation(
                "removeOperator",
                "Deletes an operator with all tokens.",
                parameters: [.ifMatch],
                .done,
                or: [.conflict]
            )
        ) { call in
            try await call.administration.operators.remove(call["name"], if: call.precondition, by: call.actor)
            return .done
        },
        .init(
            .post,
            "operators/{name}/tokens",
            .owner,
            factor: .within5Minutes,
            Operation(
                "createToken",
                "Creates another token.",
                body: Content(.newToken, examples: ["day": #"{"expiresInSeconds": 86400}"#]),
                .created(.createdToken, "The token, shown only once."),
                or: [.conflict]
            )
        ) { call in
            let made = try await call.administration.operators.createToken(
                of: call["name"],
                call.document(),
                by: call.actor,
                as: call.caller.calling
            )
            return .created(made, at: ["operators", call["name"], "tokens", made.text("id")])
        },
        .init(
            .delete,
            "operators/{name}/tokens/{id}",
            .owner,
            factor: .within5Minutes,
            Operation("revokeToken", "Revokes a token.", parameters: [.ifMatch], .done, or: [.conflict])
        ) { call in
            try await call.administration.operators.revokeToken(
                call["id"],
                of: call["name"],
                if: call.precondition,
                by: call.actor
            )
            return .done
        },
        .init(
            .get,
            "operators/{name}/factors",
            .owner,
            forPeople: true,
            Operation(
                "listOperatorFactors",
                "Lists the second factors of an operator.",
                .value(.list(of: .factor), "The factors.")
            )
        ) { call in
            .page(try await call.administration.operatorFactors.list(of: call["name"]))
        },
        .init(
            .delete,
            "operators/{name}/factors",
            .owner,
            factor: .within5Minutes,
            forPeople: true,
            losing: "all second factors of the operator",
            Operation(
                "removeOperatorFactors",
                "Removes all second factors of an operator, and resets failed attempts.",
                .done
            )
        ) { call in
            try await call.administration.operatorFactors.remove(nil, of: call["name"], by: call.actor)
            return .done
        },
        .init(
            .delete,
            "operators/{name}/factors/{factorId}",
            .owner,
            factor: .within5Minutes,
            forPeople: true,
            Operation(
                "removeOperatorFactor",
                "Removes a second factor of an operator, and resets failed attempts.",
                .done
            )
        ) { call in
            try await call.administration.operatorFactors.remove(call["factorId"], of: call["name"], by: call.actor)
            return .done
        },
    ]
}

extension Schema {
    static let `operator` = Schema.object([
        "name": .operatorName,
        "role": .operatorRole,
        "created": .moment,
        "tokens": .array(of: .token),
    ]).named("Operator")

    static let token = Schema.object([
        "id": .tokenID,
        "created": .moment,
        "expires": .moment.nullable,
        "machine": .boolean.described("Whether it is a program's token, which needs no second factor."),
        "purpose": .tokenPurpose,
        "lastUsed": .moment.nullable,
    ]).named("Token")

    static let newOperator = Schema.object(["name": .operatorName, "role": .operatorRole])
        .adding(newToken.resolved.properties).named("NewOperator")

    static let createdOperator = `operator`.adding(["token": .tokenText]).named("CreatedOperator")

    static let operatorPatch = Schema.object(["role": .operatorRole]).named("OperatorPatch")

    static let newToken = Schema.object(optional: [
        "expiresInSeconds": .integer.range(60...31_622_400).nullable,
        "machine": .boolean.nullable.described("Whether the token is for a program. The default is false."),
    ]).named("NewToken")

    static let createdToken = token.without("lastUsed").adding(["token": .tokenText]).named("CreatedToken")

    static let tokenText = Schema.string.pattern("^fedop_[A-Za-z0-9_-]{43}$").secret.named("TokenText")

    static let tokenPurpose = Schema.oneOf("calls", "link", "session").described(
        "The purpose of the token: requests to this API, opening one console session, or a console session."
    ).named("TokenPurpose")
}
