import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let operators: [AdministrationRoute] = [
        .init(.get, "operators", .viewer, query: .page) { call in
            .page(try await call.administration.operators.list(call.page))
        },
        .init(.post, "operators", .owner, factor: .within5Minutes) { call in
            let made = try await call.administration.operators.create(
                call.document(),
                by: call.actor,
                as: call.caller.calling
            )
            return .created(made, at: ["operators", made.text("name")])
        },
        .init(.get, "operators/{name}", .viewer) { call in
            .resource(try await call.administration.operators.read(call["name"]))
        },
        .init(.patch, "operators/{name}", .owner, factor: .within5Minutes) { call in
            .resource(
                try await call.administration.operators.change(
                    call["name"],
                    patch: call.patch(),
                    if: call.precondition,
                    by: call.actor
                )
            )
        },
        .init(.delete, "operators/{name}", .owner, factor: .within5Minutes) { call in
            try await call.administration.operators.remove(call["name"], if: call.precondition, by: call.actor)
            return .done
        },
        .init(.post, "operators/{name}/tokens", .owner, factor: .within5Minutes) { call in
            let made = try await call.administration.operators.createToken(
                of: call["name"],
                call.document(),
                by: call.actor,
                as: call.caller.calling
            )
            return .created(made, at: ["operators", call["name"], "tokens", made.text("id")])
        },
        .init(.delete, "operators/{name}/tokens/{id}", .owner, factor: .within5Minutes) { call in
            try await call.administration.operators.revokeToken(
                call["id"],
                of: call["name"],
                if: call.precondition,
                by: call.actor
            )
            return .done
        },
        .init(.get, "operators/{name}/factors", .owner, forPeople: true) { call in
            .page(try await call.administration.operatorFactors.list(of: call["name"]))
        },
        .init(.delete, "operators/{name}/factors", .owner, factor: .within5Minutes, forPeople: true) { call in
            try await call.administration.operatorFactors.remove(nil, of: call["name"], by: call.actor)
            return .done
        },
        .init(.delete, "operators/{name}/factors/{factorId}", .owner, factor: .within5Minutes, forPeople: true) {
            call in
            try await call.administration.operatorFactors.remove(call["factorId"], of: call["name"], by: call.actor)
            return .done
        },
    ]
}
