import Administration
import Description
import Domain
import HTTPTypes

extension AdministrationRoute {
    /// Imports of users from another system.
    static let imports: [AdministrationRoute] = [
        .init(
            .get,
            "applications/{application}/imports",
            .viewer,
            Operation(
                "listImports",
                "The imports that began last, those of the command line among them, with how far they are.",
                .value(
                    .list(of: .import, next: "Always null: at most the 50 that began last."),
                    "The imports, the newest first."
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
                "Brings users of another system along, from a file that the call holds.",
                more:
                    """
                    Bodies of at most 4 MiB; the command line takes files of any size. Users who are there already \
                    stay as they are.
                    """,
                body: Content(
                    .importRequest,
                    examples: ["csv": #"{"source": "csv", "file": "email,name\nann@example.com,Ann\n"}"#]
                ),
                .value(.importOutcome, "What has become of the records."),
                or: [.conflict, .fileTooLarge]
            )
        ) { call in
            .value(
                try await call.administration.userImport.run(
                    call.document(upTo: UserImport.mostBytes),
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
                "The records of a file that became no users, in its order.",
                .page(of: .refusedRecord, "A page of records.")
            )
        ) { call in
            .page(
                try await call.administration.userImport.refusals(of: call["file"], in: call["application"], call.page)
            )
        },
    ]
}

extension Schema {
    static let importRequest = Schema.object(
        [
            "source": .oneOf("backendless", "firebase", "parse", "auth0", "cognito", "supabase", "csv", "ndjson"),
            "file": .string.described("The text of the file."),
        ],
        optional: [
            "apps": .dictionary(of: .string).nullable.described("To which app the ids of a provider belong."),
            "columns": .dictionary(of: .string).nullable.described(
                "Of CSV and lines of JSON: what a field is called in the file."
            ),
            "mapping": .any.described("A mapping, in each form in which one is put."),
            "hashConfig": .string.nullable.described("Firebase's parameters of hashes, as its console shows them."),
            "withoutPasswords": .boolean.nullable,
            "withoutProviders": .strings.nullable,
            "withoutMembers": .strings.nullable,
            "former": .oneOf("resume", "restart").nullable.described(
                "What becomes of an import of this file that did not come to its end."
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
        "finished": .moment.nullable.described("Null while it is not at its end."),
    ]).named("Import")

    static let importOutcome = Schema.object([
        "file": .sha256.described("The SHA-256 of the file."),
        "dryRun": .boolean,
        "records": .integer,
        "imported": .integer,
        "existing": .integer,
        "refused": .integer,
        "untaken": .array(
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
