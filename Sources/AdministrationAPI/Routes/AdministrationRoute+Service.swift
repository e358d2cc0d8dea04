import Administration
import Description
import Domain
import EmbeddedFiles
import Encodings
import HTTPTypes

extension AdministrationRoute {
    /// The routes about the service as a whole, and not about an application or an operator.
    static let service: [AdministrationRoute] = [
        .init(
            .get,
            "secrets",
            .viewer,
            Operation(
                "readSecrets",
                "Counts the secrets by the master key that encrypts them.",
                .value(.secrets, "Master keys by their ids.")
            )
        ) { call in
            .value(try await call.administration.secrets.count())
        },
        .init(
            .get,
            "token-keys",
            .viewer,
            Operation(
                "listTokenKeys",
                "Lists the keys of signed tokens, newest first.",
                .value(.tokenKeys, "The keys.")
            )
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
                "Creates new keys of signed tokens, which sign once they are published everywhere.",
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
        // Another route checks providers. A page that is refreshed every minute would exhaust the providers' rate
        // limits.
        .init(
            .get,
            "doctor",
            .viewer,
            Operation(
                "examine",
                "Checks the service and what it depends on, without asking providers.",
                .value(.findings, "The findings, including passed checks.")
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
                Reads recent latencies of this instance, for stages of logins and requests to providers, and its \
                paused apps.
                """,
                .value(.instance, "The figures of this instance.")
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
                "Reads the state of the background work on this instance, and due work of the applications.",
                .value(.background, "The background work.")
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
                "Lists the mail templates and their languages.",
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
                "Sends a test mail, and returns the response of the mail server.",
                more: "The mail `test`, without the queue. An accepted mail may still not arrive.",
                body: Content(
                    .mailTest,
                    examples: ["german": #"{"to": "ann@example.com", "locale": "de"}"#]
                ),
                .value(.mailOutcome, "The result.")
            )
        ) { call in
            .value(try await call.administration.mails.sendTest(call.document(), by: call.actor))
        },
        .init(
            .get,
            "mails/{template}",
            .viewer,
            query: [.mailLanguage],
            Operation("readMail", "Renders a mail with example data.", .value(.exampleMail, "The mail."))
        ) { call in
            .value(try call.administration.mails.example(of: call["template"], language: call.query[.mailLanguage]))
        },
        .init(
            .get,
            "log-level",
            .viewer,
            Operation("getLogLevel", "Reads the log level of this instance.", .value(.logLevel, "The level."))
        ) { call in
            .value(call.administration.logLevel.show())
        },
        .init(
            .put,
            "log-level",
            .owner,
            Operation(
                "setLogLevel",
                "Changes the log level of this instance for a while.",
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
                "Reads the JSON Schema of application documents, with meanings and defaults.",
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
        "The code, such as `de`. Without templates in it, the default language."
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
                "tokens": .integer.described("Stored provider tokens of identities."),
                "passwords": .integer.described("Password hashes."),
                "factors": .integer.described("Secrets of second factors."),
                "tokenKeys": .integer.described("Keys of signed tokens."),
                "banKeys": .integer.described("1 if it encrypts the key of bans, otherwise 0."),
                "passing": .integer.described(
                    "Queued mails, and unused login codes, which expire in a minute."
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
                    "null for a key of an earlier version, which had one key for all applications."
                ),
                "algorithm": .tokenAlgorithm,
                "created": .moment,
                "retired": .moment.nullable,
                "signs": .boolean,
                "published": .boolean,
                "keyId": .string.described("The master key that encrypts it."),
            ])
        )
    ]).named("TokenKeys")

    static let tokenAlgorithm = Schema.cases(of: TokenAlgorithm.self)

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
                    "name": .string.described("The name of the subject: an application, a table, a key."),
                    "advice": .string.described("What to do."),
                ]
            )
        ),
    ]).named("Findings")

    static let severity = Schema.oneOf("ok", "warning", "error").described(
        "error: users cannot log in, or data may be lost. warning: should be changed."
    ).named("Severity")

    static let instance = Schema.object([
        "version": .string,
        "started": .moment,
        "since": .long.described(
            """
            The start of the counted time, in milliseconds since 1970 UTC: the start of the instance, or about an hour \
            ago.
            """
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
                "provider": .string.described("The provider kind."),
                "call": .string,
                "answered": .long,
                "unanswered": .dictionary(of: .long).described("Requests without a response, by outcome."),
                "milliseconds": .milliseconds.nullable.described("Of requests with a response."),
            ])
        ),
        "apps": .array(
            of: .object([
                "provider": .string.described("The provider kind."),
                "application": .string,
                "app": .string,
                "shutOut": .boolean.described("Whether this instance refuses logins with it for now."),
                "allowances": .dictionary(of: .long).described(
                    "Percent of the hourly rate limit that is used, as the provider last reported."
                ),
            ])
        ).described("At most 100, worst first."),
    ]).named("Instance")

    static let milliseconds = Schema.object([
        "p50": .number,
        "p95": .number,
        "p99": .number,
    ]).described("The median, 95th and 99th percentile, from the buckets of a histogram.").named("Milliseconds")

    static let background = Schema.object([
        "instance": .object([
            "lastRound": .moment.nullable,
            "blocked": .object([
                "at": .long,
                "reasons": .dictionary(of: .integer),
                "cause": .string.nullable,
            ]).nullable.described("The last run with an error."),
        ]).nullable.described("Of this instance. null if it does no background work."),
        "items": .array(
            of: .object(
                ["application": .string],
                optional: [
                    "checks": .integer.described("Stored tokens with a due check."),
                    "erasures": .integer,
                    "blockedErasures": .integer,
                    "mails": .integer.described("Queued."),
                    "postponedMails": .integer.described(
                        "Of the counted ones, those with failed attempts."
                    ),
                    "problem": .string.described(
                        "Instead of the counts, if the application's own database is not reachable."
                    ),
                ]
            ).described("Each count stops at 1,000.")
        ),
        "next": .string.nullable,
    ]).named("Background")

    static let mails = Schema.object([
        "sends": .boolean.described("Whether this service can send mails."),
        "languages": .strings.described("The languages with all templates."),
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
        "problem": .string.nullable.described("The error."),
        "answer": .string.nullable.described("The response of the mail server."),
    ]).named("MailOutcome")

    static let logLevel = Schema.object([
        "level": .level,
        "configured": .level,
        "until": .integer.nullable.described(
            "When the configured level is restored, in milliseconds since 1970 UTC. null if it is in force."
        ),
    ]).named("LogLevel")

    static let level = Schema.oneOf("trace", "debug", "info", "notice", "warning", "error", "critical").named("Level")

    static let tokenKeyRotation = Schema.object(optional: [
        "application": .string.nullable.described(
            "The application of the keys. By default, each application that issues signed tokens or has a key."
        ),
        "atOnce": .boolean.described("Whether to remove all former keys. Their tokens are no longer valid."),
    ])

    static let rotatedTokenKeys = Schema.object([
        "atOnce": .boolean,
        "items": .array(
            of: .object([
                "application": .string,
                "algorithm": .tokenAlgorithm,
                "id": .string,
                "signsInSeconds": .integer,
            ])
        ),
    ])

    static let mailTest = Schema.object(
        ["to": .string.described("An e-mail address.")],
        optional: ["locale": .string.described("The language, such as de or de_AT.")]
    )

    static let logLevelChange = Schema.object(
        ["level": .level],
        optional: ["seconds": .integer.range(1...86_400).byDefault(.integer(600))]
    )

    static let openAPI = Schema.object(["openapi": .any, "info": .any, "paths": .any]).open

    static let jsonSchema = Schema.object(["$schema": .any, "properties": .any, "$defs": .any]).open
}
