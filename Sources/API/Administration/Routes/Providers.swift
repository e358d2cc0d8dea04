import Federation
import HTTPTypes
import Vocabulary

extension AdministrationRoute {
    /// Written out for each provider: another one's name fits no route, and nothing asks the database about it.
    static let providers: [AdministrationRoute] = ProviderName.known.flatMap(routes)

    private static func routes(of name: ProviderName) -> [AdministrationRoute] {
        let provider = "applications/{application}/providers/\(name)"
        return [
            .init(.get, provider, .viewer) { call in
                .resource(try await call.administration.provider(name, of: call["application"]))
            },
            .init(.put, provider, .owner) { call in
                .resource(
                    try await call.administration.putProvider(
                        name,
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
                        name,
                        of: call["application"],
                        patch: call.patch(),
                        if: call.precondition,
                        by: call.actor
                    )
                )
            },
            .init(.delete, provider, .owner) { call in
                try await call.administration.removeProvider(
                    name,
                    of: call["application"],
                    if: call.precondition,
                    by: call.actor
                )
                return .done
            },
            .init(.post, provider + "/check", .editor) { call in
                .value(try await call.administration.check(name, of: call["application"]))
            },
        ]
    }
}
