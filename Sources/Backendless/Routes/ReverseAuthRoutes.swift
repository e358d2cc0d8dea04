import HTTP
import Hummingbird
import Logins
import Vocabulary

/// The request-token leg of Twitter's reverse auth, for which an app's secret is needed (docs/protocols/twitter.md §4).
struct ReverseAuthRoutes {
    let reverseAuthorization: ReverseAuthorization

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/oauth/:provider/reverse_auth") { request, context, application in
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
