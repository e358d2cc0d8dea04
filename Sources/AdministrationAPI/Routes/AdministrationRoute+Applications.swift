import Administration
import Description
import Domain
import Encodings
import HTTPTypes

extension AdministrationRoute {
    static let applications: [AdministrationRoute] = [
        .init(
            .get,
            "applications",
            .viewer,
            query: .page,
            Operation(
                "listApplications",
                "Applications in the order of their ids.",
                .page(of: .application, "A page of applications.")
            )
        ) { call in
            .page(try await call.administration.applications.list(call.page))
        },
        .init(
            .post,
            "applications",
            .owner,
            query: [.node],
            Operation(
                "createApplication",
                "Makes an application and its PostgreSQL schema.",
                body: Content(.newApplication, examples: ["plain": #"{"application": "shop", "name": "Shop"}"#]),
                .created(.application, "The application."),
                or: [.conflict]
            )
        ) { call in
            let made = try await call.administration.applications.create(
                call.document(),
                on: call.query[.node],
                by: call.actor
            )
            return .created(made, at: ["applications", made.text("application")])
        },
        .init(
            .get,
            "applications/{application}",
            .viewer,
            Operation("readApplication", "An application.", .resource(.application, "The application."))
        ) { call in
            .resource(try await call.administration.applications.read(call["application"]))
        },
        .init(
            .patch,
            "applications/{application}",
            .owner,
            factor: .within5Minutes,
            Operation(
                "changeApplication",
                "Changes name and settings.",
                more: "A setting that is `null` returns to its default.",
                parameters: [.ifMatch],
                body: Content(
                    .applicationPatch,
                    examples: ["origins": #"{"settings": {"allowedOrigins": ["https://app.example.com"]}}"#]
                ),
                .resource(.application, "The application after the change."),
                or: [.conflict]
            )
        ) { call in
            .resource(
                try await call.administration.applications.change(
                    call["application"],
                    patch: call.patch(),
                    if: call.precondition,
                    by: call.actor
                )
            )
        },
        .init(
            .delete,
            "applications/{application}",
            .owner,
            query: [.confirm],
            factor: .within5Minutes,
            losing: "the application, its PostgreSQL schema and all its users",
            Operation(
                "deleteApplication",
                "Removes an application with its users and everything else.",
                parameters: [.ifMatch],
                .done,
                or: [.conflict]
            )
        ) { call in
            try await call.administration.applications.delete(
                call["application"],
                confirmation: call.query[.confirm],
                if: call.precondition,
                by: call.actor
            )
            return .done
        },
    ]
}

extension Resource {
    /// Returns a text member of the body, which names the resource in its path.
    func text(_ key: String) -> String { body.object?[key]?.string ?? "" }
}

extension Parameter {
    static let node = Parameter(
        "node",
        in: .query,
        .string.examples("10.0.0.3:5432"),
        "The node of Citus that its users are on; Citus chooses one unless given."
    )
    static let confirm = Parameter(
        "confirm",
        in: .query,
        .string.notEmpty,
        "What the path names last, once more: this cannot be undone.",
        isRequired: true
    )
}

extension Schema {
    static let application = Schema.object([
        "application": .applicationID,
        "name": .string,
        "schema": .string,
        "database": .database,
        "settings": .settings,
        "revision": .long,
        "created": .moment,
        "updated": .moment.nullable,
        "warnings": .strings.described(
            """
            Settings that are weaker than they need be, and what comes of them; entries of mappings that read a field \
            which the provider is not known to have.
            """
        ),
    ]).named("Application")

    static let database = Schema.object([
        "env": .string.length(upTo: 63).pattern("^(?!FEDERATION_)[A-Z][A-Z0-9_]*_DATABASE_URL$")
    ]).nullable.described(
        """
        Where the application's users are: the environment variable with the URL of a database of its own; null is \
        the main database.
        """
    ).named("Database")

    static let newApplication = Schema.object(
        ["application": .applicationID],
        optional: [
            "name": .string.length(1...200),
            "schema": .applicationID,
            "database": .database,
            "settings": .settingsDocument,
        ]
    ).named("NewApplication")

    static let applicationPatch = newApplication.without("application", "schema").patch
        .adding(optional: ["database": .database])
        .described("The other members of an application may come along as they were read.")
        .named("ApplicationPatch")
}
