import Administration
import Description
import Domain
import HTTPTypes

extension AdministrationRoute {
    static let keys: [AdministrationRoute] = [
        .init(
            .get,
            "applications/{application}/keys",
            .viewer,
            Operation("listKeys", "Lists the application's API keys by their labels.", .list(of: .key, "All keys."))
        ) { call in
            .resource(try await call.administration.keys.list(of: call["application"]))
        },
        .init(
            .post,
            "applications/{application}/keys",
            .owner,
            factor: .within5Minutes,
            Operation(
                "createKey",
                "Creates a key, or stores the given one.",
                body: Content(.newKey, examples: ["made": #"{"label": "ios"}"#]),
                .created(.createdKey, "The key, shown only once."),
                or: [.conflict]
            )
        ) { call in
            let made = try await call.administration.keys.create(
                of: call["application"],
                call.document(),
                by: call.actor
            )
            return .created(made, at: ["applications", call["application"], "keys", made.text("label")])
        },
        .init(
            .patch,
            "applications/{application}/keys/{label}",
            .owner,
            Operation(
                "relabelKey",
                "Changes the label of a key.",
                parameters: [.ifMatch],
                body: Content(.keyPatch, examples: ["label": #"{"label": "android"}"#]),
                .resource(.key, "The key."),
                or: [.conflict]
            )
        ) { call in
            .resource(
                try await call.administration.keys.relabel(
                    call["label"],
                    of: call["application"],
                    patch: call.patch(),
                    if: call.precondition,
                    by: call.actor
                )
            )
        },
        .init(
            .delete,
            "applications/{application}/keys/{label}",
            .owner,
            factor: .within5Minutes,
            losing: "the key, which no client can use any more",
            Operation("revokeKey", "Revokes a key.", parameters: [.ifMatch], .done, or: [.conflict])
        ) { call in
            try await call.administration.keys.revoke(
                call["label"],
                of: call["application"],
                if: call.precondition,
                by: call.actor
            )
            return .done
        },
    ]
}

extension Schema {
    static let key = Schema.object([
        "label": .label,
        "created": .moment,
        "server": .boolean,
    ]).named("Key")

    static let newKey = Schema.object(
        ["label": .label],
        optional: [
            "key": .keyText.nullable.secret,
            "server": .boolean.nullable.described("Whether it is a server key. The default is false."),
        ]
    ).named("NewKey")

    static let createdKey = key.adding(["key": .keyText.secret]).named("CreatedKey")

    static let keyPatch = newKey.without("key", "server").patch.named("KeyPatch")

    static let label = Schema.string.length(1...100).described("At most 100 bytes of UTF-8.")
    static let keyText = Schema.string.pattern("^[A-Za-z0-9_-]{16,128}$")
}
