import Administration
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    static let providers: [AdministrationRoute] = {
        let provider = "applications/{application}/providers/{provider}"
        return [
            .init(.get, provider, .viewer) { call in
                .resource(try await call.administration.providers.read(call.provider, of: call["application"]))
            },
            .init(.put, provider, .owner, factor: .within5Minutes) { call in
                .resource(
                    try await call.administration.providers.put(
                        call.provider,
                        of: call["application"],
                        call.document(),
                        if: call.precondition,
                        by: call.actor
                    )
                )
            },
            .init(.patch, provider, .owner, factor: .within5Minutes) { call in
                .resource(
                    try await call.administration.providers.change(
                        call.provider,
                        of: call["application"],
                        patch: call.patch(),
                        if: call.precondition,
                        by: call.actor
                    )
                )
            },
            .init(.delete, provider, .owner, factor: .within5Minutes) { call in
                try await call.administration.providers.remove(
                    call.provider,
                    of: call["application"],
                    if: call.precondition,
                    by: call.actor
                )
                return .done
            },
            .init(.post, provider + "/check", .editor) { call in
                .value(try await call.administration.providers.check(call.provider, of: call["application"]))
            },
        ]
    }()
}
