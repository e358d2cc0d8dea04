import Administration
import Description
import Domain
import EmbeddedFiles
import Encodings
import HTTPTypes

extension AdministrationRoute {
    /// The routes about the service as a whole.
    static let service: [AdministrationRoute] = [
        .init(
            .get,
            "secrets",
            .viewer,
            Operation(
                "readSecrets",
                "Under which master keys secrets are stored.",
                .value(.secrets, "Master keys by their ids.")
            )
        ) { call in
            .value(try await call.administration.secrets.count())
        },
        .init(
            .get,
            "token-keys",
            .viewer,
            Operation("listTokenKeys", "The keys of signed tokens, the newest first.", .value(.tokenKeys, "The keys."))
        ) { call in
            .value(try await call.administration.tokenKeys.list())
        },
        .init(
            .post,
            "token-keys/rotate",
            .owner,
            factor: .within5Minutes,
            Operation(
                "rotateTokenKeys",
                "Makes new keys of signed tokens, which sign when they are known everywhere.",
                body: Content(
                    .tokenKeyRotation,
                    examples: ["overlap": "{}"]
                ),
                .value(
                    .rotatedTokenKeys,
                    "The new keys."
                )
            )
        ) { call in
            .value(try await call.administration.tokenKeys.rotate(call.document(), by: call.actor))
        },
        // A separate route checks providers: a page that refreshes every minute would exhaust their rate limits.
        .init(
            .get,
            "doctor",
            .viewer,
            Operation(
                "examine",
                """
                Whether all is well with what the service stands on, and what to do where it is not; no provider is \
                asked.
                """,
                .value(.findings, "What was found, what is well included.")
            )
        ) { call in
            .value(Doctor.document(try await call.administration.doctor.examine(askingProviders: false)))
        },
        .init(
            .get,
            "instance",
            .viewer,
            Operation(
                "getInstance",
                """
                How long the parts of logins and the calls of providers took at this instance of late, and which apps \
                it does not ask.
                """,
                .value(.instance, "What this instance has counted.")
            )
        ) { call in
            .value(call.administration.instance())
        },
        .init(
            .get,
            "background",
            .viewer,
            query: .page,
            Operation(
                "showBackground",
                "How the work in the background goes on this instance, and what is due of which application.",
                .value(.background, "The work.")
            )
        ) { call in
            .value(try await call.administration.background.show(call.page))
        },
        .init(
            .get,
            "mails",
            .viewer,
            Operation(
                "listMails",
                "Which mails to people there are, and in which languages.",
                .value(.mails, "The mails.")
            )
        ) { call in
            .value(call.administration.mails.list())
        },
        .init(
            .post,
            "mails",
            .owner,
            Operation(
                "testMail",
                "Sends a test now, and says what the mail server answered.",
                more: "The mail `test`, past the queue. That a server has taken it does not mean that it arrives.",
                body: Content(
                    .mailTest,
                    examples: ["german": #"{"to": "ann@example.com", "locale": "de"}"#]
                ),
                .value(.mailOutcome, "What became of it.")
            )
        ) { call in
            .value(try await call.administration.mails.sendTest(call.document(), by: call.actor))
        },
        .init(
            .get,
            "mails/{template}",
            .viewer,
            query: [.mailLanguage],
            Operation("readMail", "What a mail says, to somebody who is made up.", .value(.exampleMail, "The mail."))
        ) { call in
            .value(try call.administration.mails.example(of: call["template"], language: call.query[.mailLanguage]))
        },
        .init(
            .get,
            "log-level",
            .viewer,
            Operation("getLogLevel", "The level of this instance's log.", .value(.logLevel, "The level."))
        ) { call in
            .value(call.administration.logLevel.show())
        },
        .init(
            .put,
            "log-level",
            .owner,
            Operation(
                "setLogLevel",
                "Writes another level of this instance's log for a while.",
                body: Content(
                    .logLevelChange,
                    examples: ["debug": #"{"level": "debug", "seconds": 300}"#]
                ),
                .value(.logLevel, "The level.")
            )
        ) { call in
            .value(try await call.administration.logLevel.change(call.document(), by: call.actor))
        },
        .init(
            .get,
            "openapi.json",
            .viewer,
            factor: .none,
            Operation(
                "readOpenAPI",
                "This document.",
                .value(.openAPI, "The document.")
            )
        ) { _ in
            .text(EmbeddedFiles.managementOpenAPI)
        },
        .init(
            .get,
            "application.schema.json",
            .viewer,
            Operation(
                "readApplicationSchema",
                "The JSON Schema of application documents: every setting with its meaning and its default.",
                .value(.jsonSchema, "The schema.")
            )
        ) { call in
            .text(Array(call.administration.documents.schema.utf8))
        },
    ]
}

extension Parameter {
    static let mailLanguage = Parameter(
        "language",
        in: .query,
        .string,
        "Its code, such as `de`; the usual language where there are no templates in it."
    )
}

extension Schema {
    static let secrets = Schema.object([
        "current": .string,
        "accepted": .strings,
        "secrets": .array(
            of: .object([
                "keyId": .string,
                "count": .integer.described("App secrets, and verify tokens of webhooks."),
                "tokens": .integer.described("Kept tokens of identities."),
                "passwords": .integer.described("Hashes of passwords."),
                "factors": .integer.described("What is secret of second factors."),
                "tokenKeys": .integer.described("Keys of signed tokens."),
                "banKeys": .integer.described("1 where the key of bans is, else 0."),
                "passing": .integer.described(
                    "Mails that wait to be sent, and login codes that wait to be exchanged, which are over in a minute."
                ),
                "known": .boolean,
            ])
        ),
    ]).named("Secrets")

    static let tokenKeys = Schema.object([
        "items": .array(
            of: .object([
                "id": .string,
                "application": .string.nullable.described(
                    "Null for a key of an earlier version, which had one for all."
                ),
                "created": .moment,
                "retired": .moment.nullable,
                "signs": .boolean,
                "published": .boolean,
                "keyId": .string.described("The master key that it is stored under."),
            ])
        )
    ]).named("TokenKeys")

    static let findings = Schema.object([
        "worst": .severity,
        "findings": .array(
            of: .object(
                [
                    "severity": .severity,
                    "subject": .oneOf(
                        "configuration",
                        "database",
                        "schema",
                        "rights",
                        "statistics",
                        "indexes",
                        "clock",
                        "keys",
                        "application",
                        "provider",
                        "mail"
                    ),
                    "text": .string,
                ],
                optional: [
                    "name": .string.described("Of what: an application, a table, a key."),
                    "advice": .string.described("What to do."),
                ]
            )
        ),
    ]).named("Findings")

    static let severity = Schema.oneOf("ok", "warning", "error").described(
        "error keeps somebody from logging in or may lose data; warning should be changed."
    ).named("Severity")

    static let instance = Schema.object([
        "version": .string,
        "started": .moment,
        "since": .long.described(
            "Since when stages and calls are counted, in milliseconds since 1970 UTC: the start, or about an hour ago."
        ),
        "stages": .array(
            of: .object([
                "stage": .oneOf("provider", "verification", "mapping", "write"),
                "count": .long,
                "milliseconds": .milliseconds,
            ])
        ),
        "calls": .array(
            of: .object([
                "provider": .string.described("The kind of provider."),
                "call": .string,
                "answered": .long,
                "unanswered": .dictionary(of: .long).described("How many were not answered, by how they ended."),
                "milliseconds": .milliseconds.nullable.described("Of those that were answered."),
            ])
        ),
        "apps": .array(
            of: .object([
                "provider": .string.described("The kind of provider."),
                "application": .string,
                "app": .string,
                "shutOut": .boolean.described("Whether logins by it are refused here for now."),
                "allowances": .dictionary(of: .long).described(
                    "Percent of an hour's allowance that is used, as the provider last said."
                ),
            ])
        ).described("At most 100, the worst first."),
    ]).named("Instance")

    static let milliseconds = Schema.object([
        "p50": .number,
        "p95": .number,
        "p99": .number,
    ]).described("What a half, 95 % and 99 % took at most, as the buckets of a histogram tell.").named("Milliseconds")

    static let background = Schema.object([
        "instance": .object([
            "lastRound": .moment.nullable,
            "hindered": .object([
                "at": .long,
                "reasons": .dictionary(of: .integer),
                "cause": .string.nullable,
            ]).nullable.described("The last round in which something stood in the way."),
        ]).nullable.described("Of the instance that answers; null where it does nothing in the background."),
        "items": .array(
            of: .object(
                ["application": .string],
                optional: [
                    "checks": .integer.described("Kept tokens whose check is due."),
                    "erasures": .integer,
                    "hinderedErasures": .integer,
                    "mails": .integer.described("On their way."),
                    "postponedMails": .integer.described(
                        "Of those that are counted, the ones that were tried in vain so far."
                    ),
                    "problem": .string.described(
                        "In place of the counts where the application's own database is away."
                    ),
                ]
            ).described("Each is counted up to 1,000.")
        ),
        "next": .string.nullable,
    ]).named("Background")

    static let mails = Schema.object([
        "sends": .boolean.described("Whether this service sends mails at all."),
        "languages": .strings.described("Those in which every mail is written."),
        "templates": .strings,
    ]).named("Mails")

    static let exampleMail = Schema.object([
        "template": .string,
        "language": .string,
        "subject": .string,
        "text": .string,
        "html": .string,
    ]).named("ExampleMail")

    static let mailOutcome = Schema.object([
        "outcome": .oneOf("accepted", "postponed", "refused", "uncertain"),
        "problem": .string.nullable.described("What went wrong."),
        "answer": .string.nullable.described("What the mail server has said."),
    ]).named("MailOutcome")

    static let logLevel = Schema.object([
        "level": .level,
        "configured": .level,
        "until": .integer.nullable.described(
            "Unix milliseconds at which the configured level is back; null while it is in force."
        ),
    ]).named("LogLevel")

    static let level = Schema.oneOf("trace", "debug", "info", "notice", "warning", "error", "critical").named("Level")

    static let tokenKeyRotation = Schema.object(optional: [
        "application": .string.nullable.described(
            "Whose key; without it, that of each application that gives out signed tokens or has one."
        ),
        "atOnce": .boolean.described("Removes all former keys; tokens of theirs count no more."),
    ])

    static let rotatedTokenKeys = Schema.object([
        "atOnce": .boolean,
        "items": .array(
            of: .object([
                "application": .string,
                "id": .string,
                "signsInSeconds": .integer,
            ])
        ),
    ])

    static let mailTest = Schema.object(
        ["to": .string.described("An e-mail address.")],
        optional: ["locale": .string.described("What they speak, such as de or de_AT.")]
    )

    static let logLevelChange = Schema.object(
        ["level": .level],
        optional: ["seconds": .integer.range(1...86_400).byDefault(.integer(600))]
    )

    static let openAPI = Schema.object(["openapi": .any, "info": .any, "paths": .any]).open

    static let jsonSchema = Schema.object(["$schema": .any, "properties": .any, "$defs": .any]).open
}
