import Federation
import HTTPTypes
import Hummingbird
import Identity

/// `loginWithFacebook` under its own name and the three that client SDKs use (backendless.md §0): one handler.
struct LoginRoutes {
    let federation: Federation

    /// Bytes of the largest body that is read.
    static let bodyLimit = JSONLimits.request.bytes

    func mount(on routes: ApplicationRoutes) {
        routes.on(.post, "users/loginWithFacebook", use: login)
        for path in ["users/social/:provider/sdk/login", "users/social/:provider/login", "users/oauth/:provider/login"]
        {
            routes.on(.post, path) { request, context, application in
                guard context.parameters.get("provider")?.lowercased() == "facebook" else {
                    throw Failure(.notFound, "There is no such login provider. Known is: facebook.")
                }
                return try await login(request, context: context, application: application)
            }
        }
    }

    @Sendable private func login(
        _ request: Request,
        context: APIContext,
        application: LoadedApplication
    ) async throws -> Response {
        let body = try await request.jsonBody(upTo: Self.bodyLimit)
        // A dead token on a login is what SDKs send after a session has ended; it is no reason to refuse (backendless.md §0.5).
        let login = try LoginBody.parse(body, previousToken: request.userToken)
        let result = try await federation.signIn(login, to: application, logger: context.logger)
        var headers: HTTPFields = [.userCreated: result.created ? "true" : "false"]
        if !result.missingPermissions.isEmpty {
            headers[.missingPermissions] = result.missingPermissions.joined(separator: ", ")
        }
        return .json(UserReply.write(result.user, token: result.token), headers: headers)
    }
}
