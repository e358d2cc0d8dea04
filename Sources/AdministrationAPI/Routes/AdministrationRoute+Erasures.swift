import Administration
import Description
import Domain
import HTTPTypes

extension AdministrationRoute {
    /// The routes that erase the users whose ids at a provider are in a list.
    static let erasures: [AdministrationRoute] = [
        .init(
            .post,
            "applications/{application}/erasures",
            .owner,
            query: [.confirmErasures, .dryRun],
            factor: .within5Minutes,
            Operation(
                "eraseList",
                "Erases the users of a list of provider ids, in parts.",
                more:
                    """
                    Each id becomes a deletion request, as from the provider's callback. Send the same list with each \
                    part, and as after the next of the previous response. Completed ids are skipped.
                    """,
                body: Content(
                    .erasureList,
                    examples: [
                        "list": #"""
                        {"provider": "facebook", "ids": "10150000000000001\n10150000000000002\n",
                        "reason": "list of Meta"}
                        """#
                    ]
                ),
                .value(.erasurePart, "The outcome of the ids of a part, and the start of the next part.")
            )
        ) { call in
            .value(
                try await call.administration.erasureLists.run(
                    call.document(),
                    of: call["application"],
                    isDryRun: try call.isDryRun,
                    confirmation: call.query[.confirmErasures],
                    by: call.actor
                )
            )
        }
    ]
}

extension Parameter {
    static let confirmErasures = Parameter(
        "confirm",
        in: .query,
        .string,
        "The application's id, to confirm an erasure."
    )
}

extension Schema {
    static let erasureList = Schema.object(
        [
            "provider": .string.described("The name of the provider in the application."),
            "ids": .string.described("The list, with one id per line."),
            "reason": .string.described("For the audit log: 1 to 500 bytes."),
        ],
        optional: [
            "apps": .strings.nullable.described(
                "The apps of the ids, if the application has several at the provider."
            ),
            "after": .integer.from(0).nullable.described("next of the previous response."),
        ]
    ).named("ErasureList")

    static let erasurePart = Schema.object([
        "ids": .integer.described("The number of ids of the whole list."),
        "next": .integer.nullable.described("The start of the next part. null at the end."),
        "outcomes": .array(
            of: .object(
                [
                    "line": .integer,
                    "appId": .string,
                    "outcome": .oneOf("user", "identity", "nobody", "waiting", "done", "blocked"),
                ],
                optional: [
                    "confirmationCode": .string,
                    "obstacle": .string,
                ]
            )
        ),
    ]).named("ErasurePart")
}
