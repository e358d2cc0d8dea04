import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let applications: [AdministrationRoute] = [
        .init(.get, "applications", .viewer, query: .page) { call in
            .page(try await call.administration.applications.list(call.page))
        },
        .init(.post, "applications", .owner) { call in
            let made = try await call.administration.applications.create(call.document(), by: call.actor)
            return .created(made, at: ["applications", made.text("application")])
        },
        .init(.get, "applications/{application}", .viewer) { call in
            .resource(try await call.administration.applications.read(call["application"]))
        },
        .init(.patch, "applications/{application}", .owner, factor: .within5Minutes) { call in
            .resource(
                try await call.administration.applications.change(
                    call["application"],
                    patch: call.patch(),
                    if: call.precondition,
                    by: call.actor
                )
            )
        },
        .init(.delete, "applications/{application}", .owner, query: ["confirm"], factor: .within5Minutes) { call in
            try await call.administration.applications.delete(
                call["application"],
                confirmation: call.query["confirm"],
                if: call.precondition,
                by: call.actor
            )
            return .done
        },
    ]
}

extension Resource {
    /// A member of the body that is a text: what names the resource in its path.
    func text(_ key: String) -> String { body.object?[key]?.string ?? "" }
}
