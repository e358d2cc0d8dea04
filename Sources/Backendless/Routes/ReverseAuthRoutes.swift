import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The route for the first step of Twitter's reverse auth, the request token (docs/protocols/twitter.md §4).
///
/// The step needs the secret of an app at Twitter. Clients do not have this secret, so the service makes the request.
struct ReverseAuthRoutes {
    let reverseAuthorization: ReverseAuthorization

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/oauth/:provider/reverse_auth", .reverseAuth) { request, context, application in
            let body = try await request.jsonBodyIfAny(upTo: Request.bodyLimit)
            let members = try body.map { (body) throws(Failure) in try JSONObject(body: body) } ?? JSONObject()
            let result = try await reverseAuthorization.reverseAuth(
                by: context.provider(of: application),
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
        "The request-token step of Twitter's reverse auth, which needs the app's secret.",
        more: """
            For iOS clients that log in with an account of the system. They send `parameters` of the response to \
            Twitter, and log in with the access token that they get.
            """,
        body: Content(
            .anyObject.adding(optional: [
                "appId": .string.nullable.described(
                    "One of the application's consumer keys. The default is the first one."
                )
            ]),
            examples: ["first": #"{}"#],
            isRequired: false
        ),
        .success(
            "The parameters for Twitter.",
            .object([
                "consumerKey": .string.described("For `x_reverse_auth_target`."),
                "parameters": .string.described("For `x_reverse_auth_parameters`, unchanged."),
            ])
        ),
        or: [.timeout]
    )
}
