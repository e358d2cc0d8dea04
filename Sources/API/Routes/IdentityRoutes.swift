import Federation
import Hummingbird
import Identity

/// What a client can do with the identity by which its own session was opened.
struct IdentityRoutes {
    let federation: Federation

    func mount(on routes: ApplicationRoutes) {
        routes.on(.get, "users/identities/:provider/token") { request, context, application in
            try context.requireFacebook()
            let given = try await federation.keptToken(ofSession: request.userToken, in: application)
            var writer = JSONWriter(capacity: 512)
            writer.object { writer in
                writer.member("provider", "facebook")
                writer.member("appId", given.appID.text)
                writer.member("token", given.token.text.reveal())
                writer.member("kind", given.token.kind.rawValue)
                let milliseconds = given.token.expiresAt.map { $0.multipliedReportingOverflow(by: 1000).partialValue }
                writer.member("expires", milliseconds.map(JSONValue.integer) ?? .null)
            }
            return .json(writer)
        }
        routes.on(.post, "users/identities/:provider/refresh") { request, context, application in
            try context.requireFacebook()
            let refreshed = try await federation.refreshProfile(ofSession: request.userToken, in: application)
            return .json(UserReply.write(refreshed.user), headers: .missing(refreshed.missingPermissions))
        }
    }
}
