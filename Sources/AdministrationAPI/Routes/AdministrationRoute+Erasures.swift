import Administration
import Description
import Domain
import HTTPTypes

extension AdministrationRoute {
    /// Erasures by lists of ids.
    static let erasures: [AdministrationRoute] = [
        .init(
            .post,
            "applications/{application}/erasures",
            .owner,
            query: [.confirmErasures, .dryRun],
            factor: .within5Minutes,
            Operation(
                "eraseList",
                "Erases the people of a list of a provider's ids, part by part.",
                more:
                    """
                    Each id becomes a request for deletion, as by the provider's callback. The same list is sent with \
                    each part, and after is the next of the answer before. The same list again passes over what is \
                    done.
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
                .value(.erasurePart, "What has become of the ids of a part, and where the next part begins.")
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
        "The application's id, where people are erased."
    )
}

extension Schema {
    static let erasureList = Schema.object(
        [
            "provider": .string.described("As the application calls it."),
            "ids": .string.described("The text of the list: an id on each line."),
            "reason": .string.described("For the audit log: 1 to 500 bytes."),
        ],
        optional: [
            "apps": .strings.nullable.described(
                "The apps that the ids belong to, where the application has several at the provider."
            ),
            "after": .integer.from(0).nullable.described("The next of the answer before."),
        ]
    ).named("ErasureList")

    static let erasurePart = Schema.object([
        "ids": .integer.described("How many the whole list has."),
        "next": .integer.nullable.described("Where the next part begins; null at the end."),
        "outcomes": .array(
            of: .object(
                [
                    "line": .integer,
                    "appId": .string,
                    "outcome": .oneOf("user", "identity", "nobody", "waiting", "done", "hindered"),
                ],
                optional: [
                    "confirmationCode": .string,
                    "hindrance": .string,
                ]
            )
        ),
    ]).named("ErasurePart")
}
