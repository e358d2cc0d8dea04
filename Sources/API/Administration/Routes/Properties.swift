import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let properties: [AdministrationRoute] = [
        .init(.get, "applications/{application}/properties", .viewer) { call in
            .resource(try await call.administration.properties.list(of: call["application"]))
        },
        .init(.post, "applications/{application}/properties", .editor) { call in
            let made = try await call.administration.properties.declare(
                of: call["application"],
                call.document(),
                if: call.precondition,
                by: call.actor
            )
            return .created(made, at: ["applications", call["application"], "properties", made.text("name")])
        },
        .init(.get, "applications/{application}/properties/{name}", .viewer) { call in
            .resource(try await call.administration.properties.read(call["name"], of: call["application"]))
        },
        .init(.patch, "applications/{application}/properties/{name}", .editor) { call in
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
            query: ["confirm"],
            factor: .within5Minutes
        ) { call in
            try await call.administration.properties.remove(
                call["name"],
                of: call["application"],
                confirmation: call.query["confirm"],
                if: call.precondition,
                by: call.actor
            )
            return .done
        },
    ]
}
