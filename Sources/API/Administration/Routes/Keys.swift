import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let keys: [AdministrationRoute] = [
        .init(.get, "applications/{application}/keys", .viewer) { call in
            .resource(try await call.administration.keys.list(of: call["application"]))
        },
        .init(.post, "applications/{application}/keys", .owner, factor: .within5Minutes) { call in
            let made = try await call.administration.keys.create(
                of: call["application"],
                call.document(),
                by: call.actor
            )
            return .created(made, at: ["applications", call["application"], "keys", made.text("label")])
        },
        .init(.patch, "applications/{application}/keys/{label}", .owner) { call in
            .resource(
                try await call.administration.keys.relabel(
                    call["label"],
                    of: call["application"],
                    patch: call.patch(),
                    if: call.precondition,
                    by: call.actor
                )
            )
        },
        .init(.delete, "applications/{application}/keys/{label}", .owner, factor: .within5Minutes) { call in
            try await call.administration.keys.revoke(
                call["label"],
                of: call["application"],
                if: call.precondition,
                by: call.actor
            )
            return .done
        },
    ]
}
