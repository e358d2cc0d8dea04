import Administration
import Description
import Domain
import HTTP
import HTTPTypes

extension AdministrationRoute {
    static let properties: [AdministrationRoute] = [
        .init(
            .get,
            "applications/{application}/properties",
            .viewer,
            Operation(
                "listProperties",
                "Lists properties in the order of their columns, with built-in ones.",
                .list(of: .property, "All properties.")
            )
        ) { call in
            .resource(try await call.administration.properties.list(of: call["application"]))
        },
        .init(
            .post,
            "applications/{application}/properties",
            .editor,
            Operation(
                "declareProperty",
                "Declares a property, and adds its column.",
                parameters: [.ifMatch],
                body: Content(.newProperty, examples: ["date": #"{"name": "birthday", "type": "DATE"}"#]),
                .created(.property, "The property."),
                or: [.conflict, .unprocessable]
            )
        ) { call in
            let made = try await call.administration.properties.declare(
                of: call["application"],
                call.document(),
                if: call.precondition,
                by: call.actor
            )
            return .created(made, at: ["applications", call["application"], "properties", made.text("name")])
        },
        .init(
            .get,
            "applications/{application}/properties/{name}",
            .viewer,
            Operation("readProperty", "A property.", .resource(.property, "The property."))
        ) { call in
            .resource(try await call.administration.properties.read(call["name"], of: call["application"]))
        },
        .init(
            .patch,
            "applications/{application}/properties/{name}",
            .editor,
            Operation(
                "changeProperty",
                "Changes name, type (to a wider one), required, clientMappable, visibleTo and indexed.",
                more: "Mappings that write the property are updated to a new name.",
                parameters: [.ifMatch],
                body: Content(.propertyPatch, examples: ["required": #"{"required": true}"#]),
                .resource(.property, "The property after the change."),
                or: [.conflict, .unprocessable]
            )
        ) { call in
            .resource(
                try await call.administration.properties.change(
                    call["name"],
                    of: call["application"],
                    patch: call.patch(),
                    if: call.precondition,
                    by: call.actor
                )
            )
        },
        .init(
            .delete,
            "applications/{application}/properties/{name}",
            .editor,
            query: [.confirm],
            factor: .within5Minutes,
            losing: "the property with the values of all users",
            Operation(
                "removeProperty",
                "Deletes a property with all its values.",
                parameters: [.ifMatch],
                .done,
                or: [.conflict]
            )
        ) { call in
            try await call.administration.properties.remove(
                call["name"],
                of: call["application"],
                confirmation: call.query[.confirm],
                if: call.precondition,
                by: call.actor
            )
            return .done
        },
    ]
}

extension Schema {
    static let property = newProperty.adding(["builtIn": .boolean]).whole()
        .adding(optional: ["index": .propertyIndex, "slowSearches": .slowSearches]).named("Property")

    static let propertyIndex = Schema.object(
        ["state": .oneOf("building", "ready")],
        optional: ["problem": .string.described("The error of the last build. The service retries.")]
    ).described("The progress of the index of an indexed property.").named("PropertyIndex")

    static let slowSearches = Schema.object([
        "count": .integer.from(1),
        "slowestMilliseconds": .integer.from(0),
        "last": .integer.described("Milliseconds since 1970."),
    ]).described(
        "Slow searches of the last 30 days that an index of the property would speed up."
    ).named("SlowSearches")

    static let newProperty = Schema.object(["name": .propertyName])
        .adding(ConfigurationSchemas.schema(.property).properties).mapProperties { member in
            guard member.name == "type" else { return member }
            let type = Schema.propertyType.described(member.schema.description ?? "")
            return Property(member.name, type, isRequired: member.isRequired)
        }.named("NewProperty")

    static let propertyPatch = newProperty.patch.described("`null` resets a member to its default.")
        .named("PropertyPatch")
}
