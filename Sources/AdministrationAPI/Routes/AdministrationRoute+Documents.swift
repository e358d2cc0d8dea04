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
                "The application as a document that the PUT and `federation apply` take.",
                .resource(.document, "The document, with names of environment variables in place of keys and secrets.")
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
                "Makes the application what the document says, in one transaction, or says what that would do.",
                more:
                    """
                    `application` must be that of the path. Keys and secrets are texts; left out, or as they were \
                    read, the stored ones stay. Without If-Match only an application that does not exist is made.
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
                .value(.plan, "What was done, or would be."),
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
            .described("By the names of the providers; one is also taken as a dictionary of field and property."),
    ]).described(
        """
        The application document; configuration.md describes it. The member `$schema` of a file is taken, and means \
        nothing.
        """
    ).named("Document")

    static let plan = Schema.object([
        "application": .applicationID,
        "changes": .array(of: .change),
        "undeclaredProperties": .strings.described("Declared properties that the document does not name: they stay."),
        "warnings": .strings.described(
            "What an operator should know of the document, such as a Graph version that ends soon."
        ),
    ]).named("Plan")

    static let change = Schema.object([
        "action": .string,
        "target": .string.nullable,
        "from": .any,
        "to": .any,
    ]).named("Change")
}
