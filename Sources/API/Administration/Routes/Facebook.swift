import Federation
import HTTPTypes
import Identity

extension AdministrationRoute {
    static let facebook: [AdministrationRoute] = [
        .init(.get, provider, .viewer) { call in
            .resource(try await call.administration.facebook(of: call["application"]))
        },
        .init(.put, provider, .owner) { call in
            .resource(
                try await call.administration.putFacebook(
                    of: call["application"],
                    call.document(),
                    if: call.precondition,
                    by: call.actor
                )
            )
        },
        .init(.patch, provider, .owner) { call in
            .resource(
                try await call.administration.changeFacebook(
                    of: call["application"],
                    patch: call.patch(),
                    if: call.precondition,
                    by: call.actor
                )
            )
        },
        .init(.delete, provider, .owner) { call in
            try await call.administration.removeFacebook(
                of: call["application"],
                if: call.precondition,
                by: call.actor
            )
            return .done
        },
        .init(.post, provider + "/check", .editor) { call in
            .value(try await call.administration.checkFacebook(of: call["application"]))
        },
    ]

    /// Written out: another provider's name fits no route, and nothing asks the database about it.
    private static let provider = "applications/{application}/providers/facebook"
}
