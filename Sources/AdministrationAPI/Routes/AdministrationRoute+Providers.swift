import Administration
import Description
import Domain
import HTTP
import HTTPTypes

extension AdministrationRoute {
    static let providers: [AdministrationRoute] = {
        let provider = "applications/{application}/providers/{provider}"
        return [
            .init(
                .get,
                provider,
                .viewer,
                Operation(
                    "readProvider",
                    "Reads the settings and apps of a provider, and whether their secrets are set.",
                    .resource(.provider, "The settings.")
                )
            ) { call in
                .resource(try await call.administration.providers.read(call.provider, of: call["application"]))
            },
            .init(
                .put,
                provider,
                .owner,
                factor: .within5Minutes,
                Operation(
                    "putProvider",
                    "Replaces the settings of a provider.",
                    more:
                        "A secret is a text. If it is absent, `null`, or as it was read, the stored one is kept.",
                    parameters: [.ifMatch],
                    body: Content(
                        .providerDocument,
                        examples: [
                            "first":
                                #"{"apps": [{"appId": "1234567890", "appSecret": "8d1f0c5a7b3e4f629a0d5c8e7b16f243"}]}"#
                        ]
                    ),
                    .resource(.provider, "The settings after the change."),
                    or: [.conflict]
                )
            ) { call in
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
            .init(
                .patch,
                provider,
                .owner,
                factor: .within5Minutes,
                Operation(
                    "changeProvider",
                    "Changes settings of a provider.",
                    more: "`apps` is replaced as a whole. Secrets are treated as in PUT.",
                    parameters: [.ifMatch],
                    body: Content(.providerPatch, examples: ["off": #"{"enabled": false}"#]),
                    .resource(.provider, "The settings after the change."),
                    or: [.conflict]
                )
            ) { call in
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
            .init(
                .delete,
                provider,
                .owner,
                factor: .within5Minutes,
                losing: "the apps at the provider and their secrets",
                Operation(
                    "removeProvider",
                    "Deletes the provider with its apps and secrets.",
                    parameters: [.ifMatch],
                    .done,
                    or: [.conflict]
                )
            ) { call in
                try await call.administration.providers.remove(
                    call.provider,
                    of: call["application"],
                    if: call.precondition,
                    by: call.actor
                )
                return .done
            },
            .init(
                .post,
                provider + "/check",
                .editor,
                query: [.redirectURI],
                Operation(
                    "checkProvider",
                    "Checks app ids, secrets and redirect URIs with the provider.",
                    .value(.providerCheck, "The result for each app."),
                    or: [.timeout]
                )
            ) { call in
                .value(
                    try await call.administration.providers.check(
                        call.provider,
                        of: call["application"],
                        redirectURIs: [call.query[.redirectURI]].compactMap(\.self)
                    )
                )
            },
        ]
    }()
}

extension Parameter {
    static let redirectURI = Parameter(
        "redirectUri",
        in: .query,
        .string.length(1...2048).examples("https://users.example.com/demo/KEY/users/oauth/google/authorize"),
        "A redirect URI with which the login dialog should open, besides those on the application's host names."
    )
}

extension Schema {
    static let providerCheck = Schema.either([.facebookCheck, .twitterCheck, .openIDCheck]).named("ProviderCheck")

    static let facebookCheck = check(
        "FacebookCheck",
        appID: ("appId", .string.pattern("^[0-9]{1,32}$")),
        adding: ["name": .string, "answeredVersion": .string.described("The Graph version that answered.")]
    )
    static let twitterCheck = check(
        "TwitterCheck",
        appID: ("consumerKey", .string.pattern("^[A-Za-z0-9_-]{1,64}$"))
    )
    static let openIDCheck = check("OpenIDCheck", appID: ("clientId", .string.length(1...255)))

    private static func check(
        _ name: String,
        appID: (name: String, schema: Schema),
        adding more: KeyValuePairs<String, Schema> = [:]
    ) -> Schema {
        .object([
            "apps": .array(
                of: .object(
                    [appID.name: appID.schema, "ok": .boolean],
                    optional: ["problem": .string.described("The problem and what to do."), "reason": .reason]
                ).adding(optional: more)
            ),
            "problems": .strings.described(
                "Mapping entries that read a field which the provider does not have. Every login is refused."
            ),
            "warnings": .strings,
        ]).named(name)
    }
}
