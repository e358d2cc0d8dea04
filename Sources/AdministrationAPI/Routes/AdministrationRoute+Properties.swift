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
                "Properties in the order of their columns, built-in ones among them.",
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
                "Declares a property: adds the typed column.",
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
                more: "A mapping that writes the property follows its name.",
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
                "Drops a property with all its values.",
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
        optional: ["problem": .string.described("What stood in the way when it was built last; it is tried again.")]
    ).described("How far the index of an indexed property is; changes by itself.").named("PropertyIndex")

    static let slowSearches = Schema.object([
        "count": .integer.from(1),
        "slowestMilliseconds": .integer.from(0),
        "last": .integer.described("Milliseconds since 1970."),
    ]).described(
        """
        Searches of the last 30 days that took long and that an index of the property would have served; changes by \
        itself.
        """
    ).named("SlowSearches")

    static let newProperty = Schema.object(["name": .propertyName])
        .adding(ConfigurationSchemas.schema(.property).properties).mapProperties { member in
            guard member.name == "type" else { return member }
            let type = Schema.propertyType.described(member.schema.description ?? "")
            return Property(member.name, type, isRequired: member.isRequired)
        }.named("NewProperty")

    static let propertyPatch = newProperty.patch.described("A member that is `null` returns to its default.")
        .named("PropertyPatch")
}
