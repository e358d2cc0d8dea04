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
            query: [.dryRun, .cursor],
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
                    after: call.query[.cursor],
                    by: call.actor
                )
            )
        },
        .init(
            .post,
            "applications/{application}/importChecks",
            .viewer,
            query: [.cursor],
            Operation(
                "checkImport",
                "Compares the users of a file with those of the application, and changes nothing.",
                more: "The body is that of an import, with the same options. `former` has no effect.",
                body: Content(
                    .importRequest,
                    examples: ["csv": #"{"source": "csv", "file": "email,name\nann@example.com,Ann\n"}"#]
                ),
                .value(.importCheck, "What is here and what is missing."),
                or: [.conflict, .fileTooLarge]
            )
        ) { call in
            .value(
                try await call.administration.userImport.compare(
                    call.document(upTo: UserImport.maxBytes),
                    of: call["application"],
                    after: call.query[.cursor],
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
            query: [.dryRun, .cursor],
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
                    after: call.query[.cursor],
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
        "refusals": .refusedRecords,
        "next": .furtherFindings,
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
        "refusals": .refusedRecords,
        "next": .furtherFindings,
    ]).named("ImportOutcome")

    static let importCheck = Schema.object([
        "file": .sha256.described("The SHA-256 of the file."),
        "records": .integer,
        "complete": .integer.described("Records whose users have everything that the record has."),
        "differs": .integer.described("Records whose users have other values, but all login methods."),
        "incomplete": .integer.described("Records whose users lack an identity, or have no password despite a hash."),
        "missing": .integer.described("Records whose users are not here."),
        "refused": .integer.described("Records that cannot become users."),
        "passwordsTaken": .integer.described("Records with a hash whose users have a password."),
        "passwordsMissing": .integer,
        "emailsShared": .integer.described("Records with an e-mail address of another user, or of an earlier record."),
        "loginsShared": .integer.described("Records with a login name of another user, or of an earlier record."),
        "droppedRecords": .integer.described("Records with a value that no property takes."),
        "droppedValues": .integer,
        "identities": .array(
            of: .object([
                "provider": .string,
                "here": .integer,
                "missing": .integer,
                "ofOthers": .integer.described("Identities of other users."),
            ])
        ),
        "differences": .array(
            of: .object([
                "property": .string,
                "records": .integer,
            ])
        ),
        "unmapped": .array(
            of: .object([
                "field": .string,
                "records": .integer,
            ])
        ),
        "findings": .array(of: .refusedRecord).described("At most 200. A record may have several."),
        "next": .furtherFindings,
    ]).named("ImportCheck")

    private static let refusedRecords = Schema.array(of: .refusedRecord).described("At most 200.")

    private static let furtherFindings = Schema.string.nullable.described(
        "The cursor for further ones: send the request again with it, an import as a dry run. null: there are none."
    )

    static let refusedRecord = Schema.object([
        "record": .integer,
        "line": .integer,
        "reason": .string,
        "message": .string,
    ]).named("RefusedRecord")
}
