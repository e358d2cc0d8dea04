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
                "Lists applications in the order of their ids.",
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
                "Creates an application and its PostgreSQL schema.",
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
                more: "`null` resets a setting to its default.",
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
                "Deletes an application with its users and all other data.",
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
    /// Returns the text of a member of the body, such as the id of a created resource; empty if there is none.
    func text(_ key: String) -> String { body.object?[key]?.string ?? "" }
}

extension Parameter {
    static let node = Parameter(
        "node",
        in: .query,
        .string.examples("10.0.0.3:5432"),
        "The Citus node of its users. By default, Citus chooses one."
    )
    static let confirm = Parameter(
        "confirm",
        in: .query,
        .string.notEmpty,
        "The last name of the path again, because this cannot be undone.",
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
            Weak settings and their consequences, and mapping entries that read a field which the provider is not \
            known to have.
            """
        ),
    ]).named("Application")

    static let database = Schema.object([
        "env": .string.length(upTo: 63).pattern("^(?!FEDERATION_)[A-Z][A-Z0-9_]*_DATABASE_URL$")
    ]).nullable.described(
        """
        The database of the application's users: the environment variable with the URL of its own database. null: the \
        main database.
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
        .described("The other members of an application may be sent back as they were read.")
        .named("ApplicationPatch")
}
