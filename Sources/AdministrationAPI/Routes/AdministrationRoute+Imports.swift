import Administration
import Description
import Domain
import HTTPTypes

extension AdministrationRoute {
    /// The routes that import users from another system.
    static let imports: [AdministrationRoute] = [
        .init(
            .get,
            "applications/{application}/imports",
            .viewer,
            Operation(
                "listImports",
                "Lists the latest imports with their progress, also those of the command line.",
                .value(
                    .list(of: .import, next: "Always null: at most the latest 50."),
                    "The imports, newest first."
                )
            )
        ) { call in
            .page(try await call.administration.userImport.list(of: call["application"]))
        },
        .init(
            .post,
            "applications/{application}/imports",
            .owner,
            query: [.dryRun],
            factor: .within5Minutes,
            Operation(
                "importUsers",
                "Imports users of another system from a file in the request.",
                more:
                    "Bodies of at most 4 MiB. The command line has no size limit. Existing users are not changed.",
                body: Content(
                    .importRequest,
                    examples: ["csv": #"{"source": "csv", "file": "email,name\nann@example.com,Ann\n"}"#]
                ),
                .value(.importOutcome, "The outcome of the records."),
                or: [.conflict, .fileTooLarge]
            )
        ) { call in
            .value(
                try await call.administration.userImport.run(
                    call.document(upTo: UserImport.maxBytes),
                    of: call["application"],
                    isDryRun: try call.isDryRun,
                    by: call.actor
                )
            )
        },
        .init(
            .get,
            "applications/{application}/imports/{file}/refusals",
            .viewer,
            query: .page,
            Operation(
                "listRefusedRecords",
                "Lists the refused records of a file, in their order.",
                .page(of: .refusedRecord, "A page of records.")
            )
        ) { call in
            .page(
                try await call.administration.userImport.refusals(of: call["file"], in: call["application"], call.page)
            )
        },
        .init(
            .post,
            "applications/{application}/identityImports",
            .owner,
            query: [.dryRun],
            factor: .within5Minutes,
            Operation(
                "importIdentities",
                "Gives identities to users who are here already, from a file in the request.",
                more: """
                    Bodies of at most 4 MiB. The command line has no size limit. A record has objectId or email, and \
                    subject: the user's id at the provider.
                    """,
                body: Content(
                    .identityImportRequest,
                    examples: [
                        "csv": #"{"provider": "facebook", "app": "1", "file": "email,subject\nann@example.com,10\n"}"#
                    ]
                ),
                .value(.identityImportOutcome, "The outcome of the records."),
                or: [.conflict, .fileTooLarge]
            )
        ) { call in
            .value(
                try await call.administration.identityImport.run(
                    call.document(upTo: UserImport.maxBytes),
                    of: call["application"],
                    isDryRun: try call.isDryRun,
                    by: call.actor
                )
            )
        },
    ]
}

extension Schema {
    static let identityImportRequest = Schema.object(
        ["provider": .string, "file": .string.described("The content of the file.")],
        optional: [
            "app": .string.nullable.described("The app to which the ids at the provider belong."),
            "format": .oneOf("csv", "ndjson").nullable.described("The form of the file. The default is csv."),
            "idsOf": .string.nullable.described(
                "The source from which the users were imported, if the file has the source's ids."
            ),
        ]
    ).named("IdentityImportRequest")

    static let identityImportOutcome = Schema.object([
        "file": .sha256.described("The SHA-256 of the file."),
        "dryRun": .boolean,
        "records": .integer,
        "imported": .integer,
        "existing": .integer.described("Records whose users have the identity already."),
        "refused": .integer,
        "refusals": .array(of: .refusedRecord).described("The first 200."),
    ]).named("IdentityImportOutcome")

    static let importRequest = Schema.object(
        [
            "source": .oneOf("backendless", "firebase", "parse", "auth0", "cognito", "supabase", "csv", "ndjson"),
            "file": .string.described("The content of the file."),
        ],
        optional: [
            "apps": .dictionary(of: .string).nullable.described("The app that the ids of a provider belong to."),
            "columns": .dictionary(of: .string).nullable.described(
                "For CSV and JSON lines: the name of a field in the file."
            ),
            "identities": .dictionary(of: .string).nullable.described(
                "For a provider: the field that holds the user's id at the provider."
            ),
            "mapping": .any.described("A mapping, in any form that PUT accepts."),
            "hashConfig": .string.nullable.described("The hash parameters from the Firebase console."),
            "withoutPasswords": .boolean.nullable,
            "withoutProviders": .strings.nullable,
            "withoutMembers": .strings.nullable,
            "former": .oneOf("resume", "restart").nullable.described(
                "How to treat an interrupted import of this file."
            ),
        ]
    ).named("ImportRequest")

    static let `import` = Schema.object([
        "file": .sha256.described("The SHA-256 of the file."),
        "source": .string,
        "records": .integer,
        "imported": .integer,
        "existing": .integer,
        "refused": .integer,
        "started": .moment,
        "finished": .moment.nullable.described("null until it is finished."),
    ]).named("Import")

    static let importOutcome = Schema.object([
        "file": .sha256.described("The SHA-256 of the file."),
        "dryRun": .boolean,
        "records": .integer,
        "imported": .integer,
        "existing": .integer,
        "refused": .integer,
        "identities": .array(
            of: .object([
                "provider": .string,
                "records": .integer,
            ])
        ),
        "unmapped": .array(
            of: .object([
                "field": .string,
                "records": .integer,
            ])
        ),
        "refusals": .array(of: .refusedRecord).described("The first 200."),
    ]).named("ImportOutcome")

    static let refusedRecord = Schema.object([
        "record": .integer,
        "line": .integer,
        "reason": .string,
        "message": .string,
    ]).named("RefusedRecord")
}
