import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    /// Where a session of the console is opened: the one thing that a link to the console may do.
    static let openingSessions = base + "operator/sessions"

    /// Where the first owner is made, by the token of the link for that.
    static let settingUp = base + "setup"

    /// How the first owner is made; the gate lets nobody in but by that link.
    static let setup: [AdministrationRoute] = [
        .init(.post, "setup", .viewer, factor: .none) { call in
            let made = try await call.administration.operators.setUp(
                call.document(),
                by: call.caller.calling,
                from: call.actor.source
            )
            return .created(made, at: ["operators", made.text("name")])
        }
    ]

    /// What the person who calls has: sessions of the console, second factors.
    static let own: [AdministrationRoute] = [
        .init(.post, "operator/sessions", .viewer, factor: .none, forPeople: true) { call in
            .value(try await call.administration.operators.openSession(of: call.caller.calling, by: call.actor))
        },
        .init(.get, "operator/sessions", .viewer, factor: .none, forPeople: true) { call in
            .value(try await call.administration.operators.sessions(of: call.caller.calling))
        },
        .init(.delete, "operator/sessions/{id}", .viewer, factor: .none, forPeople: true) { call in
            let id = call["id"] == "current" ? nil : call["id"]
            try await call.administration.operators.endSession(id, of: call.caller.calling, by: call.actor)
            return .done
        },
        .init(.get, "operator/factors", .viewer, forPeople: true) { call in
            .value(try await call.administration.operatorFactors.list(of: call.caller.calling))
        },
        .init(.post, "operator/factors", .viewer, factor: .within5Minutes, forPeople: true) { call in
            .value(
                try await call.administration.operatorFactors.begin(
                    call.document(),
                    by: call.caller.calling,
                    actor: call.actor
                )
            )
        },
        .init(.post, "operator/factors/{factorId}/confirm", .viewer, factor: .within5Minutes, forPeople: true) { call in
            .value(
                try await call.administration.operatorFactors.confirm(
                    call["factorId"],
                    call.document(),
                    by: call.caller.calling,
                    actor: call.actor
                )
            )
        },
        .init(.delete, "operator/factors/{factorId}", .viewer, factor: .within5Minutes, forPeople: true) { call in
            try await call.administration.operatorFactors.remove(
                call["factorId"],
                of: call.caller.calling,
                actor: call.actor
            )
            return .done
        },
        .init(.post, "operator/secondFactor/start", .viewer, factor: .none, forPeople: true) { call in
            .value(try await call.administration.operatorFactors.start(by: call.caller.calling))
        },
        .init(.post, "operator/secondFactor/finish", .viewer, factor: .none, forPeople: true) { call in
            try await call.administration.operatorFactors.finish(
                call.document(),
                by: call.caller.calling,
                actor: call.actor
            )
            return .done
        },
    ]
}
