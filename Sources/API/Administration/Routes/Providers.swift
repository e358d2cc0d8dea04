import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let providers: [AdministrationRoute] = {
        let provider = "applications/{application}/providers/{provider}"
        return [
            .init(.get, provider, .viewer) { call in
                .resource(try await call.administration.provider(call.provider, of: call["application"]))
            },
            .init(.put, provider, .owner) { call in
                .resource(
                    try await call.administration.putProvider(
                        call.provider,
                        of: call["application"],
                        call.document(),
                        if: call.precondition,
                        by: call.actor
                    )
                )
            },
            .init(.patch, provider, .owner) { call in
                .resource(
                    try await call.administration.changeProvider(
                        call.provider,
                        of: call["application"],
                        patch: call.patch(),
                        if: call.precondition,
                        by: call.actor
                    )
                )
            },
            .init(.delete, provider, .owner) { call in
                try await call.administration.removeProvider(
                    call.provider,
                    of: call["application"],
                    if: call.precondition,
                    by: call.actor
                )
                return .done
            },
            .init(.post, provider + "/check", .editor) { call in
                .value(try await call.administration.check(call.provider, of: call["application"]))
            },
        ]
    }()
}
