import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    /// The second factors of the operator who calls.
    static let own: [AdministrationRoute] = [
        .init(.get, "operator/factors", .viewer) { call in
            .value(try await call.administration.operatorFactors.list(of: call.caller.calling))
        },
        .init(.post, "operator/factors", .viewer, factor: .within5Minutes) { call in
            .value(
                try await call.administration.operatorFactors.begin(
                    call.document(),
                    by: call.caller.calling,
                    actor: call.actor
                )
            )
        },
        .init(.post, "operator/factors/{factorId}/confirm", .viewer, factor: .within5Minutes) { call in
            .value(
                try await call.administration.operatorFactors.confirm(
                    call["factorId"],
                    call.document(),
                    by: call.caller.calling,
                    actor: call.actor
                )
            )
        },
        .init(.delete, "operator/factors/{factorId}", .viewer, factor: .within5Minutes) { call in
            try await call.administration.operatorFactors.remove(
                call["factorId"],
                of: call.caller.calling,
                actor: call.actor
            )
            return .done
        },
        .init(.post, "operator/secondFactor/start", .viewer, factor: .none) { call in
            .value(try await call.administration.operatorFactors.start(by: call.caller.calling))
        },
        .init(.post, "operator/secondFactor/finish", .viewer, factor: .none) { call in
            try await call.administration.operatorFactors.finish(
                call.document(),
                by: call.caller.calling,
                actor: call.actor
            )
            return .done
        },
    ]
}
