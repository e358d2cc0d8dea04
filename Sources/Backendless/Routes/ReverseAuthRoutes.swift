import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The route of the request-token leg of Twitter's reverse auth, which needs an app's secret
/// (docs/protocols/twitter.md §4).
struct ReverseAuthRoutes {
    let reverseAuthorization: ReverseAuthorization

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/oauth/:provider/reverse_auth", .reverseAuth) { request, context, application in
            let body = try await request.jsonBodyIfAny(upTo: Request.bodyLimit)
            let members = try body.map { (body) throws(Failure) in try JSONObject(body: body) } ?? JSONObject()
            let result = try await reverseAuthorization.reverseAuth(
                by: context.provider(),
                appID: try members.text("appId"),
                of: application
            )
            var writer = JSONWriter(capacity: 512)
            writer.object { writer in
                writer.member("consumerKey", result.consumerKey)
                writer.member("parameters", result.parameters)
            }
            return .json(writer)
        }
    }
}

extension Operation {
    fileprivate static let reverseAuth = Operation(
        "reverseAuth",
        under: "login",
        "The request-token leg of Twitter's reverse auth, for which an app's secret is needed.",
        more: """
            For iOS clients that log in by an account of the system's: they send the answer's `parameters` to Twitter \
            and log in with the access token that they get.
            """,
        body: Content(
            .anyObject.adding(optional: [
                "appId": .string.nullable.described(
                    "Which of the application's consumer keys; the first one without it."
                )
            ]),
            examples: ["first": #"{}"#],
            isRequired: false
        ),
        .success(
            "What the client sends to Twitter.",
            .object([
                "consumerKey": .string.described("For `x_reverse_auth_target`."),
                "parameters": .string.described("For `x_reverse_auth_parameters`, exactly as it is."),
            ])
        ),
        or: [.timeout]
    )
}
