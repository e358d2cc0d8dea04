import Administration
import Description
import Domain
import Encodings
import HTTPTypes

extension AdministrationRoute {
    static let documents: [AdministrationRoute] = [
        .init(
            .get,
            "applications/{application}/document",
            .viewer,
            Operation(
                "readDocument",
                "Exports the application as a document for PUT and `federation apply`.",
                .resource(.document, "The document, with names of environment variables instead of keys and secrets.")
            )
        ) { call in
            .resource(try await call.administration.documents.read(of: call["application"]))
        },
        .init(
            .put,
            "applications/{application}/document",
            .owner,
            query: [.dryRun],
            factor: .within5Minutes,
            Operation(
                "putDocument",
                "Applies a document in one transaction, or returns its changes.",
                more:
                    """
                    `application` must be that of the path. Keys and secrets are texts. If they are absent or as they \
                    were read, the stored ones are kept. Without If-Match, only a new application can be created.
                    """,
                parameters: [.ifMatchUnlessNew],
                body: Content(
                    .document,
                    examples: [
                        "small": #"""
                        {"application": "shop", "properties": {"birthday": {"type": "DATE"}}, "mapping":
                        {"facebook": [{"from": "birthday", "to": "birthday"}]}}
                        """#
                    ]
                ),
                .value(.plan, "The changes."),
                or: [.conflict, .unprocessable]
            )
        ) { call in
            let isDryRun = try call.isDryRun
            let precondition = try call.precondition
            let value = try await call.document()
            do {
                let document = try call.administration.documents.parse(value)
                guard document.id.text.hasSameBytes(as: call["application"]) else {
                    throw DocumentProblems(JSONPointer() / "application", "must be the application of the path")
                }
                let plan =
                    if isDryRun {
                        try await call.administration.documents.plan(document, environment: { _ in nil })
                    } else {
                        try await call.administration.documents.apply(
                            document,
                            environment: { _ in nil },
                            if: precondition,
                            by: call.actor
                        )
                    }
                return .value(plan.json)
            } catch let problems as DocumentProblems {
                throw problems.failure
            }
        },
    ]
}

extension Schema {
    static let document = newApplication.adding(optional: [
        "keys": .array(of: .object(["label": .label], optional: ["key": .givenSecret, "server": .boolean]))
            .count(upTo: 100),
        "providers": .providers,
        "properties": .dictionary(of: ConfigurationSchemas.schema(.property)).propertyNames,
        "mapping": .dictionary(of: .array(of: .entry).count(upTo: 256)).providerNames
            .described("By the names of the providers. A dictionary of fields and properties is also accepted."),
    ]).described(
        "The application document, see configuration.md. The member `$schema` is accepted and ignored."
    ).named("Document")

    static let plan = Schema.object([
        "application": .applicationID,
        "changes": .array(of: .change),
        "undeclaredProperties": .strings.described(
            "Declared properties that the document does not name. They are kept."
        ),
        "warnings": .strings.described(
            "Warnings about the document, such as a Graph version that ends soon."
        ),
    ]).named("Plan")

    static let change = Schema.object([
        "action": .string,
        "target": .string.nullable,
        "from": .any,
        "to": .any,
    ]).named("Change")
}
