import Administration
import Description
import Domain
import HTTP
import HTTPTypes

extension AdministrationRoute {
    static let merges: [AdministrationRoute] = [
        .init(
            .post,
            "applications/{application}/users/{objectId}/merge",
            .owner,
            query: [.dryRun],
            factor: .within5Minutes,
            Operation(
                "mergeUser",
                "Merges another user into this one, who gets the login methods, second factors and roles of both.",
                more: """
                    All sessions of both end. The merge can be undone for seven days: by a link in the mail to both \
                    users, or by an operator. A dry run tells whose value stays for each property.
                    """,
                parameters: [.ifMatch],
                body: Content(
                    .object(
                        ["merged": .uuid.described("The user who becomes a part of this one.")],
                        optional: [
                            "reason": .string.length(1...500).described("For the audit log. Needed unless a dry run."),
                            "rule": .mergeRule, "properties": .mergeRules,
                        ]
                    ),
                    examples: [
                        "merge": """
                        {"merged": "0F3C2A5E-6D1B-4C8A-9E7F-1B2C3D4E5F60", "reason": "ticket 4711", \
                        "properties": {"phone": "take"}}
                        """
                    ]
                ),
                .value(
                    .object([
                        "dryRun": .boolean, "survivor": .uuid, "merged": .uuid, "userStatus": .userStatus,
                        "password": .mergedPassword, "properties": .mergedProperties,
                    ]).named("UserMerge"),
                    "What the merge made of both users, or would make."
                ),
                or: [.conflict, .unprocessable]
            )
        ) { call in
            .value(
                try await call.administration.users.merge(
                    into: call["objectId"],
                    of: call["application"],
                    by: try await call.document(),
                    isDryRun: try call.isDryRun,
                    if: try call.precondition,
                    by: call.actor
                )
            )
        },
        .init(
            .get,
            "applications/{application}/users/{objectId}/merged",
            .viewer,
            Operation(
                "findMergedUsers",
                "Lists the users who were merged into this one, the latest first.",
                .page(
                    of: .object([
                        "objectId": .uuid.described("Of the user who does not exist any more."),
                        "merged": .moment,
                        "undoUntil": .moment.nullable.described("null: the merge cannot be undone any more."),
                    ]).named("MergedUser"),
                    "At most 100 users."
                )
            )
        ) { call in
            .page(try await call.administration.users.mergedUsers(into: call["objectId"], of: call["application"]))
        },
        .init(
            .post,
            "applications/{application}/merged/{objectId}/undo",
            .owner,
            factor: .within5Minutes,
            Operation(
                "undoMerge",
                "Undoes the merge of a user, who exists again.",
                more: """
                    Both users are as before the merge. What was changed or removed since stays so. All sessions of \
                    the survivor end.
                    """,
                body: Content(
                    .object(["reason": .string.length(1...500).described("For the audit log.")]),
                    examples: ["undo": #"{"reason": "two humans with one name"}"#]
                ),
                .value(
                    .object([
                        "survivor": .uuid, "merged": .uuid,
                        "password": .boolean.nullable.described(
                            """
                            Whether the merged user has its password again. false: another user has the login name by \
                            now. null: there was none.
                            """
                        ),
                    ]).named("UndoneMerge"),
                    "The users."
                ),
                or: [.conflict, .unprocessable]
            )
        ) { call in
            .value(
                try await call.administration.users.undoMerge(
                    of: call["objectId"],
                    in: call["application"],
                    by: try await call.document(),
                    by: call.actor
                )
            )
        },
    ]
}
